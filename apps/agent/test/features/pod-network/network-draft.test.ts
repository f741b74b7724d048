import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { networkRecordOf, type NetworkDraft } from "../../../src/features/pod-network/network-draft.ts";
import { draftMacOf, macOf } from "../../../src/features/pod-network/names.ts";
import type { NetworkAddress } from "../../../src/platform/pod-interfaces/index.ts";
import { testBootId } from "../../support/records.ts";

const of = (ip: string, pool: string, vlan = 0): NetworkAddress => ({
    ip: parseIp(ip),
    prefixLength: ip.includes(":") ? 64 : 24,
    gateway: parseIp(ip.includes(":") ? "fd00::1" : "192.168.1.1"),
    vlan,
    pool,
});
const demand = { pool: "", fixed: undefined };

function record(claimed: readonly NetworkAddress[], change: Partial<NetworkDraft["planned"]> = {}): unknown {
    const draft: NetworkDraft = {
        containerId: "c1",
        ifName: "eth1",
        podNamespace: "default",
        podName: "web",
        podUid: "uid",
        netns: "/run/netns/a",
        hostIfName: "web-1",
        planned: {
            ifName: "eth1",
            network: "default/net1",
            vlan: undefined,
            mtu: 1500,
            mac: undefined,
            addresses: { demands: claimed.map(() => demand), order: claimed.map((_, at) => at), given: new Map() },
            routes: [],
            dns: undefined,
            defaultGateways: [],
            ...change,
        },
    };
    return networkRecordOf(draft, claimed, testBootId);
}

describe("the VLAN of an interface", () => {
    const [seven, eight] = [of("192.168.1.7", "a", 7), of("192.168.1.8", "b", 8)];

    it("is that of the network, else that of its IPPools", () => {
        expect(record([seven, eight], { vlan: 100 })).toMatchObject({ vlan: 100 });
        expect(record([seven])).toMatchObject({ vlan: 7 });
        expect(record([])).toMatchObject({ vlan: 0 });
    });

    it("is refused where its IPPools have several", () => {
        expect(() => record([seven, eight])).toThrow(
            /^network default\/net1: its IPPools a and b have the VLANs 7 and 8, .*; next: set vlan in the network/,
        );
    });
});

describe("an MTU under 1280", () => {
    it("is refused with an address of IPv6, whatever IPPool it is from", () => {
        const claimed = [of("192.168.1.7", "a"), of("fd00::7", "b")];
        expect(() => record(claimed, { mtu: 1279 })).toThrow(
            /^network default\/net1: mtu: 1279 is under 1280, the minimum of IPv6 \(RFC 8200\); next: raise it, or use IPv4 only$/,
        );
        expect(record(claimed, { mtu: 1280 })).toMatchObject({ mtu: 1280 });
    });

    it("is no matter of IPv4", () => {
        expect(record([of("192.168.1.7", "a")], { mtu: 68 })).toMatchObject({ mtu: 68 });
    });
});

describe("the MAC address", () => {
    const at = { ip: parseIp("192.168.1.9"), prefixLength: 24, gateway: undefined };
    const fixed = { demands: [], order: [at], given: new Map() };

    it("is made of the first address of an IPPool, also behind a static one", () => {
        const addresses = { demands: [demand], order: [at, 0], given: new Map() };
        expect(record([of("192.168.1.7", "a")], { addresses })).toMatchObject({ mac: macOf(parseIp("192.168.1.7")) });
    });

    it("is of a hash with static addresses only, as several Pods may have these", () => {
        expect(record([], { addresses: fixed })).toMatchObject({ mac: draftMacOf("c1/eth1") });
    });
});
