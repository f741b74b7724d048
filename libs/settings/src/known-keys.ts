import { z } from "zod";
import { nearest } from "./nearest.ts";
import { formatPath, type Path } from "./path.ts";

/**
 * Returns every dotted key of a schema, groups included; the keys of list members follow `[]`: `a`, `a.b`, `list`,
 * `list[].c`. `prefix` is put before them, for the recursion.
 */
export function knownKeys(schema: z.ZodType, prefix = ""): readonly string[] {
    const inner = unwrap(schema);
    if (inner instanceof z.ZodArray) return knownKeys(inner.element as z.ZodType, `${prefix}[]`);
    if (!(inner instanceof z.ZodObject)) return [];
    return Object.entries(inner.shape as Record<string, z.ZodType>).flatMap(([name, member]) => {
        const key = prefix === "" ? name : `${prefix}.${name}`;
        return [key, ...knownKeys(member, key)];
    });
}

/** Returns the schema without its wrappers for a default, a prefault and optional values. */
export function unwrap(schema: z.ZodType): z.ZodType {
    if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
        return unwrap(schema.unwrap() as z.ZodType);
    }
    return schema;
}

/**
 * Returns the known key (of `knownKeys`) that was probably meant by an unknown one: a similar key of the same group, or
 * a key of the same name, case ignored, elsewhere; undefined if there is none.
 */
export function suggest(path: Path, keys: readonly string[]): string | undefined {
    const name = String(path.at(-1));
    const parent = formatPath(path.slice(0, -1));
    const level = parent.replace(/\[\d+\]/g, "[]");
    const beside = keys.filter((key) => parentOf(key) === level).map(nameOf);
    const similar = nearest(name, beside);
    if (similar !== undefined) return parent === "" ? similar : `${parent}.${similar}`;
    return keys.find((key) => nameOf(key).toLowerCase() === name.toLowerCase());
}

const nameOf = (key: string): string => key.slice(key.lastIndexOf(".") + 1);
const parentOf = (key: string): string => (key.includes(".") ? key.slice(0, key.lastIndexOf(".")) : "");
