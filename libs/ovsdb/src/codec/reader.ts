import { OvsdbError } from "./error.ts";

/** A JSON object as it came. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** An error about a part of a message; `path` says which: `result[2].rows[0].name`. */
export function badMessage(path: string, rule: string, value?: unknown): OvsdbError {
    return new OvsdbError(
        "BAD_MESSAGE",
        "peer",
        `${path} ${rule}${value === undefined ? "" : `, not ${show(value)}`}`,
        {
            details: { path },
        },
    );
}

/** The JSON text of a value, shortened: it may be large, and it comes from outside. */
export function show(value: unknown): string {
    const text = value === undefined ? "missing" : JSON.stringify(value);
    return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

export function readObject(value: unknown, path: string): JsonObject {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw badMessage(path, "must be an object", value ?? null);
    }
    return value as JsonObject;
}

export function readArray(value: unknown, path: string): readonly unknown[] {
    if (!Array.isArray(value)) throw badMessage(path, "must be an array", value ?? null);
    return value;
}

export function readString(value: unknown, path: string): string {
    if (typeof value !== "string") throw badMessage(path, "must be a string", value ?? null);
    return value;
}

export function readBoolean(value: unknown, path: string): boolean {
    if (typeof value !== "boolean") throw badMessage(path, "must be true or false", value ?? null);
    return value;
}

export function readCount(value: unknown, path: string): number {
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
        throw badMessage(path, "must be a whole number from 0", value ?? null);
    }
    return value as number;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuidText(text: string): boolean {
    return uuidPattern.test(text);
}

/** A UUID's text, in lower case. */
export function readUuidText(value: unknown, path: string): string {
    const text = readString(value, path);
    if (!isUuidText(text)) throw badMessage(path, "must be a UUID", text);
    return text.toLowerCase();
}

/** The own member of this name; never one of the prototype's. */
export function member(object: JsonObject, name: string): unknown {
    return Object.hasOwn(object, name) ? object[name] : undefined;
}
