import { type FeatureGateName } from "./features/specs.ts";
import { type FeatureGates } from "./features/gates.ts";
import { type Rule } from "./load.ts";
import { valueAt } from "./path.ts";

/**
 * A condition on a settings file, as data; keys are dotted. `is`: the key has this value; `same`: both keys have equal
 * values; `gate`: the feature gate is enabled. `declared` compares values after parsing (`===`), the chart those of its
 * values file.
 */
export type Condition =
    | { readonly is: readonly [key: string, value: string | number | boolean] }
    | { readonly same: readonly [key: string, key: string] }
    /** The list has no members. */
    | { readonly empty: string }
    | { readonly gate: FeatureGateName }
    | { readonly not: Condition }
    | { readonly all: readonly Condition[] };

/** A rule over several values: its text, and the condition under which it is violated. */
export interface RuleText {
    /** Key whose value the message asks to change. */
    readonly key: string;
    /** The requirement, for the message. */
    readonly rule: string;
    /** The rule is violated if this holds. */
    readonly wrongWhen: Condition;
}

/** A rule over several values whose condition is available as data (`wrongWhen`) for the chart, made by `declared`. */
export interface DeclaredRule<Config = never> extends Rule<Config>, RuleText {}

/** Returns the rule with a `check` that evaluates its condition, and with the `keys` that the condition names. */
export function declared<Config>({ key, rule, wrongWhen }: RuleText): DeclaredRule<Config> {
    return {
        key,
        rule,
        wrongWhen,
        keys: keysOf(wrongWhen),
        check: (config, gates) => (holds(wrongWhen, config, gates) ? { key, rule } : undefined),
    };
}

function keysOf(condition: Condition): readonly string[] {
    if ("is" in condition) return [condition.is[0]];
    if ("same" in condition) return condition.same;
    if ("empty" in condition) return [condition.empty];
    if ("gate" in condition) return ["featureGates"];
    if ("not" in condition) return keysOf(condition.not);
    return condition.all.flatMap(keysOf);
}

function holds(condition: Condition, config: unknown, gates: FeatureGates): boolean {
    const at = (key: string): unknown => valueAt(config, key.split("."));
    if ("is" in condition) return at(condition.is[0]) === condition.is[1];
    if ("same" in condition) return at(condition.same[0]) === at(condition.same[1]);
    if ("empty" in condition) return (at(condition.empty) as readonly unknown[]).length === 0;
    if ("gate" in condition) return gates.enabled(condition.gate);
    if ("not" in condition) return !holds(condition.not, config, gates);
    return condition.all.every((one) => holds(one, config, gates));
}
