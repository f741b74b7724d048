import { OvsdbError } from "./error.ts";

/** A JSON object as parsed; its members are unchecked. Read them with `member`. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Returns, without throwing it, the error `BAD_MESSAGE` of a part of a message; `path` names it
 * (`result[2].rows[0].name`), `rule` is the rule that it breaks, `value` is shown in the message (`show`) unless
 * undefined.
 */
export function badMessage(path: string, rule: string, value?: unknown): OvsdbError {
    return new OvsdbError(
        "BAD_MESSAGE",
        "remote",
        `${path} ${rule}${value === undefined ? "" : `, not ${show(value)}`}`,
        {
            details: { path },
        },
    );
}

/**
 * The JSON text of a value, at most 80 characters, or `missing` for undefined: it may be large, and it comes from
 * outside.
 */
export function show(value: unknown): string {
    const text = value === undefined ? "missing" : JSON.stringify(value);
    return text.length <= 80 ? text : `${text.slice(0, 77)}...`;
}

/** The value if it is an object, not an array or null. @throws OvsdbError `BAD_MESSAGE` with `path` */
export function readObject(value: unknown, path: string): JsonObject {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
        throw badMessage(path, "must be an object", value ?? null);
    }
    return value as JsonObject;
}

/** The value if it is an array. @throws OvsdbError `BAD_MESSAGE` with `path` */
export function readArray(value: unknown, path: string): readonly unknown[] {
    if (!Array.isArray(value)) throw badMessage(path, "must be an array", value ?? null);
    return value;
}

/** The value if it is a string. @throws OvsdbError `BAD_MESSAGE` with `path` */
export function readString(value: unknown, path: string): string {
    if (typeof value !== "string") throw badMessage(path, "must be a string", value ?? null);
    return value;
}

/** The value if it is a boolean. @throws OvsdbError `BAD_MESSAGE` with `path` */
export function readBoolean(value: unknown, path: string): boolean {
    if (typeof value !== "boolean") throw badMessage(path, "must be true or false", value ?? null);
    return value;
}

/** The value if it is an integer from 0 to 2^53 - 1. @throws OvsdbError `BAD_MESSAGE` with `path` */
export function readCount(value: unknown, path: string): number {
    if (!Number.isSafeInteger(value) || (value as number) < 0) {
        throw badMessage(path, "must be a whole number from 0", value ?? null);
    }
    return value as number;
}

/** The object's own member of this name, never one of its prototype; undefined if there is none. */
export function member(object: JsonObject, name: string): unknown {
    return Object.hasOwn(object, name) ? object[name] : undefined;
}
