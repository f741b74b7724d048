import { agentSchema } from "../agent/schema.ts";
import { controllerSchema } from "../controller/schema.ts";
import { type Component } from "../features/specs.ts";
import { agentUnserved, controllerUnserved, leafKeys, whyUnserved } from "../unserved.ts";

/**
 * Returns every leaf key of a settings file, in the order of its schema, with the reason why nothing reads it;
 * undefined for a key in use.
 */
export function settingsKeys(component: Component): readonly (readonly [key: string, unserved: string | undefined])[] {
    const [schema, unserved] =
        component === "agent" ? [agentSchema, agentUnserved] : [controllerSchema, controllerUnserved];
    return leafKeys(schema).map((key) => [key, whyUnserved(unserved, key)]);
}
