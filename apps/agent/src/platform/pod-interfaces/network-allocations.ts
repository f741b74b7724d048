import type { IpAddress } from "@antrea/ip";
import type { Attachment, PodAttachment } from "./attachment.ts";
import type { NetworkRecordAddress } from "./network-record.ts";
import type { NetworkAddress, NetworkAddresses } from "./requests.ts";

/** The allocations for the interfaces of networks that this agent makes. */
export interface NetworkAllocations {
    /** Allocates the addresses of one interface, all or nothing; rejects with the error that ADD returns. */
    claimForNetwork(asked: NetworkAddresses, signal: AbortSignal): Promise<readonly NetworkAddress[]>;
    /** Frees the allocations of an interface; resolves when that is done, or after one second. Never rejects. */
    release(attachment: Attachment): Promise<void>;
    /** Whether each address is allocated to the interface or its Pod, according to the known allocations of this Node. */
    hasAllocations(holder: Attachment & Pick<PodAttachment, "podUid">, ips: readonly IpAddress[]): boolean;
    /** The interfaces of a container that have known allocations and that this agent makes, without its own. */
    networkInterfacesOf(containerId: string): readonly Attachment[];
    /** The network that the known allocations of an interface name; "" if there are none. */
    networkOf(attachment: Attachment): string;
    /** The known allocations of an interface, with the settings of their pools, where these are known. */
    addressesFor(attachment: Attachment): readonly NetworkRecordAddress[];
}
