import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, parseIp, parsePrefix } from "@antrea/ip";
import { NetlinkError } from "@antrea/netlink";
import { heldOwner, NodeSubnet } from "../../../src/features/pod-network/node-subnet.ts";
import { isolatedInterfaces, poolWiring, subnetWiring } from "../../../src/features/ip-pools/node-interfaces.ts";
import { isDelegated } from "../../../src/features/ip-pools/allocations.ts";
import { guardedPrefixes, recordAllocations, type IpPools } from "../../../src/features/ip-pools/index.ts";
import type { Wiring } from "../../../src/features/ip-pools/wiring.ts";
import {
    NetworkInterfaces,
    PodInterfaces,
    type InterfaceControl,
    type NetworkRecord,
} from "../../../src/platform/pod-interfaces/index.ts";
import { addressOf, networkRecord, podRecord } from "../../support/records.ts";

describe("where allocations of others concern a Node", () => {
    const podPrefixes = [parsePrefix("10.10.1.0/24"), parsePrefix("fd10:10:0:1::/64")];

    function guarded(...pods: readonly { readonly addresses: readonly string[]; readonly pool?: string }[]): string[] {
        const known = pods.map(({ addresses, pool }) => ({
            record: podRecord({
                addresses: addresses.map((text) => ({ ...addressOf(text), ...(pool !== undefined && { pool }) })),
            }),
            ofPort: 32784,
            addedAt: 0,
        }));
        return guardedPrefixes(podPrefixes, { list: () => known }, subnet).map(formatPrefix);
    }

    let subnet: NodeSubnet;
    beforeEach(() => {
        subnet = new NodeSubnet(podPrefixes, () => 0n);
    });

    it("and what is held in them for Pods whose interfaces are gone, as after a reboot", () => {
        for (const text of ["10.10.1.77", "fd10:10:0:1::a005"]) subnet.take(parseIp(text), heldOwner("uid-1"));
        expect(guarded({ addresses: ["10.10.1.77/24"] })).toEqual([
            "10.10.1.0/24",
            "fd10:10:0:1::/64",
            "10.10.1.77/32",
            "fd10:10:0:1::a005/128",
        ]);
    });

    it("is its podCIDRs, and where in them its Pods are: a podCIDR may have too many blocks to check all", () => {
        expect(guarded()).toEqual(["10.10.1.0/24", "fd10:10:0:1::/64"]);
        expect(guarded({ addresses: ["10.10.1.5/24", "fd10:10:0:1::a005/64"] })).toEqual([
            "10.10.1.0/24",
            "fd10:10:0:1::/64",
            "10.10.1.5/32",
            "fd10:10:0:1::a005/128",
        ]);
    });

    it("and each address that a Pod has kept of an earlier podCIDR, but none of a pool", () => {
        const earlier = { addresses: ["10.10.7.5/24", "fd10:10:0:7::5/64"] };
        expect(guarded(earlier, { addresses: ["10.2.0.12/24"], pool: "pool1" })).toEqual([
            "10.10.1.0/24",
            "fd10:10:0:1::/64",
            "10.10.7.5/32",
            "fd10:10:0:7::5/128",
        ]);
    });
});

describe("what is reported as isolated", () => {
    it("is each interface that is and is not being removed, of pools and of the podCIDR", () => {
        const known = ["isolated", "leaving", "connected", "of podCIDR"].map((podName, at) => {
            const address = { ...addressOf(`10.2.0.${at}/24`), ...(podName !== "of podCIDR" && { pool: "pool1" }) };
            return {
                record: podRecord({ containerId: podName, podName, addresses: [address] }),
                ofPort: 32784 + at,
                addedAt: 0,
            };
        });
        const found = isolatedInterfaces({
            list: () => known,
            isIsolated: ({ containerId }) => containerId !== "connected",
            isLeaving: ({ containerId }) => containerId === "leaving",
        });
        expect(found.map(({ podName, addresses }) => [podName, ...addresses.map(formatIp)])).toEqual([
            ["isolated", "10.2.0.0"],
            ["of podCIDR", "10.2.0.3"],
        ]);
    });
});

describe("the allocations of a record", () => {
    const record = podRecord({ addresses: [addressOf("10.2.0.7/24"), addressOf("fd02::7/64")] });

    it.each([
        ["cover it when each of its addresses is claimed for it", ["10.2.0.7", "fd02::7"], true],
        ["do not when one is not", ["10.2.0.7"], false],
    ])("%s", (_what, claimed, isCovered) => {
        const hasAllocations: IpPools["hasAllocations"] = ({ containerId, ifName, podUid }, ips) =>
            [containerId, ifName, podUid].join() === [record.containerId, record.ifName, record.podUid].join() &&
            ips.every((ip) => claimed.includes(formatIp(ip)));
        const own = { synced: () => Promise.resolve() } as unknown as IpPools["own"];
        expect(recordAllocations({ own, hasAllocations }).cover(record)).toBe(isCovered);
    });
});

describe("the interfaces on networks, as the reconcile of allocations uses them", () => {
    const own = podRecord({
        containerId: "c1",
        podUid: "uid",
        addresses: [{ ...addressOf("10.2.0.5/24"), pool: "pool1" }],
    });
    const pooled = { ...addressOf("10.3.0.5/24"), pool: "pool2" };
    const isStatic = { ...addressOf("10.9.0.5/24"), pool: undefined };
    const recordOf = (change: Partial<NetworkRecord> = {}): NetworkRecord =>
        networkRecord({
            containerId: "c1",
            podUid: "uid",
            hostIfName: "web-0-eth1",
            addresses: [pooled, isStatic],
            vlan: 100,
            ...change,
        });
    const eth1 = { containerId: "c1", ifName: "eth1" } as Parameters<Wiring["isIsolated"]>[0];
    const eth0 = { containerId: "c1", ifName: "eth0" } as Parameters<Wiring["isIsolated"]>[0];

    let podInterfaces: PodInterfaces;
    let networks: NetworkInterfaces;
    let links: Set<string>;
    let done: string[];
    let wiring: Wiring;

    beforeEach(() => {
        [podInterfaces, networks, links, done] = [new PodInterfaces(), new NetworkInterfaces(), new Set(), []];
        const put = (isolated: boolean): InterfaceControl["isolate"] => {
            return ({ record: { ifName } }) => Promise.resolve(void done.push(`${ifName} ${isolated}`));
        };
        const control: InterfaceControl = {
            exclusively: (_, work) => work(),
            isAdding: (id) => id === "adding",
            onAddsEnd: () => undefined,
            isolate: put(true),
            reconnect: put(false),
            setNetworkIsolated: ({ ifName }, isolated) => Promise.resolve(void done.push(`${ifName} ${isolated}`)),
        };
        const netlink = {
            link: async (name: string) => {
                await Promise.resolve();
                // As the kernel does it.
                if (name === "") throw new NetlinkError("BAD_ARGUMENT", "caller", "a link needs a name");
                return links.has(name) ? { name } : undefined;
            },
        };
        wiring = poolWiring({ podInterfaces, networks, control, netlink: netlink as never });
        podInterfaces.put({ record: own, ofPort: 7, addedAt: 0 });
    });

    it("whose network nothing names any more are still of one that this agent attaches", () => {
        networks.put(recordOf({ network: "" }));
        const found = wiring.find(eth1);
        expect(isDelegated({ spec: { pod: { network: found?.network } } } as never)).toBe(false);
        expect(found?.network).toBe("unknown/unknown");
    });

    it("are listed beside the Pods' own with the addresses that are allocated, their network, and no VLAN", () => {
        const ownSettings = { ...pooled, gateway: undefined };
        networks.put(recordOf({ addresses: [pooled, isStatic, ownSettings] }));
        networks.put(recordOf({ ifName: "eth2", addresses: [isStatic] }));
        networks.put(recordOf({ ifName: "eth3", addresses: [] }));
        expect(wiring.interfaces().map(({ ifName, network }) => [ifName, network])).toEqual([
            ["eth0", undefined],
            ["eth1", "default/net1"],
        ]);
        expect(wiring.interfaces()[1]).toEqual({
            containerId: "c1",
            ifName: "eth1",
            podNamespace: "default",
            podName: "web-0",
            podUid: "uid",
            vlan: undefined,
            network: "default/net1",
            addresses: [pooled, ownSettings],
        });
        expect(wiring.interfaces().map((one) => wiring.find(one))).toEqual(wiring.interfaces());
        for (const ifName of ["eth2", "eth3", "eth4"])
            expect(wiring.find({ containerId: "c1", ifName })).toBeUndefined();
    });

    it("are listed while they are being removed: their addresses are in use until then", () => {
        networks.put(recordOf());
        networks.leave(eth1, "release");
        expect(wiring.interfaces()).toHaveLength(2);
        networks.remove(eth1);
        expect(wiring.interfaces()).toHaveLength(1);
    });

    it("are wired with addresses of any source; not while none is known, nor for a Pod whose UID is not known", () => {
        networks.put(recordOf({ addresses: [isStatic] }));
        networks.put(recordOf({ ifName: "eth2", podUid: "" }));
        networks.put(recordOf({ ifName: "eth3", addresses: [] }));
        const asked = ["uid eth0", "uid eth1", "uid eth2", "uid eth3", "other eth1", " eth2"].map((text) => {
            const [podUid = "", ifName = ""] = text.split(" ");
            return wiring.isWired(podUid, ifName);
        });
        expect(asked).toEqual([true, true, false, false, false, false]);
    });

    it("of several other containers of the Pod the oldest counts", () => {
        for (const [containerId, addedAt] of [
            ["c2", 20],
            ["c3", 10],
        ] as const)
            podInterfaces.put({ record: { ...own, containerId, hostIfName: containerId }, ofPort: 8, addedAt });
        expect([wiring.otherContainerSince("uid", "c1"), wiring.otherContainerSince("uid", "c3")]).toEqual([10, 0]);
    });

    it("are those of a container; another one of the Pod counts when its ADD is answered, until its removal", () => {
        const next = { ...own, containerId: "c2", hostIfName: "web-0-next" };
        const hasOther = (): readonly boolean[] =>
            [wiring.otherContainerSince("uid", "c1"), wiring.otherContainerSince("uid", "c2")]
                .concat(wiring.otherContainerSince("", "c2"))
                .map((since) => since !== undefined);
        expect(hasOther()).toEqual([false, true, false]);
        podInterfaces.put({ record: next, ofPort: 8, addedAt: Infinity });
        expect(hasOther()).toEqual([false, true, false]);
        podInterfaces.put({ record: next, ofPort: 8, addedAt: 5 });
        expect(hasOther()).toEqual([true, true, false]);
        podInterfaces.leave(next, "keep");
        expect(hasOther()).toEqual([false, true, false]);
    });

    it("have traffic with an allocated address unless they are isolated or being removed", () => {
        const isConnected = (): readonly boolean[] =>
            ["10.2.0.5", "10.3.0.5", "10.9.0.5", "10.3.0.6"].map((text) => wiring.isConnected(parseIp(text)));
        networks.put(recordOf());
        expect(isConnected()).toEqual([true, true, false, false]);
        networks.put(recordOf({ isolated: true }));
        expect(isConnected()).toEqual([true, false, false, false]);
        networks.put(recordOf());
        networks.leave(eth1, "keep");
        expect(isConnected()).toEqual([true, false, false, false]);
    });

    it("are isolated, also again, and reconnected by their own means, apart from the Pods' own", async () => {
        networks.put(recordOf());
        expect(wiring.isIsolated(eth1)).toBe(false);
        await wiring.isolate(eth1);
        await wiring.reconnect(eth1);
        expect(done).toEqual(["eth1 true"]);
        networks.put(recordOf({ isolated: true }));
        expect([wiring.isIsolated(eth1), wiring.isIsolated(eth0)]).toEqual([true, false]);
        await wiring.isolate(eth1);
        await wiring.reconnect(eth1);
        expect(done).toEqual(["eth1 true", "eth1 true", "eth1 false"]);
        await wiring.isolate(eth0);
        podInterfaces.put({ record: { ...own, isolated: true }, ofPort: 7, addedAt: 0 });
        await wiring.reconnect(eth0);
        expect(done.slice(3)).toEqual(["eth0 true", "eth0 false"]);
    });

    it("exist as long as their link does", async () => {
        networks.put(recordOf());
        links.add("web-0-eth1");
        expect(await Promise.all([eth1, eth0].map((one) => wiring.linkExists(one)))).toEqual([true, false]);
        networks.remove(eth1);
        expect(await wiring.linkExists(eth1)).toBe(false);
    });

    it("exist, as virtual functions, which have no end on the Node, as long as the link of the Pod's own interface does", async () => {
        networks.put(recordOf({ hostIfName: "" }));
        expect(await wiring.linkExists(eth1)).toBe(false);
        links.add(own.hostIfName);
        expect(await wiring.linkExists(eth1)).toBe(true);
    });

    it("are none of the podCIDRs", () => {
        networks.put(recordOf({ addresses: [isStatic] }));
        const ofSubnet = podRecord({ containerId: "c2" });
        podInterfaces.put({ record: ofSubnet, ofPort: 8, addedAt: 0 });
        const components = { podInterfaces, networks, control: {} as InterfaceControl, netlink: {} as never };
        expect(
            subnetWiring(components)
                .interfaces()
                .map(({ containerId }) => containerId),
        ).toEqual(["c2"]);
    });

    it("are none without such networks", () => {
        const components = { podInterfaces, control: {} as InterfaceControl, netlink: {} as never };
        const without = poolWiring(components);
        expect(without.interfaces().map(({ ifName }) => ifName)).toEqual(["eth0"]);
        expect([
            without.isWired("uid", "eth1"),
            without.isConnected(parseIp("10.3.0.5")),
            without.isIsolated(eth1),
        ]).toEqual([false, false, false]);
    });
});
