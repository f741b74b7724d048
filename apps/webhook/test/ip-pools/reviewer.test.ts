import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { clusterAddresses, PoolIndex, readPool } from "@antrea/ipam";
import { PoolReviewer, type PoolRanges } from "../../src/ip-pools/reviewer.ts";
import { poolOf, type RangeFields } from "../support/objects.ts";

const { signal } = new AbortController();
const rangeFrom = (start: string, end = start): RangeFields => ({ start, end, gateway: "10.1.0.1", prefixLength: 24 });

/** A pool whose ranges count how often their gateways are read: reading a spec does it once for each range. */
function counted(name: string, ...ranges: readonly RangeFields[]): { readonly object: IpPool; reads(): number } {
    let reads = 0;
    const counting = ranges.map(({ gateway, ...rest }) => ({
        ...rest,
        get gateway(): unknown {
            reads += 1;
            return gateway;
        },
    }));
    const object = poolOf(name, ...ranges) as IpPool;
    return {
        object: { ...object, spec: { ...object.spec, ipRanges: counting as unknown as IpPool["spec"]["ipRanges"] } },
        reads: () => reads,
    };
}

/** How often reading the pool once reads gateways of its ranges. */
function readsOnce(...ranges: readonly RangeFields[]): number {
    const { object, reads } = counted("once", ...ranges);
    readPool(object);
    return reads();
}

class Known {
    /** How often pools were asked for by name, or all of them. */
    readonly asked: string[] = [];
    readonly reviewer: PoolReviewer;

    constructor(...stored: readonly IpPool[]) {
        const addresses = { ...clusterAddresses([]), bridgedNodes: [] };
        const indexed = (): PoolRanges => {
            const index = new PoolIndex(() => addresses);
            for (const pool of stored) index.set(readPool(pool));
            return index;
        };
        const known = indexed();
        const noAllocations = async (): Promise<readonly []> => [];
        this.reviewer = new PoolReviewer({
            pools: {
                pool: (name) => known.pool(name),
                overlapping: (range) => known.overlapping(range),
                live: async (names) => {
                    this.asked.push(`live ${[...names].join()}`);
                    return indexed();
                },
                // Another set than what is known: the pool is judged once more.
                counted: async () => {
                    this.asked.push("counted");
                    return indexed();
                },
            },
            addresses: { current: addresses },
            users: { of: () => ["Namespace a"] },
            networks: { of: async () => [] },
            allocations: {
                anyOf: async () => ({ allocations: [], isPart: false }),
                of: noAllocations,
                at: noAllocations,
            },
            clusterCidrs: [],
        });
    }
}

describe("a pool is read once for each object of the request", () => {
    const ranges = [rangeFrom("10.1.0.8", "10.1.0.15"), rangeFrom("10.1.0.24", "10.1.0.31")];
    const shrunk = ranges.slice(0, 1);

    it("CREATE, judged by what is known and by all pools as they are stored", async () => {
        const { reviewer, asked } = new Known();
        const { object, reads } = counted("p", ...ranges);
        expect((await reviewer.create(object, signal)).errors).toEqual([]);
        expect([asked, reads()]).toEqual([["counted"], readsOnce(...ranges)]);
    });

    it("CREATE, refused by the pools that it overlaps", async () => {
        const { reviewer, asked } = new Known(poolOf("other", rangeFrom("10.1.0.9")) as IpPool);
        const { object, reads } = counted("p", ...ranges);
        expect((await reviewer.create(object, signal)).errors).toHaveLength(1);
        expect([asked, reads()]).toEqual([["live other"], readsOnce(...ranges)]);
    });

    it("UPDATE, that adds a range", async () => {
        const { reviewer, asked } = new Known(poolOf("p", ...shrunk) as IpPool);
        const [old, now] = [counted("p", ...shrunk), counted("p", ...ranges)];
        expect((await reviewer.update(old.object, now.object, signal)).errors).toEqual([]);
        expect([asked, old.reads(), now.reads()]).toEqual([["counted"], readsOnce(...shrunk), readsOnce(...ranges)]);
    });

    it("UPDATE, that takes a range from a pool in use", async () => {
        const { reviewer } = new Known(poolOf("p", ...ranges) as IpPool);
        const [old, now] = [counted("p", ...ranges), counted("p", ...shrunk)];
        expect((await reviewer.update(old.object, now.object, signal)).errors).toHaveLength(1);
        expect([old.reads(), now.reads()]).toEqual([readsOnce(...ranges), readsOnce(...shrunk)]);
    });

    it("DELETE reads none", async () => {
        const { object, reads } = counted("p", ...ranges);
        expect((await new Known().reviewer.delete(object, signal)).errors).toEqual([]);
        expect(reads()).toBe(0);
    });
});
