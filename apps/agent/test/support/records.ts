import { parsePrefix, parseIp, prefixAt } from "@antrea/ip";
import type { NetworkRecord, PodAddress, PodRecord } from "../../src/platform/pod-interfaces/index.ts";

/** "10.0.0.5/24" as a Pod's address with the first address of its prefix as gateway. */
export function addressOf(text: string): PodAddress {
    const [ip = "", length = ""] = text.split("/");
    return {
        ip: parseIp(ip),
        prefixLength: Number(length),
        gateway: prefixAt(parsePrefix(text, { hostBits: "mask" }), 1n),
    };
}

export const testBootId = "0f4a7c1e-2b3d-4e5f-8a9b-0c1d2e3f4a5b";

/** A record as an ADD makes it. */
export function podRecord(changes: Partial<PodRecord> = {}): PodRecord {
    return {
        containerId: "ab12".repeat(16),
        ifName: "eth0",
        podNamespace: "default",
        podName: "web-0",
        podUid: "5f8b3b0e-8b5a-4a4f-9d5e-0123456789ab",
        netns: "/var/run/netns/cni-1",
        hostIfName: "web-0-abcdef",
        mac: "0a:58:0a:0a:01:05",
        addresses: [addressOf("10.10.1.5/24")],
        vlan: 0,
        bootId: testBootId,
        ...changes,
    };
}

/** A record as an ADD makes it for an interface of the same Pod on a network without IPAM. */
export function networkRecord(changes: Partial<NetworkRecord> = {}): NetworkRecord {
    const { containerId, podNamespace, podName, podUid, netns, bootId } = podRecord();
    return {
        containerId,
        ifName: "eth1",
        podNamespace,
        podName,
        podUid,
        network: "default/net1",
        netns,
        hostIfName: "web-0-fedcba",
        mac: "0a:58:c0:a8:64:05",
        addresses: [],
        vlan: 0,
        mtu: 1500,
        defaultGateways: [],
        bootId,
        ...changes,
    };
}
