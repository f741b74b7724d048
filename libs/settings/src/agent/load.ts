import { loadFile, type Loaded } from "../load.ts";
import { agentNotices } from "./notices.ts";
import { agentRules } from "./rules.ts";
import { agentSchema, type AgentConfig } from "./schema.ts";

/**
 * Parses and validates the text of antrea-agent.conf; an empty one gives the defaults, unknown keys give warnings.
 * Throws SettingsError: `BAD_YAML`, or `WRONG_VALUES` with every invalid key, its value and its rule, including values
 * that this version does not support (without the list if more than 200 keys are unknown or wrong).
 */
export function loadAgentConfig(text: string): Loaded<AgentConfig> {
    return loadFile<AgentConfig>(
        {
            name: "antrea-agent.conf",
            component: "agent",
            schema: agentSchema,
            rules: agentRules,
            notices: agentNotices,
        },
        text,
    );
}
