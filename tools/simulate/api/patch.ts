type Json = Readonly<Record<string, unknown>>;

/**
 * Applies a JSON merge patch (RFC 7386), or a strategic merge patch, which merges lists of conditions by their types and
 * deletes those with `$patch: delete`; other lists are not patched here in this way.
 */
export function merged(target: unknown, patch: unknown, isStrategic = false): unknown {
    if (!isObject(patch)) return patch;
    const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
        if (value === null) delete result[key];
        else if (isStrategic && key === "conditions") result[key] = conditionsOf(result[key], value);
        else result[key] = merged(result[key], value, isStrategic);
    }
    return result;
}

function conditionsOf(target: unknown, patch: unknown): readonly unknown[] {
    const [present, changes] = [target, patch].map((list) => (Array.isArray(list) ? list.filter(isObject) : []));
    const result = new Map((present ?? []).map((one) => [one["type"], one]));
    for (const change of changes ?? []) {
        if (change["$patch"] === "delete") result.delete(change["type"]);
        else result.set(change["type"], { ...result.get(change["type"]), ...change });
    }
    return [...result.values()];
}

function isObject(value: unknown): value is Json {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
