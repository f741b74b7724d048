import type { IpAddress } from "@antrea/ip";
import { attachmentKey } from "./attachment.ts";
import type { PodRecord } from "./record.ts";

/** A Pod interface that is wired, or being wired by an ADD. Immutable: a change replaces the object in the table. */
export interface PodInterface {
    readonly record: PodRecord;
    /** OpenFlow port number, which may change when OVS restarts. */
    readonly ofPort: number;
    /**
     * Completion time of its last ADD, in milliseconds of the monotonic clock; Infinity while one is in progress, 0 for
     * a rebuilt interface.
     */
    readonly addedAt: number;
}

/** What the flows of a VLAN need of a bridged interface with IPPool addresses; made by `bridgedPod`. */
export interface BridgedPod extends Pick<PodRecord, "vlan" | "mac">, Pick<PodInterface, "ofPort"> {
    /** Of the interface, see `attachmentKey`. */
    readonly key: string;
    readonly ips: readonly IpAddress[];
}

/** The bridged Pod of a record with IPPool addresses and its OpenFlow port number. Pure function. */
export function bridgedPod(record: PodRecord, ofPort: number): BridgedPod {
    const { vlan, mac, addresses } = record;
    return { key: attachmentKey(record), vlan, ofPort, mac, ips: addresses.map(({ ip }) => ip) };
}
