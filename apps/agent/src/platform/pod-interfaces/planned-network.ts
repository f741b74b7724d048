import type { CniDns, CniRoute } from "@antrea/cni";
import type { IpAddress } from "@antrea/ip";
import type { AddressPlan } from "@antrea/networks";
import type { FunctionDevice, NetworkRecord } from "./network-record.ts";
import type { PodRecord } from "./record.ts";

/** An interface that a Pod is to get on a network other than the Pod network, checked as far as that needs no change. */
export interface PlannedNetwork {
    readonly ifName: string;
    /** `namespace/name` of its NetworkAttachmentDefinition. */
    readonly network: string;
    /** 1 to 4094; undefined: that of the IPPools, or untagged. */
    readonly vlan: number | undefined;
    /** In bytes. */
    readonly mtu: number;
    /** The requested MAC address, as text; undefined: one is derived. */
    readonly mac: string | undefined;
    /** Where its addresses come from; undefined: it has none. */
    readonly addresses: AddressPlan | undefined;
    readonly routes: readonly CniRoute[];
    readonly dns: CniDns | undefined;
    /** Gateways, at most one of each family, to which the Pod's default route moves. */
    readonly defaultGateways: readonly IpAddress[];
    /** The virtual function that becomes the interface; undefined for a veth pair. */
    readonly device?: FunctionDevice | undefined;
    /** That of its record. */
    readonly attachedBy?: NetworkRecord["attachedBy"];
}

/** What an interface of a network of type sriov needs of the Node. */
export interface DeviceDemand {
    /** `namespace/name` of the network. */
    readonly network: string;
    readonly ifName: string;
    /** The resource of which the Pod must have a device for it; undefined if `deviceId` names the device. */
    readonly resourceName: string | undefined;
    /** The device that a meta plugin names, which the Pod must have; undefined if it names none. */
    readonly deviceId: string | undefined;
}

/** The virtual function for a `DeviceDemand`, as the Node has it. */
export interface FoundDevice extends FunctionDevice {
    /** The MAC address of its link, as text. */
    readonly mac: string;
}

/** The interfaces of a Pod: the one on the Pod network with its MTU (bytes), and those on others, in requested order. */
export interface WiredNetworks {
    readonly own: PodRecord;
    readonly mtu: number;
    readonly networks: readonly { readonly record: NetworkRecord; readonly dns: CniDns | undefined }[];
}
