import { type KubeObject } from "@antrea/kube";
import { Refusal } from "./answer.ts";
import { type Kind } from "./kinds.ts";

export type Matches = (object: KubeObject) => boolean;

const all: Matches = () => true;

/** The predicate of a field selector; throws Refusal 400 for a field that is not selectable. */
export function matcher(kind: Kind, selector: string | null): Matches {
    if (selector === null || selector === "") return all;
    const terms = selector.split(",").map((term) => {
        const [, path = "", operator = "", value = ""] = /^([^=!]+)(!=|==?)(.*)$/.exec(term) ?? [];
        if (!["metadata.name", "metadata.namespace", ...kind.fields].includes(path)) {
            throw new Refusal(400, `field label not supported: ${path}`);
        }
        const keys = path.split(".");
        return (object: KubeObject): boolean => (fieldAt(object, keys) === value) === (operator !== "!=");
    });
    return (object) => terms.every((term) => term(object));
}

function fieldAt(object: unknown, keys: readonly string[]): string {
    let at = object;
    for (const key of keys) at = (at as Record<string, unknown> | undefined)?.[key];
    return typeof at === "string" ? at : "";
}
