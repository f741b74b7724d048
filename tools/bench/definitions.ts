import { type KubeObject } from "@antrea/kube";

/** CustomResourceDefinitions without validation rules: their objects are stored faster. */
export function withoutRules(definitions: readonly KubeObject[]): readonly KubeObject[] {
    return definitions.map((definition) => stripped(definition) as KubeObject); // everything but the rules
}

function stripped(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(stripped);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).filter(([key]) => key !== "x-kubernetes-validations");
    return Object.fromEntries(entries.map(([key, inner]) => [key, stripped(inner)]));
}
