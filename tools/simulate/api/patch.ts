type Json = Readonly<Record<string, unknown>>;

/** Applies a JSON merge patch (RFC 7386). */
export function merged(target: unknown, patch: unknown): unknown {
    if (!isObject(patch)) return patch;
    const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
    for (const [key, value] of Object.entries(patch)) {
        if (value === null) delete result[key];
        else result[key] = merged(result[key], value);
    }
    return result;
}

function isObject(value: unknown): value is Json {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
