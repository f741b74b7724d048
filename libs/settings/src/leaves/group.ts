import { z } from "zod";

/** Schema of a group of keys that may be absent, as `group` makes it. */
export type Group<T extends z.ZodRawShape> = z.ZodPrefault<z.ZodObject<T, z.core.$strict>>;

/**
 * Schema of a group of keys, all with defaults or optional, so that the group may be absent; a required key would make
 * every file without it invalid. Unknown keys are reported separately from invalid values.
 */
export function group<T extends z.ZodRawShape>(shape: T): Group<T> {
    // The type cannot express that no key of the shape is required; the tests of the defaults verify it.
    return member(shape).prefault({} as never);
}

/** Schema of a map of keys, such as a member of a list; unknown keys are issues of their own. */
export function member<T extends z.ZodRawShape>(shape: T): z.ZodObject<T, z.core.$strict> {
    return z.strictObject(shape, {
        error: (issue) => (issue.code === "invalid_type" ? "must be a map of keys" : undefined),
    });
}

/** A type that is read-only at all depths. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T;
