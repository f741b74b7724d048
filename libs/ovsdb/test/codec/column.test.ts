import { describe, expect, it } from "@jest/globals";
import {
    numberOf,
    optionalNumberOf,
    optionalTextOf,
    referencesOf,
    textEntryOf,
    textMapOf,
    textOf,
    type Row,
} from "../../src/codec/index.ts";

const row: Row = {
    name: "p",
    cfg: 7,
    up: true,
    tag: [5],
    mac: [],
    trunks: [1, 2],
    bridge: { uuid: "u1" },
    ports: [{ uuid: "u1" }, { uuid: "u2" }],
    external_ids: new Map([["a", "1"]]),
    counters: new Map([["a", 1]]),
    queues: new Map([[0, "a"]]),
};

describe("columns of a row", () => {
    it("are given with their type", () => {
        expect(textOf(row, "name")).toBe("p");
        expect(numberOf(row, "cfg")).toBe(7);
        expect(optionalNumberOf(row, "tag")).toBe(5);
        expect(optionalTextOf(row, "mac")).toBeUndefined();
        expect(referencesOf(row, "bridge")).toEqual(["u1"]);
        expect(referencesOf(row, "ports")).toEqual(["u1", "u2"]);
        expect(textMapOf(row, "external_ids").get("a")).toBe("1");
        expect([textEntryOf(row, "external_ids", "a"), textEntryOf(row, "external_ids", "b")]).toEqual([
            "1",
            undefined,
        ]);
    });

    it.each([
        ["one that is not there", () => textOf(row, "toString"), "the row has no column toString"],
        ["a number as text", () => textOf(row, "cfg"), "column cfg is not a string: it is 7"],
        ["text as a number", () => numberOf(row, "name"), 'column name is not a number: it is "p"'],
        ["an optional number as text", () => optionalTextOf(row, "tag"), "column tag is not a string: it is 5"],
        ["a set as an optional value", () => optionalNumberOf(row, "trunks"), "column trunks is not an optional value"],
        ["numbers as references", () => referencesOf(row, "trunks"), "column trunks is not references to rows"],
        [
            "a counter as text",
            () => textEntryOf(row, "counters", "a"),
            "column counters is not a map of strings: it is a map",
        ],
        ["an entry of no map", () => textEntryOf(row, "name", "a"), 'column name is not a map of strings: it is "p"'],
        ["counters as texts", () => textMapOf(row, "counters"), "column counters is not a map of strings: it is a map"],
        ["text as a map", () => textMapOf(row, "name"), 'column name is not a map of strings: it is "p"'],
        [
            "numbers of queues as keys",
            () => textMapOf(row, "queues"),
            "column queues is not a map of strings: it is a map",
        ],
    ])("refuse to give %s, and name the column", (_name, read, message) => {
        expect(read).toThrow(message);
        const column = /column (\w+)/.exec(message)?.[1];
        expect(read).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT", fault: "caller", details: { column } }));
    });
});
