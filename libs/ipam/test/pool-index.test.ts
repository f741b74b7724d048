import { describe, expect, it } from "@jest/globals";
import { formatRangeSet, parseIp, RangeSet, rangeOf } from "@antrea/ip";
import * as fc from "fast-check";
import {
    clusterAddresses,
    Exclusions,
    PoolIndex,
    rangesOf,
    type ClusterAddresses,
    type NodeWithAddresses,
    type Pool,
} from "../src/index.ts";
import { pool, range } from "./objects.ts";

const nodeOf = (address: string, podCIDR?: string): NodeWithAddresses => ({
    spec: { ...(podCIDR !== undefined && { podCIDR }) },
    status: { addresses: [{ type: "InternalIP", address }] },
});

function indexOf(...pools: readonly Pool[]): {
    readonly index: PoolIndex;
    readonly usable: (name: string) => string;
    readonly change: (nodes: readonly NodeWithAddresses[], services?: readonly string[]) => readonly string[];
} {
    let cluster: ClusterAddresses = clusterAddresses([]);
    const index = new PoolIndex(() => cluster);
    for (const one of pools) index.set(one);
    return {
        index,
        usable: (name) => formatRangeSet(index.usable(name)),
        change: (nodes, cidrs = []) => {
            const before = cluster;
            cluster = clusterAddresses(nodes, [{ spec: { cidrs } }]);
            return [...index.clusterChanged([...rangesOf(before), ...rangesOf(cluster)])].sort();
        },
    };
}

describe("PoolIndex", () => {
    it("has pools by name, range and address", () => {
        const [a, b] = [pool("a", "10.1.0.10-10.1.0.19"), pool("b", "10.1.0.15-10.1.0.24", "10.1.0.30")];
        const { index } = indexOf(b, a);
        expect([index.size, [...index.names], [...index.all()]]).toEqual([2, ["b", "a"], [b, a]]);
        expect([index.pool("a"), index.pool("c")]).toEqual([a, undefined]);
        expect(index.covering(parseIp("10.1.0.17"))).toEqual(["a", "b"]);
        expect(index.covering(parseIp("10.1.0.30"))).toEqual(["b"]);
        expect(index.covering(parseIp("10.1.0.99"))).toEqual([]);
        const found = index.overlapping(rangeOf(parseIp("10.1.0.20"), parseIp("10.1.0.40")));
        expect(found.map(({ key }) => key)).toEqual(["b", "b"]);
        expect(index.overlaps("a").map(({ pool: name, common }) => `${name} ${formatRangeSet(common)}`)).toEqual([
            "b 10.1.0.15-10.1.0.19",
        ]);
        index.delete("b");
        expect([index.size, index.pool("b"), index.overlaps("a"), index.overlaps("b")]).toEqual([1, undefined, [], []]);
    });

    it("finds the pools that may hand out an address, once it is no more of a Node or Service, but not their gateways", () => {
        const { index, change } = indexOf(pool("b", "10.1.0.0-10.1.0.19"), pool("a", "10.1.0.10-10.1.0.24"));
        const names = (ip: string): readonly string[] => index.handingOut(parseIp(ip));
        expect([names("10.1.0.1"), names("10.1.0.12"), names("10.1.0.99")]).toEqual([[], ["a", "b"], []]);
        change([nodeOf("10.1.0.12")], ["10.1.0.16/30"]);
        expect([names("10.1.0.12"), names("10.1.0.17"), names("10.1.0.20")]).toEqual([["a", "b"], ["a", "b"], ["a"]]);
    });

    it("keeps what a pool hands out the same object until a change concerns it", () => {
        const { index, usable, change } = indexOf(pool("near", "10.1.0.10-10.1.0.19"), pool("far", "10.1.0.50"));
        const [near, far] = [index.usable("near"), index.usable("far")];
        expect(change([nodeOf("10.1.0.12")])).toEqual(["near"]);
        expect([usable("near"), index.usable("far") === far]).toEqual([
            "10.1.0.10-10.1.0.11, 10.1.0.13-10.1.0.19",
            true,
        ]);
        expect(change([])).toEqual(["near"]);
        expect(formatRangeSet(index.usable("near"))).toBe(formatRangeSet(near));
        expect(change([], ["10.1.0.48/28"])).toEqual(["far"]);
        expect(usable("far")).toBe("");
        expect([...index.clusterChanged()].sort()).toEqual(["far", "near"]);
    });

    it("counts gateways of other pools of the VLAN, as the pools come, change and go", () => {
        const { index, usable } = indexOf(pool("p", "10.1.0.10-10.1.0.12"));
        const router = (vlan: number): Pool => pool("g", range("10.1.0.200", { gateway: "10.1.0.11", vlan }));
        expect([...index.set(router(0))].sort()).toEqual(["g", "p"]);
        expect(usable("p")).toBe("10.1.0.10, 10.1.0.12");
        expect([...index.set(router(7))].sort()).toEqual(["g", "p"]);
        expect(usable("p")).toBe("10.1.0.10-10.1.0.12");
        index.set(router(0));
        expect([...index.delete("g")].sort()).toEqual(["g", "p"]);
        expect([usable("p"), index.usable("g")]).toEqual(["10.1.0.10-10.1.0.12", RangeSet.empty]);
    });

    it("knows the same after any changes as one that is made of what there is then", () => {
        const address = fc.nat(15).map((at) => `10.1.0.${at + 8}`);
        const aPool = fc
            .record({
                name: fc.constantFrom("a", "b", "c"),
                from: fc.nat(12),
                size: fc.nat(3),
                gateway: address,
                vlan: fc.nat(1),
            })
            .map(({ name, from, size, gateway, vlan }) =>
                pool(name, range(`10.1.0.${from + 8}-10.1.0.${from + 8 + size}`, { gateway, vlan })),
            );
        const step = fc.oneof(
            aPool.map((one) => ({ set: one })),
            fc.constantFrom("a", "b", "c").map((name) => ({ delete: name })),
            fc.array(address, { maxLength: 2 }).map((nodes) => ({ nodes })),
        );
        fc.assert(
            fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
                const { index, usable, change } = indexOf();
                let nodes: readonly NodeWithAddresses[] = [];
                for (const one of steps) {
                    if ("set" in one) index.set(one.set);
                    else if ("delete" in one) index.delete(one.delete);
                    else change((nodes = one.nodes.map((ip) => nodeOf(ip))));
                    const exclusions = new Exclusions(clusterAddresses(nodes), index.all());
                    for (const each of index.all()) {
                        expect(usable(each.name)).toBe(formatRangeSet(exclusions.usable(each)));
                    }
                }
            }),
        );
    });
});
