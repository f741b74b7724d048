import { describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { formatPrefix, parsePrefix } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { type EventInput, type Node } from "@antrea/kube";
import { ClaimReader, type Claim } from "../../src/claims/claim.ts";
import { type ClaimListener } from "../../src/claims/index.ts";
import { CidrBook } from "../../src/node-ipam/cidr-book.ts";
import { PoolAddresses } from "../../src/node-ipam/pool-addresses.ts";
import { Reports } from "../../src/node-ipam/reports.ts";
import { type PoolListener } from "../../src/pools/index.ts";
import { allocation } from "../fakes.ts";

const cluster = parsePrefix("10.244.0.0/22");

function poolOf(name: string, start: string, end = start): IpPool {
    const ipRanges = [{ start, end, gateway: "10.244.0.1", prefixLength: 16 }];
    return { metadata: { name, uid: `uid-${name}` }, spec: { ipVersion: 4, ipRanges } };
}

/** What NodeIPAM is told of pools and claims, and what it does with that. */
class Place {
    readonly book = new CidrBook({ clusters: [{ prefix: cluster, nodeMaskSize: 24 }], serviceCidrs: [] });
    readonly events: EventInput[] = [];
    readonly nodes: Node[] = [];
    readonly #pools = new Map<string, IpPool>();
    readonly #onPool = new Set<PoolListener>();
    readonly #onClaim = new Set<ClaimListener>();

    constructor() {
        const reports = new Reports(
            {
                recorder: { record: (event) => void this.events.push(event) },
                nodes: { list: () => this.nodes },
            },
            { clusters: [cluster] },
        );
        const listen = <T>(listeners: Set<T>, listener: T): Disposable => {
            listeners.add(listener);
            return { [Symbol.dispose]: () => listeners.delete(listener) };
        };
        new PoolAddresses({
            pools: {
                get: (name) => (this.#pools.has(name) ? readPool(this.#pools.get(name)!) : undefined),
                object: (name) => this.#pools.get(name),
                onChange: (listener) => listen(this.#onPool, listener),
                synced: () => Promise.resolve(),
            },
            claims: { onChange: (listener) => listen(this.#onClaim, listener), synced: () => Promise.resolve() },
        }).follow(this.book, reports);
    }

    pool(name: string, object: IpPool | undefined): void {
        if (object === undefined) this.#pools.delete(name);
        else this.#pools.set(name, object);
        for (const listener of this.#onPool) listener(name, "meaning");
    }

    claim(before: Claim | undefined, after: Claim | undefined): void {
        for (const listener of this.#onClaim) listener(before, after);
    }

    assigned(node: string): string {
        const assignment = this.book.assign(node, 0);
        return assignment.kind === "assigned" ? assignment.cidrs.map(formatPrefix).join() : assignment.kind;
    }
}

describe("subnets of Nodes, with IPPools", () => {
    it("are none that a pool or a claim has addresses of", () => {
        const place = new Place();
        const claim = new ClaimReader().read(allocation("10.244.1.9", "gone", { node: "n" }));
        place.pool("a", poolOf("a", "10.244.0.5", "10.244.0.9"));
        place.claim(undefined, claim);
        expect(place.assigned("one")).toBe("10.244.2.0/24");
        // A change of a claim is no second one.
        place.claim(claim, { ...claim, pod: undefined });
        place.claim({ ...claim, pod: undefined }, undefined);
        place.pool("a", undefined);
        expect(place.assigned("two")).toBe("10.244.3.0/24");
        expect(place.assigned("three")).toBe("10.244.0.0/24");
        expect(place.assigned("four")).toBe("10.244.1.0/24");
    });

    it("are told of on the pool, once for what it has of them, with Nodes that have them already", () => {
        const place = new Place();
        place.nodes.push({ metadata: { name: "n7" }, spec: { podCIDRs: ["10.244.2.5/24"] } });
        place.pool("far", poolOf("far", "10.245.0.1"));
        expect(place.events).toEqual([]);
        place.pool("a", poolOf("a", "10.244.1.250", "10.244.2.9"));
        place.pool("a", poolOf("a", "10.244.1.250", "10.244.2.9"));
        expect(place.events).toMatchObject([
            {
                type: "Warning",
                reason: "InClusterCIDR",
                regarding: { kind: "IPPool", name: "a" },
                note: "10.244.1.250-10.244.2.9 of IPPool a is in nodeIPAM.clusterCIDRs: Nodes get no subnet that has any of it. Node n7 has 10.244.2.0/24 already: the pool does not hand out addresses of it. Use addresses outside nodeIPAM.clusterCIDRs.",
            },
        ]);
        place.pool("a", poolOf("a", "10.244.1.250"));
        expect(place.events).toHaveLength(2);
    });
});
