// The rules of the settings as data, for the chart: it refuses what agent or controller would refuse at their start.
import { agentRules } from "./agent/rules.ts";
import { type DeclaredRule } from "./condition.ts";
import { controllerRules } from "./controller/rules.ts";
import { agentSchema } from "./agent/schema.ts";
import { controllerSchema } from "./controller/schema.ts";
import { type Component } from "./features/specs.ts";
import { agentUnserved, controllerUnserved, leafKeys, whyUnserved } from "./unserved.ts";

export { type Condition, type DeclaredRule } from "./condition.ts";
export { maxIndexBits, noPodCidr } from "./controller/rules.ts";
export { testOf, type KeyTest } from "./known-tests.ts";
export { type DescribedTest, type ValueTest } from "./value-tests.ts";

/** Returns every leaf key of a settings file, with the reason why nothing reads it; undefined for a key in use. */
export function settingsKeys(component: Component): readonly (readonly [key: string, unserved: string | undefined])[] {
    const [schema, unserved] =
        component === "agent" ? [agentSchema, agentUnserved] : [controllerSchema, controllerUnserved];
    return leafKeys(schema).map((key) => [key, whyUnserved(unserved, key)]);
}

/** Returns the rules over several values that are available as data. */
export function declaredRules(component: Component): readonly DeclaredRule[] {
    const rules: readonly Partial<DeclaredRule>[] = component === "agent" ? agentRules : controllerRules;
    return rules.filter((rule): rule is DeclaredRule => rule.wrongWhen !== undefined);
}
