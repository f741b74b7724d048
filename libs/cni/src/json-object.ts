import { CniCallError } from "./errors.ts";
import { shown } from "./shown.ts";

/** A JSON object after `JSON.parse`. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Reads the keys of one JSON object of a CNI document. Every method throws `CniCallError` INVALID_NETWORK_CONFIG whose
 * message holds the path of the key, the value and the rule. Absent and null are the same: encoders in the field write
 * either for "not set".
 */
export class JsonReader {
    readonly path: string;
    readonly #object: JsonObject;

    constructor(value: unknown, path: string) {
        this.path = path;
        if (!isJsonObject(value)) throw invalid(path, value, "must be a JSON object");
        this.#object = value;
    }

    get(key: string): unknown {
        return Object.hasOwn(this.#object, key) ? (this.#object[key] ?? undefined) : undefined;
    }

    invalid(key: string, rule: string): CniCallError {
        return invalid(this.key(key), this.get(key), rule);
    }

    /** The full path of a key, for messages. */
    key(key: string): string {
        return this.path === "" ? key : `${this.path}.${key}`;
    }

    text(key: string): string {
        const value = this.optionalText(key);
        if (value === undefined || value === "") throw this.invalid(key, "must be a non-empty string");
        return value;
    }

    optionalText(key: string): string | undefined {
        const value = this.get(key);
        if (value !== undefined && typeof value !== "string") throw this.invalid(key, "must be a string");
        return value;
    }

    optionalInteger(key: string, min: number, max: number): number | undefined {
        const value = this.get(key);
        if (value === undefined) return undefined;
        if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
        throw this.invalid(key, `must be an integer from ${min} to ${max}`);
    }

    /** The elements of a list, each as the reader of an object; an absent list is empty. */
    objects(key: string): readonly JsonReader[] {
        return this.#list(key).map((element, index) => new JsonReader(element, `${this.key(key)}[${index}]`));
    }

    texts(key: string): readonly string[] | undefined {
        if (this.get(key) === undefined) return undefined;
        return this.#list(key).map((element, index) => {
            if (typeof element === "string") return element;
            throw invalid(`${this.key(key)}[${index}]`, element, "must be a string");
        });
    }

    optionalObject(key: string): JsonReader | undefined {
        const value = this.get(key);
        return value === undefined ? undefined : new JsonReader(value, this.key(key));
    }

    get raw(): JsonObject {
        return this.#object;
    }

    #list(key: string): readonly unknown[] {
        const value: unknown = this.get(key) ?? [];
        if (!Array.isArray(value)) throw this.invalid(key, "must be a list");
        return value as readonly unknown[];
    }
}

export function isJsonObject(value: unknown): value is JsonObject {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An error about one value of a document. */
export function invalid(path: string, value: unknown, rule: string): CniCallError {
    return new CniCallError("INVALID_NETWORK_CONFIG", "caller", `${path}: ${shown(value)} ${rule}`);
}
