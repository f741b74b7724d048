import { OvsdbError } from "./error.ts";
import { show } from "./reader.ts";
import { isUuidText } from "./uuid-text.ts";
import { isMap, isNamedUuid, isUuid, type InputAtom, type InputRow, type InputValue } from "./value.ts";

/**
 * Encodes a value (RFC 7047 section 5.1, <value>); the result is for `JSON.stringify`. Whether it fits the column is
 * not checked.
 *
 * @param path names the value in errors
 * @throws OvsdbError `BAD_ARGUMENT` with `details.path`: a number that is not finite, an integer beyond 2^53 - 1, text
 *   that `checkText` rejects, a malformed UUID or name
 */
export function encodeValue(value: InputValue, path: string): unknown {
    if (Array.isArray(value)) {
        return ["set", value.map((atom: InputAtom, index) => encodeAtom(atom, `${path}[${index}]`))];
    }
    if (isMap<InputAtom, InputAtom>(value)) {
        const pairs = Array.from(value, ([key, entry]) => {
            const entryPath = `${path}[${show(key)}]`;
            return [encodeAtom(key, `${entryPath} key`), encodeAtom(entry, entryPath)];
        });
        return ["map", pairs];
    }
    return encodeAtom(value as InputAtom, path);
}

/**
 * Encodes the columns of a row, for `JSON.stringify`; `path` names the row in errors.
 *
 * @throws OvsdbError `BAD_ARGUMENT` with `details.path`, as `encodeValue`
 */
export function encodeRow(row: InputRow, path: string): Record<string, unknown> {
    return Object.fromEntries(
        Object.entries(row).map(([column, value]) => [column, encodeValue(value, `${path} column ${column}`)]),
    );
}

function encodeAtom(atom: InputAtom, path: string): unknown {
    switch (typeof atom) {
        case "string":
            checkText(atom, path);
            return atom;
        case "number":
            // OVSDB integers have 64 bits; a number beyond 2^53 - 1 may have been rounded before.
            if (!Number.isFinite(atom)) throw badArgument(path, "must be a finite number", String(atom));
            if (Number.isInteger(atom) && !Number.isSafeInteger(atom)) {
                throw badArgument(path, "must be within ±(2^53 - 1)", atom);
            }
            return atom;
        case "boolean":
            return atom;
        default:
            return encodeReference(atom, path);
    }
}

function encodeReference(atom: unknown, path: string): unknown {
    if (isUuid(atom)) {
        if (!isUuidText(atom.uuid)) throw badArgument(path, "must be a UUID", atom.uuid);
        return ["uuid", atom.uuid];
    }
    if (isNamedUuid(atom)) return ["named-uuid", checkId(atom.named, path)];
    throw badArgument(path, "must be a string, number, boolean, UUID, set or map", atom);
}

/**
 * Returns the name if it is an <id> of RFC 7047 section 3.1: letters, digits and `_`, no digit first. `path` names it
 * in errors.
 *
 * @throws OvsdbError `BAD_ARGUMENT`
 */
export function checkId(name: string, path: string): string {
    if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
    throw badArgument(path, "must be a name of letters, digits and _ that does not begin with a digit", name);
}

/**
 * Returns the text if OVSDB can store it: well-formed Unicode without NUL. `path` names it in errors.
 *
 * @throws OvsdbError `BAD_ARGUMENT`
 */
export function checkText(text: string, path: string): string {
    if (!text.isWellFormed())
        throw badArgument(path, "must be well-formed Unicode (it has half a surrogate pair)", text);
    if (text.includes("\0")) throw badArgument(path, "must not have a NUL character", text);
    return text;
}

/**
 * Returns, without throwing it, the error `BAD_ARGUMENT` of an argument that has no form in OVSDB; `path` names it,
 * `rule` is the rule that it breaks, `value` is shown in the message (`show`).
 */
export function badArgument(path: string, rule: string, value: unknown): OvsdbError {
    return new OvsdbError("BAD_ARGUMENT", "caller", `${path} ${rule}, not ${show(value)}`, { details: { path } });
}
