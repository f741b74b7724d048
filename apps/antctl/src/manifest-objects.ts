import { type Refusal } from "@antrea/ipam";
import { documentValue } from "@antrea/settings";
import { parseAllDocuments } from "yaml";
import { CliError } from "./errors.ts";
import { type Source } from "./input-files.ts";
import { oneLine } from "./output/index.ts";

/** A JSON or YAML object that is not validated yet: any field may be absent or have any type. */
export type Fields = Readonly<Record<string, unknown>>;

/**
 * The objects in a YAML or JSON file of one or several documents; a `kind: List` is replaced by its items, an empty
 * document is left out, and one that is no object has no fields. Throws CliError `BAD_INPUT` if the text is no YAML.
 */
export function objectsOf({ name, text }: Source): readonly Fields[] {
    return parseAllDocuments(text, { prettyErrors: true }).flatMap((document) => {
        const read = documentValue(document);
        if (!read.isUsable) {
            throw new CliError("BAD_INPUT", "caller", `${name} is no YAML: ${oneLine(read.reason)}`, "correct it");
        }
        return itemsOf(read.value);
    });
}

function itemsOf(document: unknown): readonly Fields[] {
    if (document === null || document === undefined) return [];
    const object = fieldsOf(document);
    if (object.kind === "List" && Array.isArray(object.items)) return object.items.flatMap(itemsOf);
    return [object];
}

/**
 * A Refusal for each key of `object` that `known` lacks, with a similar known key if there is one. Its path is
 * `prefix`, such as `spec.`, and the key.
 */
export function unknownKeys(prefix: string, object: Fields, known: readonly string[]): readonly Refusal[] {
    return Object.keys(object)
        .filter((key) => !known.includes(key))
        .map((key) => {
            const nearest = known.find((one) => isNear(one.toLowerCase(), key.toLowerCase()));
            const hint = nearest === undefined ? `known are ${known.join(", ")}` : `did you mean ${nearest}?`;
            return { path: `${prefix}${key}`, value: "", rule: `is no field of an IPPool; ${hint}` };
        });
}

/** Whether the texts differ by one letter inserted, removed or replaced. */
function isNear(a: string, b: string): boolean {
    const [long, short] = a.length >= b.length ? [a, b] : [b, a];
    let at = 0;
    while (at < short.length && long[at] === short[at]) at += 1;
    const [rest, other] = [long.slice(at + 1), short.slice(long.length === short.length ? at + 1 : at)];
    return rest === other;
}

/** The value itself if it is an object or array, else an object without fields. */
export function fieldsOf(value: unknown): Fields {
    return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** A value as text for messages: a string as it is, `(none)` for undefined, else JSON. */
export function textOf(value: unknown): string {
    if (typeof value === "string") return value;
    return value === undefined ? "(none)" : JSON.stringify(value);
}
