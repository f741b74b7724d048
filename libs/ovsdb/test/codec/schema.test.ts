import { describe, expect, it } from "@jest/globals";
import { decodeSchema, pickColumns } from "../../src/codec/index.ts";
import { vswitch } from "../fixtures/captured.ts";

describe("schema", () => {
    it("reads that of Open vSwitch", () => {
        const { name, version, tables } = vswitch();
        expect({ name, version: version.split(".")[0] }).toEqual({ name: "Open_vSwitch", version: "8" });
        const bridge = tables.get("Bridge");
        expect(bridge?.get("name")).toEqual({ key: "string", min: 1, max: 1 });
        expect(bridge?.get("fail_mode")).toEqual({ key: "string", min: 0, max: 1 });
        expect(bridge?.get("flow_tables")).toEqual({ key: "integer", value: "uuid", min: 0, max: Infinity });
        expect(bridge?.get("_uuid")).toEqual({ key: "uuid", min: 1, max: 1 });
        expect(tables.get("Port")?.get("interfaces")).toEqual({ key: "uuid", min: 1, max: Infinity });
        expect(tables.get("Port")?.get("trunks")).toEqual({ key: "integer", min: 0, max: 4096 });
    });

    const withType = (type: unknown): unknown => ({
        name: "d",
        version: "1",
        tables: { T: { columns: { c: { type } } } },
    });
    it.each([
        ["null", null, "schema", "must be an object, not null"],
        ["no tables", { name: "d", version: "1" }, "schema.tables", "must be an object, not null"],
        ["no columns", { name: "d", version: "1", tables: { T: {} } }, "schema.tables.T.columns", "must be an object"],
        ["an unknown type", withType("text"), "schema.tables.T.columns.c.type", 'must be an atomic type, not "text"'],
        [
            "an unknown base type",
            withType({ key: { type: "text" } }),
            "schema.tables.T.columns.c.type.key",
            'must be an atomic type, not "text"',
        ],
        [
            "min over 1",
            withType({ key: "string", min: 2, max: 3 }),
            "schema.tables.T.columns.c.type",
            "must have min 0 or 1, and max from 1, not",
        ],
        [
            "a wrong min",
            withType({ key: "string", min: -1 }),
            "schema.tables.T.columns.c.type.min",
            "must be a whole number from 0, not -1",
        ],
        [
            "max 0",
            withType({ key: "string", max: 0 }),
            "schema.tables.T.columns.c.type",
            "must have min 0 or 1, and max from 1, not",
        ],
        [
            "a wrong max",
            withType({ key: "string", max: "many" }),
            "schema.tables.T.columns.c.type.max",
            'must be a whole number from 0, not "many"',
        ],
        ["no name", { version: "1", tables: {} }, "schema.name", "must be a string, not null"],
        ["no version", { name: "d", tables: {} }, "schema.version", "must be a string, not null"],
    ])("refuses one with %s", (_name, raw, path, rule) => {
        const message = expect.stringContaining(`${path} ${rule}`) as unknown;
        expect(() => decodeSchema(raw)).toThrow(
            expect.objectContaining({ code: "BAD_MESSAGE", fault: "remote", details: { path }, message }),
        );
    });

    it("names the table or column that a database lacks", () => {
        expect(() => pickColumns(vswitch(), { Nope: [] })).toThrow('there is no table "Nope" in database Open_vSwitch');
        expect(() => pickColumns(vswitch(), { Bridge: ["name", "nope"] })).toThrow('table Bridge has no column "nope"');
    });
});
