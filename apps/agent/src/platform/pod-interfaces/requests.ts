import type { PodAttachment } from "./attachment.ts";
import type { PodAddress } from "./record.ts";

/** One ADD, as decoded by the CNI server. */
export interface AddRequest extends PodAttachment {
    readonly netns: string;
    /** The name of the requesting CNI network: with container and interface it identifies an attachment. */
    readonly network: string;
    /** When the call was received, in milliseconds of a monotonic clock; a later DEL takes precedence. */
    readonly receivedAt: number;
}

/** The addresses that a Pod requests from IPPools. */
export interface AddressRequest {
    /** Allocates them, all or nothing. */
    claim(signal: AbortSignal): Promise<AddressAllocation>;
}

/** The addresses that an ADD got from IPPools, all in one VLAN. */
export interface AddressAllocation {
    readonly addresses: readonly PodAddress[];
    /** 0 is untagged. */
    readonly vlan: number;
}
