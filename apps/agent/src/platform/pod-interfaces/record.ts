import type { IpAddress } from "@antrea/ip";
import type { PodAttachment } from "./attachment.ts";

/** One address of an interface, with all that it is configured by. */
export interface InterfaceAddress {
    readonly ip: IpAddress;
    readonly prefixLength: number;
    readonly gateway: IpAddress;
}

/** One address of a Pod interface, with all that ADD's answer needs, so that nothing is looked up again later. */
export interface PodAddress extends InterfaceAddress {
    /**
     * The IPPool that it is claimed from; undefined for an address of this Node's subnet, "" when the database was lost
     * and nobody has told yet.
     */
    readonly pool?: string | undefined;
}

/**
 * The record of one Pod interface. OVSDB holds it in the external_ids of the port; the alias of the host end of the
 * veth pair repeats what is needed to rebuild it when the database is lost.
 */
export interface PodRecord extends PodAttachment {
    readonly netns: string;
    readonly hostIfName: string;
    readonly mac: string;
    readonly addresses: readonly PodAddress[];
    /** VLAN of the addresses; 0 is untagged. */
    readonly vlan: number;
    /** /proc/sys/kernel/random/boot_id of when the interface was made: namespaces do not outlive a boot. */
    readonly bootId: string;
    /**
     * The interface has no flows and no route, because its address is, or may soon be, another's. In the record, so that
     * an agent that starts again knows it without the API server.
     */
    readonly isolated?: boolean | undefined;
    /**
     * The name of the CNI network that the interface belongs to; after the database was lost, what is left of it, see
     * `isOfNetwork`. Undefined in the record of an agent that did not write it: to GC such a one is of the network of the
     * Node's configuration.
     */
    readonly network?: string | undefined;
}

/** True when addresses of the record are claimed from IPPools. */
export function isPoolRecord(record: Pick<PodRecord, "addresses">): boolean {
    return record.addresses.some((address) => address.pool !== undefined);
}
