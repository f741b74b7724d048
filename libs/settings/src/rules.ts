// The rules of the settings as data, for the chart: it refuses what agent or controller would refuse at their start.
import { agentRules } from "./agent/rules.ts";
import { type DeclaredRule } from "./condition.ts";
import { controllerRules } from "./controller/rules.ts";
import { type Component } from "./features/specs.ts";

export { type Condition, type DeclaredRule } from "./condition.ts";
export { maxIndexBits, noPodCidr } from "./controller/rules.ts";
export { testOf, type KeyTest } from "./known-tests.ts";
export { type DescribedTest, type ValueTest } from "./value-tests.ts";

/**
 * Returns the rules over several values of antrea-agent.conf or antrea-controller.conf that are available as data
 * (`wrongWhen`), without those that are code only.
 */
export function declaredRules(component: Component): readonly DeclaredRule[] {
    const rules: readonly Partial<DeclaredRule>[] = component === "agent" ? agentRules : controllerRules;
    return rules.filter((rule): rule is DeclaredRule => rule.wrongWhen !== undefined);
}
