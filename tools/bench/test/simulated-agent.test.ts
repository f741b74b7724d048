import { describe, expect, it } from "@jest/globals";
import { ipAllocationSpec } from "@antrea/crd/schema";
import { parseIp } from "@antrea/ip";
import { allocationOf, nodeNameOf, podOf } from "../allocations/simulated-agent.ts";
import { blocksOfPool, poolAt, poolOf } from "../allocations/pools.ts";

describe("simulated Pods", () => {
    it("differ by agent, round and number", () => {
        const pods = [0, 1].flatMap((agent) =>
            [1, 2].flatMap((round) => [0, 1].map((number) => podOf({ agent, round }, number))),
        );
        expect(new Set(pods.map(({ uid }) => uid)).size).toBe(pods.length);
        expect(new Set(pods.map(({ containerId }) => containerId)).size).toBe(pods.length);
    });

    it("have UIDs and container IDs of the usual length", () => {
        const { uid, containerId } = podOf({ agent: 999, round: 63 }, 4_095);
        expect(uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
        expect(containerId).toMatch(/^[0-9a-f]{64}$/);
    });
});

describe("allocationOf", () => {
    it("is an allocation as the schema wants it", () => {
        const allocation = allocationOf(parseIp("10.64.3.7"), "pool", nodeNameOf(3), podOf({ agent: 3, round: 1 }, 5));
        expect(allocation.metadata?.name).toBe("10.64.3.7");
        expect(ipAllocationSpec.parse(allocation.spec)).toEqual(allocation.spec);
        expect(allocation.spec).toMatchObject({ block: "10.64.3.0/24", state: "Allocated" });
    });
});

describe("pools", () => {
    it("have 16,384 addresses in 64 blocks each, and do not overlap", () => {
        const pool = poolAt(1);
        expect(poolOf(pool).spec.ipRanges[0]).toMatchObject({ start: "10.64.64.0", end: "10.64.127.255" });
        const blocks = blocksOfPool(pool);
        expect(blocks).toHaveLength(64);
        expect([blocks[0], blocks.at(-1)]).toEqual(["10.64.64.0/24", "10.64.127.0/24"]);
    });
});
