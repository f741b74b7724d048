import { describe, expect, it } from "@jest/globals";
import { type Strike } from "../chaos/faults.ts";
import { report } from "../chaos/report.ts";
import { fewestIn, noFault, summarize } from "../chaos/services.ts";
import {
    describeFailure,
    outageOf,
    pausesIn,
    readConnections,
    type Connection,
    type ConnectionPath,
} from "../fixture/connections.ts";
import { outagesOf } from "../upgrade/agent-watch.ts";
import { judge } from "../upgrade/service-clients.ts";

const path = (name: string, nodes: readonly string[]): ConnectionPath => ({
    name,
    ip: "10.96.0.1",
    port: 80,
    nodes,
    servers: ["web-1", "web-2"],
});
const near = path("near", ["n1"]);
const both = path("both", ["n1", "n2"]);

const answered = (of: ConnectionPath, from: number, server = "web-1"): Connection => ({
    path: of,
    from,
    to: from + 3,
    server,
    failure: undefined,
});
const failed = (of: ConnectionPath, from: number, to = from + 5_000): Connection => ({
    path: of,
    from,
    to,
    server: undefined,
    failure: "no answer within 5 s",
});

describe("what connect.ts writes", () => {
    it("is read by path, without the line that is not complete yet", () => {
        const output = "0 1000 1003 ok web-1\n1 1000 6001 failed no answer within 5 s\n1 1200 1201 ok web";
        expect(readConnections(output, [near, both])).toEqual([
            { path: near, from: 1_000, to: 1_003, server: "web-1", failure: undefined },
            { path: both, from: 1_000, to: 6_001, server: undefined, failure: "no answer within 5 s" },
        ]);
    });

    it("is a failure when another than an endpoint answered", () => {
        expect(readConnections("0 1000 1003 ok other\n", [near])).toMatchObject([{ failure: "answered by other" }]);
    });

    it("is nothing in other lines", () => {
        expect(readConnections("Error: 0 1000 1003 ok web-1\n7 1000 1003 ok web-1\n", [near])).toEqual([]);
    });

    it("is described with its time", () => {
        expect(describeFailure(failed(near, 1_000))).toBe(
            "near from 00:00:01.000 to 00:00:06.000: no answer within 5 s",
        );
    });
});

describe("an outage", () => {
    const outage = { node: "n2", from: 10_000, to: 20_000 };

    it.each([
        { what: "it began before and ended in it", one: failed(both, 9_000, 10_000), explains: true },
        { what: "it began at its last moment", one: failed(both, 20_000), explains: true },
        { what: "it was open all the time", one: failed(both, 9_000, 21_000), explains: true },
        { what: "it had ended", one: failed(both, 4_000, 9_999), explains: false },
        { what: "it began after", one: failed(both, 20_001), explains: false },
        { what: "its path does not use the Node", one: failed(near, 12_000), explains: false },
    ])("explains a failure or not: $what", ({ one, explains }) => {
        expect(outageOf(one, [outage])).toBe(explains ? outage : undefined);
    });
});

describe("a pause of a client", () => {
    const time = { from: 100_000, to: 200_000 };
    const begun = (...times: readonly number[]): readonly Connection[] => times.map((at) => answered(near, at));

    it("is none of thirty seconds, whatever the order in which connections end", () => {
        expect(pausesIn([near], begun(160_000, 130_000, 190_000), time)).toEqual([]);
    });

    it.each([
        { when: "at first", of: begun(130_001, 160_000, 190_000), is: ["00:01:40.000 to 00:02:10.001"] },
        { when: "in between", of: begun(129_999, 160_000, 190_000), is: ["00:02:09.999 to 00:02:40.000"] },
        { when: "at last", of: begun(130_000, 150_000, 169_999), is: ["00:02:49.999 to 00:03:20.000"] },
        { when: "all the time", of: begun(90_000, 210_000), is: ["00:01:40.000 to 00:03:20.000"] },
        { when: "on another path", of: [failed(both, 130_000)], is: ["00:01:40.000 to 00:03:20.000"] },
    ])("is one of more than that: $when", ({ of, is }) => {
        expect(pausesIn([near], of, time)).toEqual(is.map((text) => `near: nobody connected from ${text}`));
    });
});

describe("new connections during faults", () => {
    const minute = { from: 0, to: 60_000 };
    const strike = (fault: string, node: string, from: number, switchBack?: number): Strike => ({
        fault,
        node,
        from,
        ended: from,
        switchBack,
        wellAgain: from + 9_000,
        to: from + 20_000,
    });
    const strikes = [
        strike("antrea-agent killed", "n1", 0),
        strike("ovs-vswitchd killed", "n2", 20_000, 21_500),
        strike("kube-apiserver killed", "n1", 40_000),
    ];
    const failuresOf = (...connections: readonly Connection[]) => {
        const { failed: counts, wrong } = summarize([near, both], connections, strikes, minute);
        return { counts: [...counts].map(([{ name }, of]) => [name, Object.fromEntries(of)]), wrong };
    };

    it("may fail until five seconds after Open vSwitch of a Node on the path was back", () => {
        expect(failuresOf(failed(both, 18_000), failed(both, 20_100), failed(both, 26_500))).toEqual({
            counts: [["both", { "ovs-vswitchd killed": 3 }]],
            wrong: [],
        });
    });

    it.each([
        { what: "Open vSwitch was back for longer", one: failed(both, 26_501), fault: "ovs-vswitchd killed", on: "n2" },
        { what: "it was another Node's", one: failed(near, 20_100), fault: "ovs-vswitchd killed", on: "n2" },
        { what: "the agent was killed", one: failed(near, 0), fault: "antrea-agent killed", on: "n1" },
        { what: "the API server was", one: failed(both, 59_999), fault: "kube-apiserver killed", on: "n1" },
    ])("may not fail when $what", ({ one, fault, on }) => {
        const { counts, wrong } = failuresOf(one);
        expect(counts).toEqual([[one.path.name, { [fault]: 1 }]]);
        expect(wrong).toEqual([`${fault} (${on}): ${describeFailure(one)}`]);
    });

    it("may not fail without a fault", () => {
        const one = failed(both, 60_000);
        expect(failuresOf(one)).toEqual({
            counts: [["both", { [noFault]: 1 }]],
            wrong: [`${noFault}: ${describeFailure(one)}`],
        });
    });

    it("are counted by path, with the endpoints that never answered", () => {
        const all = [answered(near, 0), answered(near, 200, "web-2"), answered(both, 0), failed(both, 20_100)];
        const { attempts, silent } = summarize([near, both], all, strikes, minute);
        expect([...attempts.values()]).toEqual([2, 2]);
        expect(silent).toEqual(["both: never web-2"]);
        expect(summarize([near], [], strikes, minute).silent).toEqual(["near: never web-1", "near: never web-2"]);
    });

    it("are in the report by fault and path", () => {
        const services = summarize(
            [near, both],
            [answered(near, 0), failed(both, 20_100), failed(both, 20_300)],
            strikes,
            minute,
        );
        const nobody = { done: new Map<string, number>(), refused: new Map<string, number>() };
        const run = { seconds: 60, strikes, churn: nobody, checks: [], ways: [], end: 60_000 };
        const lines = report({ ...run, mode: "services", services }).split("\n");
        expect(lines).toContain("| Fault | near | both |");
        expect(lines).toContain("| all connections | 1 | 2 |");
        expect(lines).toContain("| antrea-agent killed | - | - |");
        expect(lines).toContain("| ovs-vswitchd killed | - | 2 |");
        expect(lines).toContain(`| ${noFault} | - | - |`);
        expect(report({ ...run, mode: "overlay", services: undefined })).not.toContain("connections");
    });

    it("are to begin all the time", () => {
        const pauses = ["near: nobody connected from 00:00:00.200 to 00:01:00.000"];
        expect(summarize([near], [answered(near, 0), answered(near, 200)], strikes, minute).pauses).toEqual(pauses);
    });

    it("must be half as many as intended", () => {
        expect(fewestIn(60_000)).toBe(150);
    });
});

describe("new connections during an upgrade", () => {
    const outages = outagesOf([{ node: "n2", from: 10_000, to: 15_000 }]);

    it("may fail from a second before a Node on the path has no agent until five seconds after", () => {
        const connections = [failed(both, 4_000), failed(both, 9_000), failed(both, 20_000), answered(both, 20_001)];
        expect(judge([both], connections, 4, outages)).toEqual({ count: 4, failed: 3, problems: [] });
    });

    it.each([failed(both, 3_999), failed(both, 20_001), failed(near, 12_000)])("may not fail else: %j", (one) => {
        expect(judge([one.path], [one], 1, outages)).toEqual({
            count: 1,
            failed: 1,
            problems: [`a connection failed though no agent restarted: ${describeFailure(one)}`],
        });
    });

    it("must be half as many as intended, on each path", () => {
        const connections = [answered(both, 0), answered(both, 100), answered(near, 0)];
        expect(judge([near, both], connections, 4, []).problems).toEqual(["near: 1 connections only, not 4"]);
    });
});
