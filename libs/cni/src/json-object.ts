import { CniCallError } from "./errors.ts";
import { shown } from "./shown.ts";

/** A JSON object after `JSON.parse`; its values are unchecked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads the members of one JSON object of a CNI document. The constructor and each method that requires a type throw
 * `CniCallError` INVALID_NETWORK_CONFIG with the path of the key, the value and the rule in its message. An absent key
 * and null are the same, since encoders in use write either for "not set".
 */
export class JsonReader {
    readonly path: string;
    readonly #object: JsonObject;

    /** `path` is that of the object in the document, "" for the document itself. */
    constructor(value: unknown, path: string) {
        this.path = path;
        if (!isJsonObject(value)) throw invalid(path, value, "must be a JSON object");
        this.#object = value;
    }

    /** The value of a key; undefined for an absent key or null. */
    get(key: string): unknown {
        return Object.hasOwn(this.#object, key) ? (this.#object[key] ?? undefined) : undefined;
    }

    /** Returns, without throwing it, the error of a key whose value breaks `rule`, such as `must be a string`. */
    invalid(key: string, rule: string): CniCallError {
        return invalid(this.key(key), this.get(key), rule);
    }

    /** The path of a key in the document, for messages. */
    key(key: string): string {
        return this.path === "" ? key : `${this.path}.${key}`;
    }

    /** A text that must be present and not empty. */
    text(key: string): string {
        const value = this.optionalText(key);
        if (value === undefined || value === "") throw this.invalid(key, "must be a non-empty string");
        return value;
    }

    /** A text, which may be empty; undefined if absent. */
    optionalText(key: string): string | undefined {
        const value = this.get(key);
        if (value !== undefined && typeof value !== "string") throw this.invalid(key, "must be a string");
        return value;
    }

    /** An integer from `min` to `max`, both inclusive; undefined if absent. */
    optionalInteger(key: string, min: number, max: number): number | undefined {
        const value = this.get(key);
        if (value === undefined) return undefined;
        if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
        throw this.invalid(key, `must be an integer from ${min} to ${max}`);
    }

    /** The objects of a list, each with a reader; an absent list is empty. */
    objects(key: string): readonly JsonReader[] {
        return this.#list(key).map((element, index) => new JsonReader(element, `${this.key(key)}[${index}]`));
    }

    /** The texts of a list; undefined if the list is absent. */
    texts(key: string): readonly string[] | undefined {
        if (this.get(key) === undefined) return undefined;
        return this.#list(key).map((element, index) => {
            if (typeof element === "string") return element;
            throw invalid(`${this.key(key)}[${index}]`, element, "must be a string");
        });
    }

    /** A reader of an object; undefined if absent. */
    optionalObject(key: string): JsonReader | undefined {
        const value = this.get(key);
        return value === undefined ? undefined : new JsonReader(value, this.key(key));
    }

    /** The object itself. */
    get raw(): JsonObject {
        return this.#object;
    }

    #list(key: string): readonly unknown[] {
        const value: unknown = this.get(key) ?? [];
        if (!Array.isArray(value)) throw this.invalid(key, "must be a list");
        return value as readonly unknown[];
    }
}

/** True for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns, without throwing it, the error of a value of a document: `CniCallError` INVALID_NETWORK_CONFIG with path,
 * value and rule in its message.
 */
export function invalid(path: string, value: unknown, rule: string): CniCallError {
    return new CniCallError("INVALID_NETWORK_CONFIG", "caller", `${path}: ${shown(value)} ${rule}`);
}
