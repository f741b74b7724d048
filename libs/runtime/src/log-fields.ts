import { AntreaError } from "@antrea/errors";
import { hidden, hideSecrets, isSecretName } from "./log-secrets.ts";

const maxDepth = 6;
const maxText = 4096;
/** Limit of members of one list or map. */
const maxItems = 100;
/** Limit of values in one field, over all depths. */
const maxValues = 1000;

/** An error in a log line: the properties that handlers use, and its causes, outermost first. */
interface LoggedError {
    readonly type: string;
    readonly message: string;
    readonly code?: string;
    readonly fault?: string;
    readonly details?: unknown;
    readonly stack?: string;
    readonly causes?: readonly LoggedError[];
}

/**
 * Converts a value for a log line: to JSON of bounded size (6 levels, 100 members of each, 1000 values, texts of 4096
 * characters; the rest is cut and marked) without anything that resembles a secret (`hideSecrets`, `isSecretName`).
 * Errors become `{ type, message, code, fault, details, stack, causes }` (`stack` only of foreign and internal ones),
 * bytes hexadecimal text, bigints text, maps objects, sets arrays.
 */
export function toLogValue(value: unknown): unknown {
    return new Converter().convert(value, 0);
}

class Converter {
    #left = maxValues;

    convert(value: unknown, depth: number): unknown {
        this.#left -= 1;
        switch (typeof value) {
            case "string":
                return cut(value);
            case "bigint":
                return value.toString();
            case "function":
            case "symbol":
                return `(${typeof value})`;
            case "number":
                return Number.isFinite(value) ? value : String(value);
            case "object":
                return value === null ? null : this.#object(value, depth);
            default:
                return value;
        }
    }

    error(error: unknown, depth: number): LoggedError {
        const causes: LoggedError[] = [];
        let cause = isErrorLike(error) ? error.cause : undefined;
        while (cause !== undefined && causes.length < maxDepth) {
            causes.push(this.#describe(cause, depth));
            cause = isErrorLike(cause) ? cause.cause : undefined;
        }
        return { ...this.#describe(error, depth), ...(causes.length > 0 && { causes }) };
    }

    #describe(error: unknown, depth: number): LoggedError {
        if (!isErrorLike(error)) return { type: typeof error, message: cut(String(error)) };
        const ours = error instanceof AntreaError;
        const code: unknown = (error as { code?: unknown }).code;
        const inner: unknown = error instanceof AggregateError ? { errors: error.errors as unknown } : undefined;
        const details = ours && Object.keys(error.details).length > 0 ? error.details : inner;
        return {
            type: error.name,
            message: cut(error.message),
            ...(typeof code === "string" && { code: cut(code) }),
            ...(ours && { fault: error.fault }),
            ...(details !== undefined && { details: this.convert(details, depth + 1) }),
            ...((!ours || error.fault === "internal") && error.stack !== undefined && { stack: cut(error.stack) }),
        };
    }

    #object(value: object, depth: number): unknown {
        if (depth >= maxDepth) return "(too deep)";
        if (isErrorLike(value)) return this.error(value, depth);
        if (value instanceof Date) return Number.isNaN(value.getTime()) ? "(no date)" : value.toISOString();
        if (value instanceof Uint8Array) return bytes(value);
        if (Array.isArray(value) || value instanceof Set) return this.#list([...(value as Iterable<unknown>)], depth);
        return this.#map(value instanceof Map ? [...(value as Map<unknown, unknown>)] : Object.entries(value), depth);
    }

    #list(items: readonly unknown[], depth: number): unknown[] {
        const kept: unknown[] = [];
        for (const item of items) {
            if (kept.length >= maxItems || this.#left <= 0) return [...kept, `(${items.length - kept.length} more)`];
            kept.push(this.convert(item, depth + 1));
        }
        return kept;
    }

    #map(entries: readonly (readonly [unknown, unknown])[], depth: number): Record<string, unknown> {
        const kept: [string, unknown][] = [];
        for (const [key, item] of entries) {
            if (kept.length >= maxItems || this.#left <= 0) {
                kept.push(["(more)", entries.length - kept.length]);
                break;
            }
            const name = cut(String(key));
            kept.push([name, isSecretName(name) && item !== undefined ? hidden : this.convert(item, depth + 1)]);
        }
        return Object.fromEntries(kept);
    }
}

function cut(whole: string): string {
    const text = hideSecrets(whole);
    return text.length <= maxText ? text : `${text.slice(0, maxText)}(cut from ${text.length} characters)`;
}

function bytes(value: Uint8Array): string {
    const start = Buffer.from(value.subarray(0, maxText));
    const text = start.toString("latin1");
    return hideSecrets(text) === text ? cut(start.toString("hex")) : hidden;
}

// By shape, not by class: an error may come from another realm.
function isErrorLike(value: unknown): value is Error {
    return (
        value instanceof Error ||
        (typeof value === "object" && value !== null && "name" in value && "message" in value && "stack" in value)
    );
}
