import type { IpAddress } from "@antrea/ip";
import type { PodAttachment } from "./attachment.ts";
import type { NetworkRecord } from "./network-record.ts";

/** One address of an interface with the length of its subnet's prefix, in bits, and its default gateway. */
export interface InterfaceAddress {
    readonly ip: IpAddress;
    readonly prefixLength: number;
    readonly gateway: IpAddress;
}

/**
 * One address of a Pod interface with everything that the result of ADD needs, so that nothing is looked up again
 * later.
 */
export interface PodAddress extends InterfaceAddress {
    /**
     * The IPPool from which it is allocated; undefined for an address of the Node's podCIDRs, "" if the database was
     * lost and the pool is not known yet.
     */
    readonly pool?: string | undefined;
}

/**
 * The record of one Pod interface. It is stored in the external_ids of its OVSDB port; the alias of the host end of the
 * veth pair repeats what is needed to rebuild it if the database is lost.
 */
export interface PodRecord extends PodAttachment {
    /** Path of the network namespace, as CNI passed it; "" in a record rebuilt from its link. */
    readonly netns: string;
    /** The host end of the veth pair, which is also the name of the OVS port. */
    readonly hostIfName: string;
    /** Of the Pod's end, as text like 0a:59:0a:0a:00:01. */
    readonly mac: string;
    readonly addresses: readonly PodAddress[];
    /** VLAN of the addresses; 0 is untagged. */
    readonly vlan: number;
    /** /proc/sys/kernel/random/boot_id at the creation of the interface: namespaces do not outlive a boot. */
    readonly bootId: string;
    /**
     * The interface has no flows and no route, because its address belongs to another Pod, or may soon. Stored so that
     * a restarted agent knows it without the API server. Default false.
     */
    readonly isolated?: boolean | undefined;
    /**
     * The name of the CNI network of the interface; after the database was lost, the part that is left, see
     * `isOfNetwork`. Undefined in records of agents that did not store it: GC then assumes the network of the Node's
     * configuration.
     */
    readonly network?: string | undefined;
    /**
     * The virtual functions that the container has: each has a `device`. Undefined for none, and after the database was
     * lost.
     */
    readonly functions?: readonly NetworkRecord[] | undefined;
    /**
     * The fingerprint of the Pod's annotation about networks that the interfaces of the container were made from. Undefined if
     * this agent did not read it, or an earlier one did not store it, and after the database was lost.
     */
    readonly networksHash?: string | undefined;
}

/** Whether addresses of the record are allocated from IPPools, also if the pool is not known (""). */
export function isPoolRecord(record: {
    readonly addresses: readonly { readonly pool?: string | undefined }[];
}): boolean {
    return record.addresses.some((address) => address.pool !== undefined);
}
