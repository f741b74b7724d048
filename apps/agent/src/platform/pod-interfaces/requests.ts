import type { PodAttachment } from "./attachment.ts";
import type { PodAddress } from "./record.ts";

/** One ADD, as the CNI server understood it. */
export interface AddRequest extends PodAttachment {
    readonly netns: string;
    /** The name of the CNI network that asks for it: with container and interface the identity of an attachment. */
    readonly network: string;
    /** When the call came in, in ms by a monotonic clock; a DEL that came later wins. */
    readonly receivedAt: number;
}

/** The addresses that a Pod asks of IPPools. */
export interface AddressRequest {
    /** Claims them, all or nothing. */
    claim(signal: AbortSignal): Promise<AddressAllocation>;
}

/** What an ADD got of IPPools: addresses of one VLAN. */
export interface AddressAllocation {
    readonly addresses: readonly PodAddress[];
    /** 0 is untagged. */
    readonly vlan: number;
}
