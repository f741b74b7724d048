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
        ["null", null, "schema"],
        ["no tables", { name: "d", version: "1" }, "schema.tables"],
        ["no columns", { name: "d", version: "1", tables: { T: {} } }, "schema.tables.T.columns"],
        ["an unknown type", withType("text"), "schema.tables.T.columns.c.type"],
        ["an unknown base type", withType({ key: { type: "text" } }), "schema.tables.T.columns.c.type.key"],
        ["min over 1", withType({ key: "string", min: 2, max: 3 }), "schema.tables.T.columns.c.type"],
        ["max 0", withType({ key: "string", max: 0 }), "schema.tables.T.columns.c.type"],
        ["a wrong max", withType({ key: "string", max: "many" }), "schema.tables.T.columns.c.type.max"],
        ["no name", { version: "1", tables: {} }, "schema.name"],
    ])("refuses one with %s", (_name, raw, path) => {
        expect(() => decodeSchema(raw)).toThrow(expect.objectContaining({ code: "BAD_MESSAGE", details: { path } }));
    });

    it("names the table or column that a database lacks", () => {
        expect(() => pickColumns(vswitch(), { Nope: [] })).toThrow('there is no table "Nope" in database Open_vSwitch');
        expect(() => pickColumns(vswitch(), { Bridge: ["name", "nope"] })).toThrow('table Bridge has no column "nope"');
    });
});
