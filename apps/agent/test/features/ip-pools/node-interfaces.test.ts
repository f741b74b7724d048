import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, formatPrefix, parseIp, parsePrefix } from "@antrea/ip";
import { heldOwner, NodeSubnet } from "../../../src/features/pod-network/node-subnet.ts";
import { isolatedInterfaces } from "../../../src/features/ip-pools/node-interfaces.ts";
import { guardedPrefixes, recordAllocations, type IpPools } from "../../../src/features/ip-pools/index.ts";
import { addressOf, podRecord } from "../../support/records.ts";

describe("where claims of others concern a Node", () => {
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

    it("is its podCIDRs, and where in them its Pods are: a podCIDR may have too many blocks to look at all", () => {
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

describe("the claims of a record", () => {
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
