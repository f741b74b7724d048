import {
    allocationAddress,
    allocationName,
    blockText,
    type AllocationOwner,
    type AllocationPod,
    type IpAllocation,
    type IpAllocationSpec,
} from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type NamedPodUid } from "@antrea/kube";
import { type PoolVersion, type SetPlace } from "./types.ts";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";

/** The Pod interface, in this container, and the Node that an allocation is written for. */
export interface Holder extends Attachment {
    readonly pod: NamedPodUid;
    readonly nodeName: string;
    /** The network of the interface; undefined for the Pod's own interface. */
    readonly network?: string | undefined;
}

/**
 * The fields of an IPAllocation that identify the Pod interface holding it. Without `pod` no Pod holds it: it is
 * reserved, or of a Node or gateway.
 */
export interface AllocationUser {
    readonly spec?: { readonly pod?: Pick<AllocationPod, "uid" | "containerID" | "interface"> | undefined };
}

/** The object name of an allocation; "" if it has none. */
export function objectName(allocation: IpAllocation): string {
    return allocation.metadata?.name ?? "";
}

/**
 * The address of an allocation, from its name, which the API server keeps unique. Throws AllocationNameError for a name
 * that encodes none.
 */
export function allocationIp(allocation: IpAllocation): IpAddress {
    return allocationAddress(objectName(allocation));
}

/**
 * Builds a new IPAllocation of the address for this Pod interface; writes nothing. `owner` is by default the Pod, so
 * that it is not kept for a later Pod; without `version`, or with an empty one, no pool version is recorded.
 */
export function newAllocation(
    ip: IpAddress,
    pool: string,
    holder: Holder,
    o: { readonly owner?: AllocationOwner | undefined; readonly version?: PoolVersion | undefined } = {},
): IpAllocation {
    const { owner = { kind: "Pod", ...holder.pod }, version } = o;
    return {
        metadata: { name: allocationName(ip) },
        spec: {
            address: formatIp(ip),
            block: blockText(ip),
            pool,
            ...versionFields(version),
            state: "Allocated",
            owner,
            pod: podOf(holder),
        },
    };
}

/**
 * A copy of the allocation rewritten for this holder; its owner stays, and without `version` its pool version. Keeps
 * the resourceVersion, so that a stale write conflicts.
 */
export function takenBy(allocation: IpAllocation, holder: Holder, version?: PoolVersion): IpAllocation {
    return {
        ...allocation,
        spec: { ...allocation.spec, ...versionFields(version), state: "Allocated", pod: podOf(holder) },
    };
}

/**
 * Whether the interface of the allocation was set up by this definition of its pool; false if either has no version.
 */
export function isOfVersion({ spec }: IpAllocation, { uid, generation }: PoolVersion): boolean {
    return spec.poolUID === uid && spec.poolGeneration === generation;
}

/** Empty for a server without versions, or an allocation made without a pool definition. */
function versionFields(version: PoolVersion | undefined): Pick<IpAllocationSpec, "poolUID" | "poolGeneration"> {
    if (version === undefined || version.uid === "" || version.generation < 1) return {};
    return { poolUID: version.uid, poolGeneration: version.generation };
}

/** A copy of the allocation that is reserved for its owner, without a Pod; keeps the resourceVersion. */
export function reservedAgain(allocation: IpAllocation): IpAllocation {
    const { pod: _, ...spec } = allocation.spec;
    return { ...allocation, spec: { ...spec, state: "Reserved" } };
}

/** Whether the allocation is for this interface of this Pod, in any of its sandboxes; false for UID "". */
export function isForPod({ spec }: AllocationUser, podUid: string, ifName: string): boolean {
    const pod = spec?.pod;
    return podUid !== "" && pod?.uid === podUid && pod.interface === ifName;
}

/**
 * Whether the allocation names this container and interface: the precondition of every change on behalf of a container.
 * The Pod is not compared.
 */
export function namesContainer({ spec }: AllocationUser, { containerId, ifName }: Attachment): boolean {
    const pod = spec?.pod;
    return pod?.containerID === containerId && pod.interface === ifName;
}

/**
 * Whether the allocation names this Pod, Node, container, interface and network already; its pool version is not
 * compared.
 */
export function isHeldBy(allocation: IpAllocation, holder: Holder): boolean {
    return (
        isForPod(allocation, holder.pod.uid, holder.ifName) &&
        namesContainer(allocation, holder) &&
        allocation.spec.pod?.nodeName === holder.nodeName &&
        allocation.spec.pod.network === holder.network
    );
}

/**
 * Whether this ordinal of this StatefulSet, by name, owns the allocation, reserved or in use by a Pod: for the Pods' own
 * interface, or for the interface of that name of a network.
 */
export function isForOrdinal(
    allocation: IpAllocation,
    namespace: string,
    place: SetPlace,
    networkInterface?: string,
): boolean {
    const { owner } = allocation.spec;
    return (
        owner.kind === "StatefulSet" &&
        owner.namespace === namespace &&
        owner.name === place.name &&
        owner.index === place.ordinal &&
        owner.interface === networkInterface
    );
}

/** The interface that is part of an ordinal's identity; undefined for the Pod's own interface. */
export function interfaceOfOwner({ network, ifName }: Holder): string | undefined {
    return network === undefined ? undefined : ifName;
}

/**
 * Whether the holder may take the allocation in its current state: its Pod interface holds it already, from any
 * sandbox, or it is reserved for the Pod's StatefulSet ordinal, compared by the Pod's name and namespace, and this
 * interface.
 */
export function mayTake(allocation: IpAllocation, holder: Holder): boolean {
    if (isForPod(allocation, holder.pod.uid, holder.ifName)) return true;
    const { state, owner } = allocation.spec;
    return (
        state === "Reserved" &&
        owner.kind === "StatefulSet" &&
        owner.namespace === holder.pod.namespace &&
        `${owner.name}-${owner.index}` === holder.pod.name &&
        owner.interface === interfaceOfOwner(holder)
    );
}

/**
 * Whether another CNI plugin makes the interface: it has a network, which is not a NetworkAttachmentDefinition
 * (`namespace/name`) but the name of a CNI network, in which there is no "/".
 */
export function isDelegated({ spec: { pod } }: IpAllocation): boolean {
    return pod?.network !== undefined && !pod.network.includes("/");
}

/** Describes the holder, as the end of the sentence "it is held by …". */
export function holderText(allocation: IpAllocation): string {
    const { owner, pod, pool } = allocation.spec;
    if (pod !== undefined) return `Pod ${pod.namespace}/${pod.name} (UID ${pod.uid}) on Node ${pod.nodeName}`;
    switch (owner.kind) {
        case "Node":
            return `Node ${owner.name}, whose address it is`;
        case "Gateway":
            return `IPPool ${pool}, whose gateway it is`;
        case "StatefulSet":
            return `${interfaceText(owner)}ordinal ${owner.index} of StatefulSet ${owner.namespace}/${owner.name}, for which it is reserved`;
        case "Pod":
            return `Pod ${owner.namespace}/${owner.name}, for which it is reserved`;
        default:
            return unknownOwner(owner);
    }
}

function interfaceText(owner: AllocationOwner): string {
    return owner.interface === undefined ? "" : `interface ${owner.interface} of `;
}

/** Describes an owner of a kind introduced by a later version. */
function unknownOwner({ kind, namespace, name = "?" }: AllocationOwner): string {
    return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}, for which it is reserved`;
}

function podOf({ pod, nodeName, containerId, ifName, network }: Holder): AllocationPod {
    const own = { ...pod, nodeName, containerID: containerId, interface: ifName };
    return network === undefined ? own : { ...own, network };
}
