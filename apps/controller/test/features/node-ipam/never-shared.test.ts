import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { formatPrefix, parsePrefix, prefixesOverlap, type Prefix } from "@antrea/ip";
import { CidrAllocator } from "../../../src/features/node-ipam/cidr-allocator.ts";
import { decodeLedger, encodeLedger } from "../../../src/features/node-ipam/ledger.ts";
import { type NodeIpamSettings } from "../../../src/features/node-ipam/types.ts";

const minute = 60_000;
const settings: NodeIpamSettings = {
    clusters: [
        { prefix: parsePrefix("10.0.0.0/22"), nodeMaskSize: 24 },
        { prefix: parsePrefix("fd00::/62"), nodeMaskSize: 64 },
    ],
    serviceCidrs: [parsePrefix("10.0.3.0/24")],
};

interface ModelNode {
    readonly uid: number;
    podCidrs: readonly string[];
}

/** A patch that was sent to the API server; it may take effect at any time, or never. */
interface Patch {
    readonly name: string;
    readonly uid: number;
    readonly podCidrs: readonly string[];
}

/**
 * The cluster as it really is, and a controller that sees it only through its watches. Deletions that happen while
 * no controller runs are seen by none.
 */
class Model {
    readonly nodes = new Map<string, ModelNode>();
    readonly patches: Patch[] = [];
    /** When a subnet that we gave was last seen on a Node, by subnet. */
    readonly lastUsed = new Map<string, { readonly node: string; readonly atMs: number }>();
    content = encodeLedger({ entries: [], next: [] }, { holder: "", sequence: 0 });
    nowMs = Date.UTC(2030, 0, 1);
    allocator: CidrAllocator | undefined;
    #uid = 0;

    start(): void {
        if (this.allocator !== undefined) return;
        const allocator = new CidrAllocator(settings);
        allocator.load(decodeLedger(this.content).ledger, this.nowMs);
        for (const name of [...allocator.nodes()]) if (!this.nodes.has(name)) allocator.gone(name, this.nowMs);
        for (const [name, node] of this.nodes) allocator.seen(name, node.podCidrs, this.nowMs);
        this.allocator = allocator;
    }

    /** kill -9: what was not recorded is lost. */
    crash(): void {
        this.allocator = undefined;
    }

    record(): void {
        if (this.allocator === undefined) return;
        const snapshot = this.allocator.snapshot();
        this.content = encodeLedger(snapshot, { holder: "m", sequence: 1 });
        this.allocator.recorded(snapshot);
    }

    add(name: string): void {
        if (this.nodes.has(name)) return;
        this.#uid += 1;
        this.nodes.set(name, { uid: this.#uid, podCidrs: [] });
        this.allocator?.seen(name, [], this.nowMs);
    }

    remove(name: string): void {
        const node = this.nodes.get(name);
        if (node === undefined) return;
        this.nodes.delete(name);
        for (const cidr of node.podCidrs) this.lastUsed.set(cidr, { node: name, atMs: this.nowMs });
        this.allocator?.gone(name, this.nowMs);
    }

    /** The controller works on a Node; it sends the patch only of what is recorded. */
    reconcile(name: string, recordFirst: boolean): void {
        const node = this.nodes.get(name);
        if (this.allocator === undefined || node === undefined || node.podCidrs.length > 0) return;
        const assignment = this.allocator.assign(name, this.nowMs);
        if (assignment.kind === "exhausted") return;
        if (!assignment.recorded) {
            if (!recordFirst) return;
            this.record();
        }
        this.patches.push({ name, uid: node.uid, podCidrs: assignment.cidrs.map(formatPrefix) });
    }

    /** One of the patches under way arrives. */
    arrive(index: number, isDelivered: boolean): void {
        const [patch] = this.patches.splice(index % Math.max(1, this.patches.length), 1);
        const node = patch && this.nodes.get(patch.name);
        if (patch === undefined || node === undefined || node.uid !== patch.uid || node.podCidrs.length > 0) return;
        node.podCidrs = patch.podCidrs;
        this.check(patch);
        if (isDelivered) this.allocator?.seen(patch.name, patch.podCidrs, this.nowMs);
    }

    check(patch: Patch): void {
        const given = patch.podCidrs.map((cidr) => parsePrefix(cidr));
        expect(given.map(({ family }) => family)).toEqual([4, 6]);
        const others: (readonly [string, Prefix])[] = [...this.nodes].flatMap(([name, { podCidrs }]) =>
            podCidrs.map((cidr) => [name, parsePrefix(cidr)] as const),
        );
        for (const cidr of given) {
            expect(settings.serviceCidrs.some((service) => prefixesOverlap(service, cidr))).toBe(false);
            for (const [name, other] of others) {
                if (name !== patch.name && prefixesOverlap(cidr, other)) {
                    throw new Error(`${patch.name} shares ${formatPrefix(cidr)} with ${name}`);
                }
            }
            const before = this.lastUsed.get(formatPrefix(cidr));
            if (before !== undefined && before.node !== patch.name) {
                expect(this.nowMs - before.atMs).toBeGreaterThanOrEqual(10 * minute);
            }
        }
    }
}

describe("NodeIPAM", () => {
    it("never shares a subnet, nor gives it away within ten minutes, whatever comes in whatever order", () => {
        const name = fc.nat(5).map((index) => `n${index}`);
        const command = fc.oneof(
            { weight: 6, arbitrary: fc.record({ do: fc.constant("add" as const), name }) },
            { weight: 8, arbitrary: fc.record({ do: fc.constant("serve" as const), name }) },
            { weight: 6, arbitrary: fc.record({ do: fc.constant("remove" as const), name }) },
            {
                weight: 8,
                arbitrary: fc.record({ do: fc.constant("reconcile" as const), name, recordFirst: fc.boolean() }),
            },
            {
                weight: 8,
                arbitrary: fc.record({
                    do: fc.constant("arrive" as const),
                    index: fc.nat(9),
                    isDelivered: fc.boolean(),
                }),
            },
            { weight: 1, arbitrary: fc.record({ do: fc.constant("record" as const) }) },
            { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const) }) },
            { weight: 3, arbitrary: fc.record({ do: fc.constant("start" as const) }) },
            { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.nat(12) }) },
        );
        fc.assert(
            fc.property(fc.array(command, { maxLength: 150, size: "max" }), (commands) => {
                const model = new Model();
                model.start();
                for (const each of commands) {
                    switch (each.do) {
                        case "add":
                            model.add(each.name);
                            break;
                        case "serve":
                            model.add(each.name);
                            model.reconcile(each.name, true);
                            model.arrive(model.patches.length - 1, true);
                            break;
                        case "remove":
                            model.remove(each.name);
                            break;
                        case "reconcile":
                            model.reconcile(each.name, each.recordFirst);
                            break;
                        case "arrive":
                            model.arrive(each.index, each.isDelivered);
                            break;
                        case "record":
                            model.record();
                            break;
                        case "crash":
                            model.crash();
                            break;
                        case "start":
                            model.start();
                            break;
                        case "wait":
                            model.nowMs += each.minutes * minute;
                            break;
                    }
                }
                // When work is quiet every Node has its subnets, up to the last of the three.
                model.start();
                model.nowMs += 60 * minute;
                model.record();
                for (const [node, { podCidrs }] of model.nodes) if (podCidrs.length === 0) model.reconcile(node, true);
                while (model.patches.length > 0) model.arrive(0, true);
                const served = [...model.nodes.values()].filter(({ podCidrs }) => podCidrs.length > 0).length;
                expect(served).toBe(Math.min(model.nodes.size, 3));
            }),
            { numRuns: 300 },
        );
    });
});
