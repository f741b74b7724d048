import {
    allocationAddress,
    AllocationNameError,
    isOfPods,
    type AllocationOwner,
    type AllocationPod,
    type IpAllocation,
} from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";

/** The fields of an IPAllocation that commands need, without all others, as a cluster may have 100,000. */
export interface Allocation {
    readonly name: string;
    /** The address in the object's name, which the API server keeps unique. */
    readonly ip: IpAddress;
    /** `ip` in canonical text (RFC 5952). */
    readonly address: string;
    readonly pool: string;
    readonly state: "Allocated" | "Reserved";
    readonly owner: AllocationOwner;
    /** The Pod that uses the address; undefined while it is only reserved. */
    readonly pod: AllocationPod | undefined;
    /** Time of its creation (RFC 3339). */
    readonly since: string | undefined;
}

/** Reads an IPAllocation. Undefined for an object whose name is not an address: Antrea did not create it. */
export function readAllocation(object: IpAllocation): Allocation | undefined {
    const { name = "", creationTimestamp } = object.metadata ?? {};
    const { pool, state, owner, pod } = object.spec;
    try {
        const ip = allocationAddress(name);
        return { name, ip, address: formatIp(ip), pool, state, owner, pod, since: creationTimestamp };
    } catch (error) {
        if (error instanceof AllocationNameError) return undefined;
        throw error;
    }
}

/**
 * Whether another plugin makes the interface: it has a network, whose name is that of a CNI network, in which there is no
 * "/", and not that of a NetworkAttachmentDefinition (`namespace/name`).
 */
export function isDelegated({ network }: AllocationPod): boolean {
    return network !== undefined && !network.includes("/");
}

/** Whether this version knows the owner kind and when it ends; a later version may add kinds. */
export function isKnownOwner(owner: AllocationOwner): boolean {
    return isOfPods(owner) || owner.kind === "Node" || owner.kind === "Gateway";
}

/**
 * The owner as part of a sentence: `StatefulSet shop/db ordinal 2`, for another network than the Pod network with
 * ` interface net1`, `Pod shop/web-0`, `Node node1`, `Gateway 10.2.0.1`.
 */
export function ownerText(owner: AllocationOwner): string {
    const name = owner.namespace === undefined ? (owner.name ?? "?") : `${owner.namespace}/${owner.name ?? "?"}`;
    const ofSet = owner.index === undefined ? "" : ` ordinal ${owner.index}`;
    return `${owner.kind} ${name}${ofSet}${owner.interface === undefined ? "" : ` interface ${owner.interface}`}`;
}

/**
 * The holder of the address as part of a sentence: `Pod shop/web-0 on Node node1`, or `StatefulSet shop/db ordinal 2
 * (reserved)` if no Pod uses it.
 */
export function holderText(allocation: Allocation): string {
    if (allocation.pod === undefined) return `${ownerText(allocation.owner)} (reserved)`;
    return `Pod ${allocation.pod.namespace}/${allocation.pod.name} on Node ${allocation.pod.nodeName}`;
}
