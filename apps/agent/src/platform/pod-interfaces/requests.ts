import type { PodAttachment } from "./attachment.ts";
import type { PodAddress } from "./record.ts";

/** One ADD, as decoded by the CNI server; `podUid` is read from the API server if the runtime passes none. */
export interface AddRequest extends PodAttachment {
    /** Path of the network namespace, as CNI passed it. */
    readonly netns: string;
    /** The name of the requesting CNI network: with container and interface it identifies an attachment. */
    readonly network: string;
    /** When the call was received, in milliseconds of the monotonic clock; a DEL received later takes precedence. */
    readonly receivedAt: number;
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
