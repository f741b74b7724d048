import { isNode, LineCounter, parseDocument } from "yaml";
import { documentValue } from "./document-value.ts";
import { SettingsError, type SettingsErrorDetails } from "./errors.ts";
import { type Path } from "./path.ts";

/**
 * About a hundred times the longest file with every key; the parser's time grows with the square of the number of keys.
 */
const maxCharacters = 128 * 1024;

/** A parsed settings file, before its values are validated. */
export interface SettingsText {
    /** The top-level map. A key without a value counts as absent. */
    readonly root: Readonly<Record<string, unknown>>;
    /** Returns the line number of a value, from 1; undefined if the file does not contain it. */
    lineOf(path: Path): number | undefined;
}

/**
 * Parses a YAML 1.2 document that is a map or empty (an empty map); `name` is the file's name for messages. Throws
 * SettingsError `BAD_YAML`, also for a duplicate key and for more than 128 Ki characters.
 */
export function parseYaml(name: string, text: string): SettingsText {
    if (text.length > maxCharacters) {
        throw bad(`${name} is longer than ${maxCharacters} characters`);
    }
    const lines = new LineCounter();
    // settings have no bytes, sets or times, so tags for them are ignored
    const options = { lineCounter: lines, uniqueKeys: true, prettyErrors: false, resolveKnownTags: false };
    const document = parseDocument(text, options);
    const read = documentValue(document);
    if (!read.isUsable) {
        if (read.offset === undefined) throw bad(`${name}: ${read.reason}`);
        const { line, col } = lines.linePos(read.offset);
        throw bad(`${name}: line ${line}, column ${col}: ${read.reason}`, { line });
    }
    const { value } = read;
    if (value !== null && (typeof value !== "object" || Array.isArray(value))) {
        throw bad(`${name}: line 1: must be a map of keys to values`, { line: 1 });
    }
    return {
        root: withoutNulls(value ?? {}) as Record<string, unknown>,
        lineOf: (path) => {
            const node = document.getIn(path, true);
            return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined;
        },
    };
}

function withoutNulls(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(withoutNulls);
    if (typeof value !== "object" || value === null) return value;
    const given = Object.entries(value).filter(([, inner]) => inner !== null);
    return Object.fromEntries(given.map(([key, inner]) => [key, withoutNulls(inner)]));
}

function bad(message: string, details: Readonly<Partial<SettingsErrorDetails>> = {}): SettingsError {
    return new SettingsError("BAD_YAML", "caller", message, { details });
}
