import type { CniDns, CniRoute } from "@antrea/cni";
import type { IpAddress } from "@antrea/ip";
import type { AddressPlan } from "@antrea/networks";
import type { NetworkRecord } from "./network-record.ts";
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
}

/** The interfaces of a Pod: the one on the Pod network with its MTU (bytes), and those on others, in requested order. */
export interface WiredNetworks {
    readonly own: PodRecord;
    readonly mtu: number;
    readonly networks: readonly { readonly record: NetworkRecord; readonly dns: CniDns | undefined }[];
}
