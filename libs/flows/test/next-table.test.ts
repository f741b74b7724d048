import { describe, expect, it } from "@jest/globals";
import { bridgingTables, nodeTables, Pipeline, Table, type TableUse } from "../src/index.ts";
import { bridgingModeTables, plainTables } from "./examples.ts";

const policy: readonly TableUse[] = [
    { table: "EgressRule", stage: "egressPolicy", miss: "next" },
    { table: "IngressSecurityClassifier", stage: "ingressPolicy", miss: "next" },
    { table: "IngressMetric", stage: "ingressPolicy", miss: "next" },
];

describe("the next table", () => {
    it("is the one that follows in the stage, or the first of the stages after it", () => {
        expect(plainTables.after("Classifier")).toBe(Table.SpoofGuard);
        expect(plainTables.after("ConntrackState")).toBe(Table.L3Forwarding);
        expect(bridgingModeTables.after("ConntrackState")).toBe(Table.BridgedForwarding);
        expect(bridgingModeTables.after("ConntrackCommit")).toBe(Table.ServiceSnat);
    });

    it("depends on the family where a table is of one", () => {
        expect(plainTables.after("SpoofGuard", 4)).toBe(Table.ConntrackZone);
        expect(plainTables.after("SpoofGuard", 6)).toBe(Table.NdGuard);
        expect(plainTables.after("NdGuard")).toBe(Table.ConntrackZone);
    });

    it("is another one when a feature puts its tables in between, without a change of the others", () => {
        const tables = new Pipeline([...policy, ...nodeTables, ...bridgingTables]);
        expect(tables.after("ConntrackState")).toBe(Table.EgressRule);
        expect(tables.into("routing")).toBe(Table.BridgedForwarding);
        expect(tables.after("L2Forwarding")).toBe(Table.IngressSecurityClassifier);
        expect(tables.after("IngressMetric")).toBe(Table.ConntrackCommit);
        const misses = tables
            .flows([])
            .flatMap(({ flows }) => flows)
            .map(({ table, gotoTable }) => [table, gotoTable]);
        expect(misses).toContainEqual([Table.ConntrackState, Table.EgressRule]);
        expect(misses).toContainEqual([Table.EgressRule, Table.BridgedForwarding]);
    });

    it("of a stage that no table is in is the first one after it", () => {
        expect(plainTables.into("egressPolicy")).toBe(Table.L3Forwarding);
        expect(plainTables.into("tagging")).toBe(Table.Output);
    });

    it.each<[string, () => unknown]>([
        ["of a table that is not in use", () => plainTables.after("Vlan")],
        ["of the last one", () => plainTables.after("Output")],
        ["of the last one of a side stage", () => plainTables.after("NdForward")],
        ["of a side stage without tables", () => plainTables.into("underlay")],
    ])("is not there: %s", (_name, ask) => {
        expect(ask).toThrow(expect.objectContaining({ code: "PIPELINE" }));
    });
});

describe("tables that do not fit together are refused", () => {
    it.each<[string, readonly TableUse[]]>([
        ["one that two features declare", [...nodeTables, { table: "Output", stage: "output", miss: "drop" }]],
        [
            "one whose number is below that of a stage before",
            [...nodeTables, { table: "Vlan", stage: "source", miss: "next" }],
        ],
    ])("%s", (_name, tables) => {
        expect(() => new Pipeline(tables)).toThrow(expect.objectContaining({ code: "PIPELINE" }));
    });

    it("a part whose tables are not in use", () => {
        const part = { tables: policy, flows: () => [] };
        expect(() => plainTables.flows([part])).toThrow(expect.objectContaining({ code: "PIPELINE" }));
    });
});
