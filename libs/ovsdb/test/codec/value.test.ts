import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    decodeValue,
    defaultValue,
    encodeValue,
    map,
    named,
    sameValue,
    set,
    type Atom,
    type AtomType,
    type ColumnType,
    type InputValue,
    type Value,
} from "../../src/codec/index.ts";

const uuidA = "8819c1ef-f655-4bc1-829e-ef99c7b3e4a1";

const atoms: Record<AtomType, fc.Arbitrary<Atom>> = {
    integer: fc.integer().map((n) => n + 0),
    real: fc
        .double({ noNaN: true, noDefaultInfinity: true })
        .map((n) => (Number.isSafeInteger(n) || !Number.isInteger(n) ? n + 0 : 0.5)),
    boolean: fc.boolean(),
    string: fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\0", "").toWellFormed()),
    uuid: fc.uuid().map((uuid) => ({ uuid })),
};
const plain = (atom: Atom): unknown => (typeof atom === "object" ? atom.uuid : atom);
const columns = fc
    .record({
        key: fc.constantFrom<AtomType>("integer", "real", "boolean", "string", "uuid"),
        value: fc.option(fc.constantFrom<AtomType>("integer", "boolean", "string", "uuid"), { nil: undefined }),
        min: fc.constantFrom(0, 1),
        max: fc.constantFrom(1, 4, Infinity),
    })
    .map(({ value, ...type }): ColumnType => (value === undefined ? type : { ...type, value }));

function valuesOf(type: ColumnType): fc.Arbitrary<Value> {
    const count = { minLength: type.min, maxLength: Math.min(type.max, 6) };
    const keys = fc.uniqueArray(atoms[type.key], { ...count, selector: plain });
    if (type.value !== undefined) {
        const value = atoms[type.value];
        return keys
            .chain((list) => fc.tuple(...list.map((key) => fc.tuple(fc.constant(key), value))))
            .map((pairs) => new Map(pairs));
    }
    return type.min === 1 && type.max === 1 ? atoms[type.key] : keys;
}

describe("values", () => {
    it("read what was written, whatever the column's type", () => {
        const cases = columns.chain((type) => fc.tuple(fc.constant(type), valuesOf(type)));
        fc.assert(
            fc.property(cases, ([type, value]) => {
                const wire = JSON.parse(JSON.stringify(encodeValue(value, "v"))) as unknown;
                const read = decodeValue(wire, type, "v");
                // Decoding sorts sets and maps, so the decoded value is compared and encoded again.
                const again = decodeValue(encodeValue(read, "v"), type, "v");
                expect(sameValue(read, again)).toBe(true);
                const elements = (v: Value): Set<unknown> =>
                    v instanceof Map
                        ? new Set(
                              Array.from(v as ReadonlyMap<Atom, Atom>, ([k, e]) =>
                                  JSON.stringify([plain(k), plain(e)]),
                              ),
                          )
                        : new Set((Array.isArray(v) ? (v as Atom[]) : [v as Atom]).map(plain));
                expect(elements(read)).toEqual(elements(value));
            }),
        );
    });

    const optional: ColumnType = { key: "string", min: 0, max: 1 };
    const many: ColumnType = { key: "integer", min: 0, max: Infinity };
    const pairs: ColumnType = { key: "string", value: "string", min: 0, max: Infinity };
    const one = (key: AtomType): ColumnType => ({ key, min: 1, max: 1 });

    it.each<[string, unknown, ColumnType, Value]>([
        ["an optional atom that is set", "a", optional, ["a"]],
        ["an optional atom that is not set", ["set", []], optional, []],
        ["a set of one, written as an atom", 3, many, [3]],
        ["a set, in order of size", ["set", [10, 9, -1]], many, [-1, 9, 10]],
        [
            "one reference in a set column",
            ["uuid", uuidA.toUpperCase()],
            { key: "uuid", min: 0, max: Infinity },
            [{ uuid: uuidA }],
        ],
        ["an atom, written as a set of one", ["set", [true]], one("boolean"), true],
        ["a real without fraction", 2, one("real"), 2],
        [
            "a map, in order of its keys",
            [
                "map",
                [
                    ["b", "1"],
                    ["a", "2"],
                ],
            ],
            pairs,
            new Map([
                ["a", "2"],
                ["b", "1"],
            ]),
        ],
    ])("reads %s", (_name, raw, type, value) => {
        const read = decodeValue(raw, type, "v");
        expect(read).toEqual(value);
        if (read instanceof Map) expect([...read.keys()]).toEqual([...(value as Map<Atom, Atom>).keys()]);
    });

    it.each<[string, unknown, ColumnType, string]>([
        ["a missing value", undefined, one("string"), "v must be of type string, not missing"],
        ["null", null, one("string"), "v must be of type string, not null"],
        ["a number for a string", 1, one("string"), "v must be of type string, not 1"],
        ["a fraction for an integer", 1.5, one("integer"), "v must be of type integer, not 1.5"],
        ["more than 64 bits", 1e308, one("integer"), "v must be of type integer, not 1e+308"],
        ["text for a real", "1", one("real"), 'v must be of type real, not "1"'],
        [
            "a long text, of which the beginning is shown",
            "x".repeat(79),
            one("integer"),
            `v must be of type integer, not "${"x".repeat(76)}...`,
        ],
        [
            "a text that is just short enough to be shown",
            "x".repeat(78),
            one("integer"),
            `v must be of type integer, not "${"x".repeat(78)}"`,
        ],
        ["text for a boolean", "true", one("boolean"), 'v must be of type boolean, not "true"'],
        ["a UUID that is short", ["uuid", "1"], one("uuid"), 'v must be ["uuid", "<UUID>"], not ["uuid","1"]'],
        [
            "a UUID with something before it",
            ["uuid", `x${uuidA}`],
            one("uuid"),
            `v must be ["uuid", "<UUID>"], not ["uuid","x${uuidA}"]`,
        ],
        [
            "a UUID with something after it",
            ["uuid", `${uuidA}x`],
            one("uuid"),
            `v must be ["uuid", "<UUID>"], not ["uuid","${uuidA}x"]`,
        ],
        ["a name for a UUID", ["named-uuid", "a"], one("uuid"), 'v must be ["uuid", "<UUID>"], not ["named-uuid","a"]'],
        ["two atoms for one", ["set", [1, 2]], one("integer"), "v must have exactly one element, not [1,2]"],
        ["too many elements", ["set", ["a", "b"]], optional, "v must have at least 0 and at most 1 elements, not 2"],
        ["too few elements", ["set", []], { ...many, min: 1 }, "v must have at least 1 elements, not 0"],
        ["a repeated element", ["set", [1, 2, 1]], many, "v must not repeat an element or key, not 1"],
        ["a wrong element", ["set", [1, "x"]], many, 'v[1] must be of type integer, not "x"'],
        ["a set without list", ["set", 1], many, "v must have an array of elements, not 1"],
        ["a set for a map", ["set", []], pairs, 'v must be ["map", [...]], not ["set",[]]'],
        ["a pair of three", ["map", [["a", "b", "c"]]], pairs, 'v[0] must be [key, value], not ["a","b","c"]'],
        ["a wrong entry", ["map", [["a", 1]]], pairs, 'v["a"] must be of type string, not 1'],
        [
            "a repeated key",
            [
                "map",
                [
                    ["a", "1"],
                    ["a", "2"],
                ],
            ],
            pairs,
            'v must not repeat an element or key, not "a"',
        ],
    ])("refuses to read %s", (_name, raw, type, message) => {
        expect(() => decodeValue(raw, type, "v")).toThrow(
            expect.objectContaining({ code: "BAD_VALUE", fault: "remote", message }),
        );
    });

    it("reads a difference of more elements than the column may have, as both its old and new ones are in it", () => {
        expect(decodeValue(["set", ["a", "b"]], optional, "v", true)).toEqual(["a", "b"]);
        const entries = ["map", Array.from("abc", (key) => [key, "1"])];
        expect(decodeValue(entries, { ...pairs, max: 1 }, "v", true)).toHaveProperty("size", 3);
        expect(() => decodeValue(entries, { ...pairs, max: 1 }, "v")).toThrow("at most 1 elements, not 3");
    });

    it.each<[string, Value, Value]>([
        ["atoms", "a", "b"],
        ["sets of one size", [1, 2], [1, 3]],
        ["sets of two sizes", [1], [1, 2]],
        ["maps of other keys", new Map([["a", 1]]), new Map([["b", 1]])],
        ["maps of other entries", new Map([["a", 1]]), new Map([["a", 2]])],
        ["an atom and a set of it", 1, [1]],
        ["a set and a map", [], new Map()],
    ])("distinguishes %s", (_name, one, other) => {
        expect([sameValue(one, other), sameValue(other, one)]).toEqual([false, false]);
        expect([sameValue(one, one), sameValue(other, other)]).toEqual([true, true]);
    });

    it.each<[string, InputValue, string]>([
        ["an integer beyond 2^53", set(2 ** 53), "v[0] must be within ±(2^53 - 1), not 9007199254740992"],
        ["infinity", Infinity, 'v must be a finite number, not "Infinity"'],
        ["NUL", map({ a: "x\0y" }), 'v["a"] must not have a NUL character, not "x\\u0000y"'],
        [
            "half a surrogate pair",
            "\ud800",
            'v must be well-formed Unicode (it has half a surrogate pair), not "\\ud800"',
        ],
        ["a wrong UUID", { uuid: "x" }, 'v must be a UUID, not "x"'],
        [
            "a wrong name",
            named("a-b"),
            'v must be a name of letters, digits and _ that does not begin with a digit, not "a-b"',
        ],
        ["null", null as unknown as string, "v must be a string, number, boolean, UUID, set or map, not null"],
        [
            "undefined",
            undefined as unknown as string,
            "v must be a string, number, boolean, UUID, set or map, not missing",
        ],
    ])("refuses to write %s", (_name, value, message) => {
        expect(() => encodeValue(value, "v")).toThrow(
            expect.objectContaining({ code: "BAD_ARGUMENT", fault: "caller", message }),
        );
    });

    it.each<[ColumnType, Value]>([
        [one("integer"), 0],
        [one("string"), ""],
        [one("boolean"), false],
        [optional, []],
        [pairs, new Map()],
        [{ key: "string", value: "integer", min: 1, max: 4 }, new Map([["", 0]])],
        [{ key: "uuid", min: 1, max: Infinity }, [{ uuid: "00000000-0000-0000-0000-000000000000" }]],
    ])("knows the default of a column %j", (type, value) => {
        expect(defaultValue(type)).toEqual(value);
    });
});
