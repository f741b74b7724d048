import type { IpAddress } from "@antrea/ip";
import { attachmentKey } from "./attachment.ts";
import type { PodRecord } from "./record.ts";

/** A wired interface. */
export interface PodInterface {
    readonly record: PodRecord;
    readonly ofPort: number;
    /** When its last ADD was answered; Infinity while one is under way, 0 for an interface that was rebuilt. */
    readonly addedAt: number;
}

/** An interface with addresses of IPPools that live in the underlay, as its VLAN sees it. */
export interface BridgedPod extends Pick<PodRecord, "vlan" | "mac">, Pick<PodInterface, "ofPort"> {
    /** See `attachmentKey`. */
    readonly key: string;
    readonly ips: readonly IpAddress[];
}

export function bridgedPod(record: PodRecord, ofPort: number): BridgedPod {
    const { vlan, mac, addresses } = record;
    return { key: attachmentKey(record), vlan, ofPort, mac, ips: addresses.map(({ ip }) => ip) };
}
