import { type Loaded, loadFile } from "../load.ts";
import { controllerNotices, controllerRules } from "./rules.ts";
import { type ControllerConfig, controllerSchema } from "./schema.ts";

/**
 * Parses and validates the text of antrea-controller.conf; an empty one gives the defaults, unknown keys give warnings.
 * Throws SettingsError: `BAD_YAML`, or `WRONG_VALUES` with every invalid key, its value and its rule (without the list
 * if more than 200 keys are unknown or wrong).
 */
export function loadControllerConfig(text: string): Loaded<ControllerConfig> {
    return loadFile<ControllerConfig>(
        {
            name: "antrea-controller.conf",
            component: "controller",
            schema: controllerSchema,
            rules: controllerRules,
            notices: controllerNotices,
        },
        text,
    );
}
