import type { IpAddress } from "@antrea/ip";
import type { OwnNetwork, WantedAddresses } from "@antrea/networks";
import type { PodAttachment } from "./attachment.ts";
import type { InterfaceAddress, PodAddress } from "./record.ts";

/** One ADD, as decoded by the CNI server; `podUid` is read from the API server if the runtime passes none. */
export interface AddRequest extends PodAttachment {
    /** Path of the network namespace, as CNI passed it. */
    readonly netns: string;
    /** The name of the requesting CNI network: with container and interface it identifies an attachment. */
    readonly network: string;
    /** When the call was received, in milliseconds of the monotonic clock; a DEL received later takes precedence. */
    readonly receivedAt: number;
}

/** The request of a meta plugin for one interface on a network other than the Pod network. */
export interface NetworkCall extends AddRequest {
    /** The network that the call carries. */
    readonly asked: OwnNetwork;
    /** The requested MAC address, as text; undefined if none is. */
    readonly mac: string | undefined;
    /** The requested addresses; undefined: those of the network. */
    readonly wanted: WantedAddresses | undefined;
}

/** The demand for one address of the IPPool of this name; `fixed` undefined takes any free one. */
export interface PoolDemand {
    readonly pool: string;
    readonly fixed: IpAddress | undefined;
}

/** A request for the addresses of an interface of a network other than the Pod network. */
export interface NetworkAddresses extends PodAttachment {
    /** `namespace/name` of the network, or the CNI name of one whose interfaces another plugin makes. */
    readonly network: string;
    /** One address for each, in this order. A pool with several demands has a fixed one in each. */
    readonly demands: readonly PoolDemand[];
}

/** An address of an interface of a network, with the settings of its IPPool. */
export interface NetworkAddress extends InterfaceAddress {
    /** VLAN ID of the IPPool's subnet; 0 is untagged. */
    readonly vlan: number;
    /** Name of its IPPool. */
    readonly pool: string;
}

/** A Pod's request for addresses of IPPools, for one ADD; nothing is allocated before `claim`, which is called once. */
export interface AddressRequest {
    /**
     * Allocates them, all or nothing: what was allocated before a rejection, also by an abort, is given back. Rejects
     * with the error that the ADD returns.
     */
    claim(signal: AbortSignal): Promise<AddressAllocation>;
}

/** The addresses that an ADD got from IPPools, at most one per family, all in one VLAN. */
export interface AddressAllocation {
    readonly addresses: readonly PodAddress[];
    /** 0 is untagged. */
    readonly vlan: number;
}
