import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    applyDifference,
    decodeTableUpdates,
    pickColumns,
    type Atom,
    type ColumnType,
    type Row,
    type UpdateFormat,
} from "../../src/codec/index.ts";
import { RowCache, type RowChange } from "../../src/session/cache.ts";
import { messagesOf, vswitch } from "../fixtures/captured.ts";

const monitored = pickColumns(vswitch(), { Bridge: ["name", "external_ids", "fail_mode", "protocols", "stp_enable"] });
const uuidA = "8819c1ef-f655-4bc1-829e-ef99c7b3e4a1";

/** Position of the rows in the answer and the notification of each monitor method. */
const formats: readonly (readonly [string, UpdateFormat, (result: unknown) => unknown, number])[] = [
    ["monitor", "updates", (result) => result, 1],
    ["monitor-cond", "updates2", (result) => result, 1],
    ["monitor-cond-since", "updates2", (result) => (result as unknown[])[2], 2],
];

describe("updates of ovsdb-server", () => {
    it.each(formats)("of %s give the same rows", (name, format, ofAnswer, index) => {
        const cache = new RowCache(["Bridge"]);
        const batches: (readonly RowChange[])[] = [];
        for (const message of messagesOf(name, "server").slice(1)) {
            if (message.kind === "response") {
                batches.push(cache.replace(decodeTableUpdates(ofAnswer(message.result), format, monitored)));
            } else {
                batches.push(cache.apply(decodeTableUpdates(message.params[index], format, monitored), monitored));
            }
        }
        const row = (ids: Record<string, string>, failMode: string[], protocols: string[], stp: boolean): Row => ({
            name: 'br-ü"\\\n{[',
            external_ids: new Map(Object.entries(ids)),
            fail_mode: failMode,
            protocols,
            stp_enable: stp,
        });
        const rows = [
            row({ a: "1", b: "2" }, [], [], true),
            row({ a: "1", b: "3", c: "4" }, ["secure"], [], false),
            row({ c: "4" }, [], ["OpenFlow10", "OpenFlow15"], false),
            row({ c: "4" }, ["secure"], ["OpenFlow13", "OpenFlow15"], false),
        ];
        const two: Row = { name: "two", external_ids: new Map(), fail_mode: [], protocols: [], stp_enable: false };
        expect(batches.map((changes) => changes.map(({ before, after }) => [before, after]))).toEqual([
            [[undefined, rows[0]]],
            [[rows[0], rows[1]]],
            [[rows[1], rows[2]]],
            [[rows[2], rows[3]]],
            [[undefined, two]],
            expect.arrayContaining([
                [rows[3], undefined],
                [two, undefined],
            ]),
        ]);
        expect(cache.rows("Bridge").size).toBe(0);
    });

    const bridge = (body: unknown): unknown => ({ Bridge: { [uuidA]: body } });
    it.each<[string, UpdateFormat, unknown, string]>([
        ["no object", "updates2", [], "update must be an object"],
        ["another table", "updates2", { Port: {} }, 'update must be about monitored tables, not "Port"'],
        ["a key that is no UUID", "updates2", { Bridge: { x: {} } }, 'update.Bridge["x"] must be a UUID'],
        ["no member", "updates2", bridge({}), "must have one of initial, insert, modify, delete"],
        ["two members", "updates2", bridge({ insert: {}, delete: null }), "must have one of"],
        ["another member", "updates2", bridge({ new: {} }), "must have one of"],
        ["a row that is null", "updates2", bridge({ insert: null }), ".insert must be an object, not null"],
        [
            "another column",
            "updates2",
            bridge({ modify: { ports: ["set", []] } }),
            '.modify must have monitored columns only, not "ports"',
        ],
        ["a wrong value", "updates2", bridge({ modify: { name: 1 } }), ".modify.name must be of type string, not 1"],
        ["neither old nor new", "updates", bridge({}), "must have old or new"],
        [
            "a wrong new row",
            "updates",
            bridge({ new: { stp_enable: 1 } }),
            ".new.stp_enable must be of type boolean, not 1",
        ],
    ])("are refused with %s", (_name, format, raw, message) => {
        expect(() => decodeTableUpdates(raw, format, monitored)).toThrow(message);
    });
});

describe("differences", () => {
    const strings = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "é"));
    const integers = fc.uniqueArray(fc.constantFrom(-1, 2, 10, 33));
    const maps = fc
        .dictionary(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("1", "2", "3"))
        .map((object) => new Map<Atom, Atom>(Object.entries(object)));

    it("of two sets turn each into the other", () => {
        const type: ColumnType = { key: "string", min: 0, max: Infinity };
        fc.assert(
            fc.property(
                fc.oneof(fc.tuple(strings, strings), fc.tuple(integers, integers)),
                ([from, to]: [Atom[], Atom[]]) => {
                    const difference = [...from, ...to].filter((atom) => from.includes(atom) !== to.includes(atom));
                    const result = applyDifference(from, difference, type) as readonly Atom[];
                    expect(new Set(result)).toEqual(new Set(to));
                    expect(result).toHaveLength(to.length);
                    expect([...result]).toEqual([...result].sort((a, b) => (a < b ? -1 : 1)));
                },
            ),
        );
    });

    it("of two maps turn the one into the other", () => {
        const type: ColumnType = { key: "string", value: "string", min: 0, max: Infinity };
        fc.assert(
            fc.property(maps, maps, (from, to) => {
                const difference = new Map([...from].filter(([key]) => !to.has(key)));
                for (const [key, value] of to) if (from.get(key) !== value) difference.set(key, value);
                const result = applyDifference(from, difference, type);
                expect(result).toEqual(to);
                expect([...(result as Map<Atom, Atom>).keys()]).toEqual([...to.keys()].sort());
            }),
        );
    });

    it("of a column of at most one element are its new value", () => {
        expect(applyDifference(["a"], ["a"], { key: "string", min: 0, max: 1 })).toEqual(["a"]);
        expect(applyDifference(7, 8, { key: "integer", min: 1, max: 1 })).toBe(8);
    });
});
