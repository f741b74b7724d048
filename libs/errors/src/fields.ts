/** The fields that have a value, as a new object. */
export function present<T extends object>(fields: { readonly [Key in keyof T]: T[Key] | undefined }): T {
    return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as T;
}

/** The values of these keys, as a new object; undefined if there are none. */
export function onlyKeys(
    values: Readonly<Record<string, string>> = {},
    keys: readonly string[],
): Readonly<Record<string, string>> | undefined {
    const kept = Object.entries(values).filter(([key]) => keys.includes(key));
    return kept.length === 0 ? undefined : Object.fromEntries(kept);
}
