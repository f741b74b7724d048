import type { PodAttachment } from "./attachment.ts";
import type { PodAddress } from "./record.ts";

/** One ADD, as decoded by the CNI server. */
export interface AddRequest extends PodAttachment {
    /** Path of the network namespace, as CNI passed it. */
    readonly netns: string;
    /** The name of the requesting CNI network: with container and interface it identifies an attachment. */
    readonly network: string;
    /** When the call was received, in milliseconds of a monotonic clock; a later DEL takes precedence. */
    readonly receivedAt: number;
}

/** A Pod's request for addresses of IPPools; nothing is allocated before `claim`. */
export interface AddressRequest {
    /**
     * Allocates them, all or nothing: what was allocated before a rejection, also by an abort, is given back. Rejects
     * with the error that the ADD returns.
     */
    claim(signal: AbortSignal): Promise<AddressAllocation>;
}

/** The addresses that an ADD got from IPPools, all in one VLAN. */
export interface AddressAllocation {
    readonly addresses: readonly PodAddress[];
    /** 0 is untagged. */
    readonly vlan: number;
}
