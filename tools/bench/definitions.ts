import { type KubeObject } from "@antrea/kube";

/**
 * Definitions of resources without the rules that the API server judges each write by: for objects that are only to be
 * there, which are stored sooner then.
 */
export function withoutRules(definitions: readonly KubeObject[]): readonly KubeObject[] {
    return definitions.map((definition) => stripped(definition) as KubeObject); // the same but for the rules
}

function stripped(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(stripped);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => key !== "x-kubernetes-validations");
    return Object.fromEntries(entries.map(([key, inner]) => [key, stripped(inner)]));
}
