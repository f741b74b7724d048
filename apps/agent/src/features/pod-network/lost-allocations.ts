import { formatIp } from "@antrea/ip";
import { PodNetworkError } from "./errors.ts";
import {
    podText,
    type NetworkAllocations,
    type NetworkRecord,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";

/**
 * Throws PodNetworkError `ALLOCATION_DELETED` if one of the allocations of an interface that an ADD made is not the Pod's any
 * more, according to what is known of this Node's: a user can delete it by force while the ADD waits, and another Pod can
 * have the address since. Addresses that are not of pools have none.
 */
export function refuseLost(
    pools: Pick<NetworkAllocations, "hasAllocations"> | undefined,
    record: PodRecord | NetworkRecord,
): void {
    if (pools === undefined) return;
    const lost = record.addresses.find(({ ip, pool }) => pool !== undefined && !pools.hasAllocations(record, [ip]));
    if (lost === undefined) return;
    throw new PodNetworkError(
        "ALLOCATION_DELETED",
        "environment",
        `the IPAllocation of ${formatIp(lost.ip)} (IPPool ${lost.pool}) for ${record.ifName} of Pod ${podText(record)} was deleted while the ADD was in progress, and another Pod may have the address; the next ADD allocates anew`,
    );
}
