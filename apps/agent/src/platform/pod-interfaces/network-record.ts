import type { IpAddress } from "@antrea/ip";
import type { PodAttachment } from "./attachment.ts";

/** One address of an interface of a network other than the Pod network. */
export interface NetworkRecordAddress {
    readonly ip: IpAddress;
    /** Bits of its subnet's prefix. */
    readonly prefixLength: number;
    /** Undefined if it has none. */
    readonly gateway: IpAddress | undefined;
    /**
     * The IPPool from which it is allocated, "" if that is not known after the database was lost; undefined for a static
     * one, which nobody allocates.
     */
    readonly pool: string | undefined;
}

/** A virtual function of a NIC that is the interface of a Pod. */
export interface FunctionDevice extends DeviceId {
    /** The name of its link while the Node has it. */
    readonly linkName: string;
    /** The MTU of its link before the Pod got it, in bytes. */
    readonly linkMtu: number;
}

/** Identifies a device of the Node: by its address on the PCI bus, as 0000:af:06.0, or its name on the auxiliary bus. */
export interface DeviceId {
    readonly bus: "pci" | "auxiliary";
    readonly id: string;
}

/**
 * The record of a Pod's interface on a network other than the Pod network, which this agent makes. It is stored in the
 * external_ids of its OVSDB port; the alias of the host end of the veth pair repeats what is needed if the database is
 * lost. A virtual function has no port: the record of the Pod's interface on the Pod network has its record.
 */
export interface NetworkRecord extends PodAttachment {
    /** `namespace/name` of the network; "" if the database was lost and nothing is left that names it. */
    readonly network: string;
    /** Path of the network namespace, as CNI passed it; "" in a record rebuilt from its link. */
    readonly netns: string;
    /** The host end of the veth pair, which is also the name of the OVS port; "" for a virtual function. */
    readonly hostIfName: string;
    /** The virtual function that is the interface; undefined for a veth pair. */
    readonly device?: FunctionDevice | undefined;
    /** Of the Pod's end, as text like 0a:59:0a:0a:00:01. */
    readonly mac: string;
    /** Empty for a network without IPAM. */
    readonly addresses: readonly NetworkRecordAddress[];
    /** VLAN of the port; 0 is untagged. */
    readonly vlan: number;
    /** In bytes. */
    readonly mtu: number;
    /** Gateways of the interface, at most one of each family, that the Pod's default route leads to. */
    readonly defaultGateways: readonly IpAddress[];
    /** /proc/sys/kernel/random/boot_id at the creation of the interface. */
    readonly bootId: string;
    /** The interface has no traffic, because an address of it belongs to another Pod, or may soon. Default false. */
    readonly isolated?: boolean | undefined;
    /**
     * A call of a meta plugin for this interface alone made it. Undefined: the Pod's annotation, or an agent that did not record
     * it, or the alias of its link had no room for it.
     */
    readonly attachedBy?: "meta-plugin" | undefined;
}
