import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { clusterAddresses, PoolIndex, readPool } from "@antrea/ipam";
import { formatRangeSet } from "@antrea/ip";
import { KubeError } from "@antrea/kube";
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
    /** The ranges for which networks were asked for. */
    readonly askedNetworks: string[] = [];
    /** Those that have static addresses there. */
    networks: () => readonly string[] = () => [];

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
            networks: {
                of: async () => [],
                withAddressIn: async (addresses) => {
                    this.askedNetworks.push(formatRangeSet(addresses));
                    return this.networks();
                },
            },
            allocations: {
                anyOf: async () => ({ allocations: [], isPart: false }),
                of: noAllocations,
                at: noAllocations,
            },
            clusterCidrs: [],
        });
    }
}

describe("networks with static addresses that a pool gets are a warning", () => {
    const ranges = [rangeFrom("10.1.0.8", "10.1.0.15"), rangeFrom("10.1.0.24", "10.1.0.31")];
    const warning =
        "static addresses of NetworkAttachmentDefinition a/x, NetworkAttachmentDefinition a/y are in the new ranges: a running Pod that has one did not claim it, and another Pod may get it too; recreate these Pods, or leave the addresses out of the ranges";
    const found = ["NetworkAttachmentDefinition a/x", "NetworkAttachmentDefinition a/y"];
    const pool = (...of: readonly RangeFields[]): IpPool => poolOf("p", ...of) as IpPool;

    it("at CREATE, for all ranges", async () => {
        const known = new Known();
        known.networks = () => found;
        expect(await known.reviewer.create(pool(...ranges), signal)).toEqual({ errors: [], warnings: [warning] });
        expect(known.askedNetworks).toEqual(["10.1.0.8-10.1.0.15, 10.1.0.24-10.1.0.31"]);
    });

    it("at UPDATE, for the new ranges, of which a pool may get none", async () => {
        const known = new Known(pool(ranges[0]!));
        known.networks = () => found;
        const grown = await known.reviewer.update(pool(ranges[0]!), pool(...ranges), signal);
        expect(grown).toEqual({ errors: [], warnings: [warning] });
        expect(known.askedNetworks).toEqual(["10.1.0.24-10.1.0.31"]);
        await known.reviewer.update(pool(...ranges), pool(...[...ranges].reverse()), signal);
        expect(known.askedNetworks).toHaveLength(1);
    });

    it("of which the first ten are named", async () => {
        const known = new Known();
        known.networks = () => Array.from({ length: 12 }, (_, index) => `n${index}`);
        const { warnings } = await known.reviewer.create(pool(...ranges), signal);
        expect(warnings).toEqual([expect.stringContaining("of n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more are")]);
    });

    it("not of a pool that is refused", async () => {
        const known = new Known(poolOf("other", rangeFrom("10.1.0.9")) as IpPool);
        expect((await known.reviewer.create(pool(...ranges), signal)).warnings).toEqual([]);
        expect(known.askedNetworks).toEqual([]);
    });

    it("but refuse nothing while they cannot be listed", async () => {
        const known = new Known();
        known.networks = () => {
            throw new KubeError("UNAVAILABLE", "away");
        };
        expect(await known.reviewer.create(pool(...ranges), signal)).toEqual({
            errors: [],
            warnings: [expect.stringMatching(/^whether networks .* is not known \(away\); see that no /)],
        });
        await expect(known.reviewer.create(pool(...ranges), AbortSignal.abort())).rejects.toThrow();
        known.networks = () => {
            throw new TypeError("a defect");
        };
        await expect(known.reviewer.create(pool(...ranges), signal)).rejects.toThrow("a defect");
    });
});

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
