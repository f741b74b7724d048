import { describe, expect, it } from "@jest/globals";
import { type Condition, type IpPool } from "@antrea/crd";
import { type Allocation } from "../../src/cluster/index.ts";
import { renderPool, renderPools } from "../../src/show/render.ts";
import { poolReport, summaryOf, type PoolReport } from "../../src/show/report.ts";
import { allocation, now, ofSet, plain, poolObject, poolSet, web } from "../support/objects.ts";

const condition = (type: string, status: Condition["status"], message = ""): Condition => ({
    type,
    status,
    reason: "R",
    message,
    lastTransitionTime: "2026-11-20T10:00:00Z",
});

function report(object: IpPool, allocations: readonly Allocation[], others: readonly IpPool[] = []): PoolReport {
    const pools = poolSet([object, ...others]);
    const entry = pools.get(object.metadata?.name ?? "");
    if (entry === undefined) throw new Error("no such pool");
    return poolReport(pools, entry, allocations);
}

describe("renderPools", () => {
    it("shows usage and conditions in 100 columns", () => {
        const usage = { total: 9, used: 2, reserved: 1, free: 6 };
        const objects: readonly IpPool[] = [
            { ...web, status: { usage, conditions: [condition("Ready", "True"), condition("Exhausted", "False")] } },
            {
                ...poolObject("a-pool-of-a-name-as-long-as-they-get"),
                status: {
                    usage: { total: 9, used: 9, reserved: 0, free: 0 },
                    conditions: [
                        condition("Ready", "False"),
                        condition("Exhausted", "True"),
                        condition("Overlapping", "True"),
                    ],
                },
            },
            poolObject("new"),
        ];
        const pools = poolSet(objects);
        const text = renderPools(pools.all.map(summaryOf), plain);
        expect(text.split("\n")).toHaveLength(4);
        expect(text).toMatch(/\nweb +IPv4 +\[███▒░░░░░░░░\] +33% +9 +2 +1 +6 +Ready$/);
        expect(text).toMatch(/ NotReady,Exhausted,Overlapping\n/);
        expect(text).toMatch(/\nnew +IPv4 +- +- +- +- +- +- +Unknown\n/);
    });

    it("reports that there are none", () => {
        expect(renderPools([], plain)).toBe("The cluster has no IPPools.");
    });
});

describe("poolReport", () => {
    it("counts what the allocations report, by range and by user, the biggest first", () => {
        const object = poolObject(
            "web",
            { start: "10.2.0.12", end: "10.2.0.13", gateway: "10.2.0.1", prefixLength: 24 },
            { cidr: "10.2.1.0/29", gateway: "10.2.1.1", prefixLength: 24, vlan: 7 },
        );
        const made = report(object, [
            allocation("10.2.0.12", { pod: "a" }),
            allocation("10.2.1.2", { pod: "db-0", owner: ofSet("db", 0) }),
            allocation("10.2.1.3", { owner: ofSet("db", 1) }),
            allocation("10.2.9.9", { pod: "outside" }),
        ]);
        expect(made.usage).toEqual({ total: 7, used: 2, reserved: 1, free: 4 });
        expect(made.ranges).toEqual([
            {
                addresses: "10.2.0.12-10.2.0.13",
                subnet: "10.2.0.0/24",
                gateway: "10.2.0.1",
                vlan: 0,
                total: 2,
                used: 1,
                reserved: 0,
            },
            {
                addresses: "10.2.1.0-10.2.1.7",
                subnet: "10.2.1.0/24",
                gateway: "10.2.1.1",
                vlan: 7,
                total: 5,
                used: 1,
                reserved: 1,
            },
        ]);
        expect(made.users).toEqual([
            { namespace: "shop", owner: "StatefulSet/db", used: 1, reserved: 1 },
            { namespace: "shop", owner: "Pods", used: 1, reserved: 0 },
        ]);
        expect(made.reservations.map(({ address }) => address)).toEqual(["10.2.1.3"]);
        expect(made.outside).toBe(1);
    });

    it("does not call outside what is held as a gateway or as an address of a Node", () => {
        const object = poolObject("held", { cidr: "192.168.0.0/29", gateway: "192.168.0.6", prefixLength: 29 });
        const made = report(object, [
            allocation("192.168.0.2", { pool: "held", owner: { kind: "Node", name: "node2" } }),
            allocation("192.168.0.6", { pool: "held", owner: { kind: "Gateway", name: "192.168.0.6" } }),
        ]);
        expect(made).toMatchObject({ outside: 0, usage: { used: 0, reserved: 0 } });
        expect(made.withheld).toContain("192.168.0.2");
        expect(renderPool(made, plain, now)).not.toContain("Outside");
    });

    it("counts what an overlapping pool has taken, and names what the cluster uses itself", () => {
        const object = poolObject(
            "a",
            { cidr: "10.10.1.0/29", gateway: "10.10.0.1", prefixLength: 16 },
            { start: "10.2.0.12", end: "10.2.0.13", gateway: "10.2.0.1", prefixLength: 24, vlan: 2 },
        );
        const made = report(
            object,
            [allocation("10.2.0.12", { pool: "web", pod: "x" }), allocation("10.2.0.20", { pool: "web", pod: "y" })],
            [web],
        );
        expect(made).toMatchObject({
            usage: { total: 2, used: 1, free: 1 },
            withheld: "10.10.1.1-10.10.1.6",
            outside: 0,
        });
    });

    it("shows a /64 with an allocation", () => {
        const object = poolObject("six", { cidr: "fd00:2::/64", gateway: "fd00:2::1", prefixLength: 64 });
        const made = report(object, [allocation("fd00:2::5", { pool: "six", pod: "a" })]);
        expect(made.usage).toMatchObject({ total: Number.MAX_SAFE_INTEGER, used: 1 });
        expect(renderPool(made, plain, now)).toMatch(/Addresses: +>9e15 in total: 1 used, 0 reserved, >9e15 free/);
    });
});

describe("renderPool", () => {
    it("cuts long lists and reports it", () => {
        const allocations = Array.from({ length: 12 }, (_, at) =>
            allocation(`10.2.1.${at + 2}`, { owner: ofSet(`db${String(at).padStart(2, "0")}`, 0) }),
        );
        const made = report(
            poolObject("web", { cidr: "10.2.1.0/24", gateway: "10.2.1.1", prefixLength: 24 }),
            allocations,
        );
        const text = renderPool(made, plain, now);
        expect(text).toMatch(/db09 +0 +1\nand 2 more owners \(-o json shows all\)/);
        expect(text).toMatch(/db09 ordinal 0 +2h\nand 2 more reservations/);
        expect(text).toMatch(/Conditions: +none: antrea-controller has not checked/);
    });

    it("reports problems, and conditions with their messages", () => {
        const bad = poolObject("bad", { cidr: "10.7.0.0/24", gateway: "10.8.0.1", prefixLength: 24 });
        const text = renderPool(
            report({ ...bad, status: { conditions: [condition("Ready", "False", "no range can be used")] } }, []),
            plain,
            now,
        );
        expect(text).toMatch(/Ready: +False \(no range can be used\)\n\nProblems\n {2}- spec\.ipRanges\[0\]/);
    });
});
