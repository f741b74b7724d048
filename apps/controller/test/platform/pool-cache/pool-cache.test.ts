import { afterEach, describe, expect, it } from "@jest/globals";
import { type IpPool } from "@antrea/crd";
import { formatRangeSet, parseIp } from "@antrea/ip";
import { Informer, nodes, type Node, type ServiceCidr } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { PoolCache } from "../../../src/platform/pool-cache/index.ts";
import { FakeApi } from "../../fakes.ts";

function pool(name: string, range: string, gateway: string, generation = 1, vlan = 0): IpPool {
    const [start = "", end = start] = range.split("-");
    return {
        metadata: { name, uid: `uid-${name}`, resourceVersion: `${generation}`, generation },
        spec: { ipVersion: 4, ipRanges: [{ start, end, gateway, prefixLength: 16, vlan }] },
    };
}

function node(name: string, address: string, podCidr: string, version = "1"): Node {
    return {
        metadata: { name, uid: name, resourceVersion: version },
        spec: { podCIDRs: [podCidr, "broken"] },
        status: { addresses: [{ type: "InternalIP", address }] },
    };
}

const services = (...cidrs: readonly string[]): ServiceCidr => ({
    metadata: { name: "kubernetes", uid: "s", resourceVersion: "1" },
    spec: { cidrs },
});

describe("PoolCache", () => {
    let close: (() => Promise<unknown>) | undefined;
    afterEach(async () => close?.());

    async function start(objects: ConstructorParameters<typeof FakeApi>[0]) {
        const fake = new FakeApi(objects);
        const { logger } = new MemoryLog();
        const { signal } = new AbortController();
        const informer = new Informer<Node>({ api: fake.api, logger }, { resource: nodes });
        const cache = new PoolCache({ api: fake.api, nodes: informer, logger });
        informer.start(signal);
        await cache.part.start?.(signal);
        close = () => Promise.all([informer.close(), cache.part.stop?.()]);
        await cache.synced(signal);
        const changes: string[] = [];
        cache.onChange((name, change) => changes.push(`${name} ${change}`));
        const usable = (name: string): string => formatRangeSet(cache.usable(name));
        return { fake, cache, usable, changes: () => changes.splice(0).sort() };
    }

    it("takes addresses of Nodes, podCIDRs, Services and gateways of the same VLAN out of pools, as they come and go", async () => {
        const { fake, usable, changes } = await start({
            ippools: [pool("p", "10.0.0.1-10.0.0.100", "10.0.0.1"), pool("far", "10.1.0.1-10.1.0.9", "10.1.0.10")],
        });
        expect(changes()).toEqual(["far meaning", "p meaning"]);
        expect(usable("p")).toBe("10.0.0.2-10.0.0.100");
        await fake.send("nodes", "ADDED", node("n", "10.0.0.50", "10.0.0.64/26"));
        expect(changes()).toEqual(["p meaning"]);
        expect(usable("p")).toBe("10.0.0.2-10.0.0.49, 10.0.0.51-10.0.0.63");
        // A heartbeat.
        await fake.send("nodes", "MODIFIED", node("n", "10.0.0.50", "10.0.0.64/26", "2"));
        expect(changes()).toEqual([]);
        await fake.send("servicecidrs", "ADDED", services("10.0.0.0/28", "10.1.0.8/29"));
        expect(changes()).toEqual(["far meaning", "p meaning"]);
        expect(usable("p")).toBe("10.0.0.16-10.0.0.49, 10.0.0.51-10.0.0.63");
        expect(usable("far")).toBe("10.1.0.1-10.1.0.7");
        // Its gateway lies in p; that of another VLAN does not count.
        await fake.send("ippools", "ADDED", pool("g", "10.0.9.1-10.0.9.9", "10.0.0.20"));
        await fake.send("ippools", "ADDED", pool("v", "10.0.8.1-10.0.8.9", "10.0.0.30", 1, 7));
        expect(usable("p")).toBe("10.0.0.16-10.0.0.19, 10.0.0.21-10.0.0.49, 10.0.0.51-10.0.0.63");
        changes();
        await fake.send("ippools", "DELETED", pool("g", "10.0.9.1-10.0.9.9", "10.0.0.20"));
        expect(changes()).toEqual(["g meaning", "p meaning"]);
        await fake.send("nodes", "DELETED", node("n", "10.0.0.50", "10.0.0.64/26", "3"));
        expect(usable("p")).toBe("10.0.0.16-10.0.0.100");
    });

    it("takes whole subnets of podCIDRs and Services with host bits, also of a Node with spec.podCIDR alone", async () => {
        const alone: Node = {
            metadata: { name: "n", uid: "n", resourceVersion: "1" },
            spec: { podCIDR: "10.0.0.5/30" },
        };
        const { usable } = await start({
            ippools: [pool("p", "10.0.0.1-10.0.0.15", "10.0.0.1")],
            nodes: [alone],
            servicecidrs: [services("10.0.0.9/29")],
        });
        expect(usable("p")).toBe("10.0.0.2-10.0.0.3");
    });

    it("finds overlaps and the pools of an address, and reports those that a change of another touches", async () => {
        const { fake, cache, changes } = await start({
            ippools: [
                pool("a", "10.0.0.10-10.0.0.19", "10.0.255.1"),
                pool("b", "10.0.0.15-10.0.0.24", "10.0.255.1"),
                pool("c", "10.0.0.30-10.0.0.39", "10.0.255.1"),
            ],
        });
        const overlaps = (name: string): readonly string[] =>
            cache.overlaps(name).map(({ pool: other, common }) => `${other} ${formatRangeSet(common)}`);
        expect(overlaps("a")).toEqual(["b 10.0.0.15-10.0.0.19"]);
        expect(overlaps("c")).toEqual([]);
        expect(cache.covering(parseIp("10.0.0.17"))).toEqual(["a", "b"]);
        expect(cache.covering(parseIp("10.0.0.99"))).toEqual([]);
        changes();
        await fake.send("ippools", "MODIFIED", pool("b", "10.0.0.20-10.0.0.34", "10.0.255.1", 2));
        expect(changes()).toEqual(["a meaning", "b meaning", "c meaning"]);
        expect(overlaps("a")).toEqual([]);
        expect(overlaps("c")).toEqual(["b 10.0.0.30-10.0.0.34"]);
        // Only the status of it.
        const same = pool("b", "10.0.0.20-10.0.0.34", "10.0.255.1", 2);
        await fake.send("ippools", "MODIFIED", { ...same, metadata: { ...same.metadata, resourceVersion: "9" } });
        expect(changes()).toEqual(["b status"]);
        await fake.send("ippools", "DELETED", same);
        expect(changes()).toEqual(["b meaning", "c meaning"]);
        expect([cache.get("b"), cache.object("b"), cache.usable("b").size]).toEqual([undefined, undefined, 0n]);
    });
});
