import { OvsdbError } from "./error.ts";
import { show } from "./reader.ts";
import { isUuidText } from "./uuid-text.ts";
import { isScalar, type AtomType, type ColumnType } from "./schema.ts";
import { type Atom, type Value } from "./value.ts";
import { compareAtoms, sameAtom } from "./value-order.ts";

/**
 * Decodes the value of a column (RFC 7047 section 5.1, <value>) into canonical order; arrays are frozen.
 *
 * @param path names the value in errors: `result[0].rows[1].name`
 * @param diff the value is a difference between two values (update2): the limits of the column's element count do not
 *   apply. Default false.
 * @throws OvsdbError `BAD_VALUE` with `details.path`
 */
export function decodeValue(raw: unknown, type: ColumnType, path: string, diff = false): Value {
    if (type.value !== undefined) return decodeMap(raw, { ...type, value: type.value }, path, diff);
    if (isScalar(type)) return decodeAtom(isPair(raw, "set") ? onlyOne(raw[1], path) : raw, type.key, path);
    const elements = isPair(raw, "set") ? list(raw[1], path) : [raw];
    if (!diff) checkCount(elements.length, type, path);
    const atoms = elements.map((element, index) => decodeAtom(element, type.key, `${path}[${index}]`));
    atoms.sort(compareAtoms);
    refuseRepeated(atoms, path);
    return Object.freeze(atoms);
}

/**
 * The value of a column that an insert does not name (RFC 7047 section 5.2.1): 0, false, "", the zero UUID, an empty
 * set or map; a set or map that must have an element has one of the defaults of its types. Arrays are frozen.
 */
export function defaultValue(type: ColumnType): Value {
    const atom = defaultAtoms[type.key];
    if (isScalar(type)) return atom;
    if (type.value !== undefined) return new Map(type.min === 0 ? [] : [[atom, defaultAtoms[type.value]]]);
    return Object.freeze(type.min === 0 ? [] : [atom]);
}

const defaultAtoms: Readonly<Record<AtomType, Atom>> = {
    integer: 0,
    real: 0,
    boolean: false,
    string: "",
    uuid: Object.freeze({ uuid: "00000000-0000-0000-0000-000000000000" }),
};

type MapType = ColumnType & { readonly value: AtomType };

function decodeMap(raw: unknown, type: MapType, path: string, diff: boolean): Value {
    if (!isPair(raw, "map")) throw badValue(path, 'must be ["map", [...]]', raw);
    const pairs = list(raw[1], path).map((pair, index): readonly [Atom, Atom] => {
        if (!Array.isArray(pair) || pair.length !== 2)
            throw badValue(`${path}[${index}]`, "must be [key, value]", pair);
        const key = decodeAtom(pair[0], type.key, `${path}[${index}] key`);
        return [key, decodeAtom(pair[1], type.value, `${path}[${show(pair[0])}]`)];
    });
    if (!diff) checkCount(pairs.length, type, path);
    pairs.sort(([a], [b]) => compareAtoms(a, b));
    refuseRepeated(
        pairs.map(([key]) => key),
        path,
    );
    return new Map(pairs);
}

/** RFC 7047 section 5.1, <integer>: signed, 64 bits. Beyond 2^53 it is rounded to the nearest number. */
const maxInteger = 2 ** 63;

function decodeAtom(raw: unknown, type: AtomType, path: string): Atom {
    switch (type) {
        case "string":
        case "boolean":
            if (typeof raw === type) return raw as string | boolean;
            break;
        case "integer":
            if (Number.isInteger(raw) && Math.abs(raw as number) <= maxInteger) return raw as number;
            break;
        case "real":
            if (Number.isFinite(raw)) return raw as number;
            break;
        case "uuid":
            if (isPair(raw, "uuid") && typeof raw[1] === "string" && isUuidText(raw[1])) {
                return Object.freeze({ uuid: raw[1].toLowerCase() });
            }
    }
    throw badValue(path, type === "uuid" ? 'must be ["uuid", "<UUID>"]' : `must be of type ${type}`, raw);
}

function isPair(raw: unknown, tag: "set" | "map" | "uuid"): raw is readonly [string, unknown] {
    return Array.isArray(raw) && raw.length === 2 && raw[0] === tag;
}

function list(raw: unknown, path: string): readonly unknown[] {
    if (!Array.isArray(raw)) throw badValue(path, "must have an array of elements", raw);
    return raw;
}

function onlyOne(raw: unknown, path: string): unknown {
    const elements = list(raw, path);
    if (elements.length !== 1) throw badValue(path, "must have exactly one element", raw);
    return elements[0];
}

function checkCount(count: number, type: ColumnType, path: string): void {
    if (count >= type.min && count <= type.max) return;
    const most = type.max === Infinity ? "" : ` and at most ${type.max}`;
    throw badValue(path, `must have at least ${type.min}${most} elements`, count);
}

function refuseRepeated(sorted: readonly Atom[], path: string): void {
    const repeated = sorted.find((atom, index) => index > 0 && sameAtom(atom, sorted[index - 1] as Atom));
    if (repeated !== undefined) throw badValue(path, "must not repeat an element or key", repeated);
}

function badValue(path: string, rule: string, raw: unknown): OvsdbError {
    return new OvsdbError("BAD_VALUE", "remote", `${path} ${rule}, not ${show(raw)}`, { details: { path } });
}
