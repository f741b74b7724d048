import { quoted } from "./cel.ts";

// What admission policies compare: the object of an update and the one before it.

/** Returns CEL from CEL of two objects. */
type Comparison = (one: string, other: string) => string;

/**
 * Returns CEL that is true if all entries that one object has in a map, except these keys, are in the other too;
 * compared by key, so that unknown fields count.
 */
export function kept(field: string, but: readonly string[]): Comparison {
    return (one, other) => {
        const [ours, theirs] = [one, other].map((object) => `dyn(${object}).?${field}.orValue({})`);
        return `${ours}.all(key, key in [${but.map(quoted).join(", ")}] || (key in ${theirs} && ${ours}[key] == ${theirs}[key]))`;
    };
}

/** Returns both directions of a comparison of object and oldObject, as CEL. */
export function bothWays(rule: Comparison): readonly string[] {
    return [rule("object", "oldObject"), rule("oldObject", "object")];
}

/** Returns CEL that is true if object and oldObject have equal values of this field. */
export function same(field: string): string {
    return `object.${field} == oldObject.${field}`;
}
