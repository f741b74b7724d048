import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type IpAllocation } from "@antrea/crd";
import { RangeSet, rangeOf, parseIp, parsePrefix, prefixRange } from "@antrea/ip";
import { claimedBlocks } from "../../../src/platform/allocations/claimed-blocks.ts";
import {
    type BlockAllocations,
    type Allocation,
    type AllocationCache,
} from "../../../src/platform/allocations/index.ts";
import { allocation, cacheOf, ownedBySet } from "../../fakes.ts";

function blockOf(cache: AllocationCache, text: string): BlockAllocations | undefined {
    return [...cache.blocksIn(prefixRange(parsePrefix(text)))][0]?.[1];
}

/** Everything that the cache has, as text. */
function contents(cache: AllocationCache): unknown {
    const names = (allocations: Iterable<Allocation>): readonly string[] =>
        [...allocations].map(({ metadata }) => metadata.name).sort();
    return {
        blocks: ["10.0.0.0/24", "10.0.1.0/24"].map((text) => {
            const block = blockOf(cache, text);
            return block && [block.allocated, block.reserved, names(block.allocations)];
        }),
        sets: [...cache.sets].sort().map((key) => [key, names(cache.ofSet(key))]),
        nodes: [...cache.nodesInUse].sort().map((node) => [node, names(cache.usedOn(node))]),
        held: [...cache.holders].sort().map((node) => [node, names(cache.heldBy(node))]),
    };
}

describe("AllocationCache", () => {
    it("finds allocations by block, StatefulSet and Node", async () => {
        const { cache } = await cacheOf([
            allocation("10.0.0.1", "p", { node: "n1" }),
            allocation("10.0.0.2", "p", { owner: ownedBySet("web", 0) }),
            allocation("10.0.1.1", "q", { node: "n2", owner: ownedBySet("web", 1) }),
            allocation("10.0.1.2", "q", { owner: { kind: "Node", name: "n3" } }),
        ]);
        expect(contents(cache)).toEqual({
            blocks: [
                [1, 1, ["10.0.0.1", "10.0.0.2"]],
                [1, 1, ["10.0.1.1", "10.0.1.2"]],
            ],
            sets: [["ns/web", ["10.0.0.2", "10.0.1.1"]]],
            nodes: [
                ["n1", ["10.0.0.1"]],
                ["n2", ["10.0.1.1"]],
            ],
            held: [["n3", ["10.0.1.2"]]],
        });
        expect(cache.get("10.0.0.2")?.owner.index).toBe(0);
        await cache.part.stop?.();
    });

    it("counts allocations of unknown kinds of owners as taken, and gives them to nobody who frees", async () => {
        const owner = { kind: "Lease", namespace: "ns", name: "web", index: 0 } as never;
        const { cache } = await cacheOf([
            allocation("10.0.0.1", "p", { node: "n1", owner }),
            allocation("10.0.0.2", "p", { owner }),
        ]);
        expect(contents(cache)).toEqual({
            blocks: [[1, 1, ["10.0.0.1", "10.0.0.2"]], undefined],
            sets: [],
            nodes: [],
            held: [],
        });
        await cache.part.stop?.();
    });

    it("is the same whether allocations were listed or watched one by one", async () => {
        const last = fc.integer({ min: 0, max: 3 });
        const shapes = fc.constantFrom<Parameters<typeof allocation>[2]>(
            { node: "n1" },
            { node: "n2", owner: ownedBySet("web", 0) },
            { owner: ownedBySet("web", 0) },
            { owner: { kind: "Node", name: "n1" } },
        );
        const step = fc.record({
            third: fc.integer({ min: 0, max: 1 }),
            last,
            pool: fc.constantFrom("p", "q"),
            shape: shapes,
            gone: fc.boolean(),
        });
        await fc.assert(
            fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
                const { cache, send } = await cacheOf([]);
                const actual = new Map<string, IpAllocation>();
                let version = 10;
                for (const { third, last: end, pool, shape, gone } of steps) {
                    version += 1;
                    const object = allocation(`10.0.${third}.${end}`, pool, { ...shape, version: `${version}` });
                    const name = object.metadata?.name ?? "";
                    if (gone && !actual.has(name)) continue;
                    await send(gone ? "DELETED" : actual.has(name) ? "MODIFIED" : "ADDED", object);
                    if (gone) actual.delete(name);
                    else actual.set(name, object);
                }
                const { cache: listed } = await cacheOf([...actual.values()]);
                expect(contents(cache)).toEqual(contents(listed));
                await Promise.all([cache.part.stop?.(), listed.part.stop?.()]);
            }),
            { numRuns: 30 },
        );
    });

    it("reports what was and what is, after its own update", async () => {
        const { cache, send } = await cacheOf([allocation("10.0.0.1", "p", { owner: ownedBySet("web", 0) })]);
        const notified: string[] = [];
        const state = (object: Allocation | undefined): string =>
            object === undefined ? "-" : object.pod === undefined ? "R" : "A";
        cache.onChange((before, after) => {
            notified.push(`${state(before)}>${state(after)} ${blockOf(cache, "10.0.0.0/24")?.allocated ?? 0}`);
        });
        await send("MODIFIED", allocation("10.0.0.1", "p", { node: "n1", owner: ownedBySet("web", 0), version: "2" }));
        await send("DELETED", allocation("10.0.0.1", "p", { node: "n1", owner: ownedBySet("web", 0), version: "3" }));
        expect(notified).toEqual(["->R 0", "R>A 1", "A>- 0"]);
        await cache.part.stop?.();
    });
});

describe("claimedBlocks", () => {
    it("counts allocations of usable addresses, whichever pool they name, as counting one by one does", async () => {
        const address = fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 0, max: 255 }));
        await fc.assert(
            fc.asyncProperty(
                fc.uniqueArray(address, { maxLength: 40, selector: ([third, last]) => third * 256 + last }),
                fc.integer({ min: 0, max: 700 }),
                fc.integer({ min: 0, max: 300 }),
                async (addresses, first, size) => {
                    const allocations = addresses.map(([third, last]) =>
                        allocation(
                            `10.0.${third}.${last}`,
                            // one of them is gone, or has other ranges now: nobody can say which
                            last % 2 === 0 ? "p" : "gone",
                            last % 3 === 0 ? {} : { node: "n" },
                        ),
                    );
                    const { cache } = await cacheOf(allocations);
                    const base = parseIp("10.0.0.0").value + BigInt(first);
                    const usable = RangeSet.of([
                        rangeOf({ family: 4, value: base }, { family: 4, value: base + BigInt(size) }),
                    ]);
                    let [allocated, reserved] = [0, 0];
                    for (const block of claimedBlocks(usable, cache).values()) {
                        allocated += block.allocated;
                        reserved += block.reserved;
                    }
                    const inside = allocations.filter(({ spec }) => usable.has(parseIp(spec.address)));
                    expect(allocated).toBe(inside.filter(({ spec }) => spec.state === "Allocated").length);
                    expect(reserved).toBe(inside.length - allocated);
                    await cache.part.stop?.();
                },
            ),
            { numRuns: 40 },
        );
    });
});
