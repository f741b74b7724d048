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
import { type PodIdentity, type PoolVersion, type SetPlace } from "./types.ts";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";

/** Who a claim is written for. */
export interface Holder extends Attachment {
    readonly pod: PodIdentity;
    readonly nodeName: string;
}

/** What is read of a claim to know which interface of which Pod has it. */
export interface ClaimUser {
    readonly spec?: { readonly pod?: Pick<AllocationPod, "uid" | "containerID" | "interface"> | undefined };
}

export function claimName(claim: IpAllocation): string {
    return claim.metadata?.name ?? "";
}

/** The address of a claim. Its name tells it: that is what the API server keeps unique. */
export function claimIp(claim: IpAllocation): IpAddress {
    return allocationAddress(claimName(claim));
}

/** A claim to create: the address for this Pod, and by default for nobody after it. */
export function newClaim(
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

/** The claim in the hands of this holder; its version stays, so that it can be written over nothing else. */
export function takenBy(claim: IpAllocation, holder: Holder, version?: PoolVersion): IpAllocation {
    return { ...claim, spec: { ...claim.spec, ...versionFields(version), state: "Allocated", pod: podOf(holder) } };
}

/** Whether the interface of the claim was set up by this definition of its pool. */
export function isOfVersion({ spec }: IpAllocation, { uid, generation }: PoolVersion): boolean {
    return spec.poolUID === uid && spec.poolGeneration === generation;
}

/** A server without versions, or a claim that was not made by a definition, has none. */
function versionFields(version: PoolVersion | undefined): Pick<IpAllocationSpec, "poolUID" | "poolGeneration"> {
    if (version === undefined || version.uid === "" || version.generation < 1) return {};
    return { poolUID: version.uid, poolGeneration: version.generation };
}

/** The claim kept for its owner, without a Pod. */
export function reservedAgain(claim: IpAllocation): IpAllocation {
    const { pod: _, ...spec } = claim.spec;
    return { ...claim, spec: { ...spec, state: "Reserved" } };
}

/** Whether the claim is for this interface of this Pod, in whichever of its sandboxes. */
export function isForPod({ spec }: ClaimUser, podUid: string, ifName: string): boolean {
    const pod = spec?.pod;
    return podUid !== "" && pod?.uid === podUid && pod.interface === ifName;
}

/** The fence of every change on behalf of a container: the claim names this container and interface. */
export function namesContainer({ spec }: ClaimUser, { containerId, ifName }: Attachment): boolean {
    const pod = spec?.pod;
    return pod?.containerID === containerId && pod.interface === ifName;
}

/** Whether the claim says already what `takenBy` would write. */
export function isHeldBy(claim: IpAllocation, holder: Holder): boolean {
    return (
        isForPod(claim, holder.pod.uid, holder.ifName) &&
        namesContainer(claim, holder) &&
        claim.spec.pod?.nodeName === holder.nodeName
    );
}

/** Whether the claim is kept for this ordinal of this StatefulSet. */
export function isForOrdinal(claim: IpAllocation, namespace: string, place: SetPlace): boolean {
    const { owner } = claim.spec;
    return (
        owner.kind === "StatefulSet" &&
        owner.namespace === namespace &&
        owner.name === place.name &&
        owner.index === place.ordinal
    );
}

/** Whether the holder may take the claim as it is now: it is the Pod's already, or reserved for the Pod's ordinal. */
export function mayTake(claim: IpAllocation, holder: Holder): boolean {
    if (isForPod(claim, holder.pod.uid, holder.ifName)) return true;
    const { state, owner } = claim.spec;
    return (
        state === "Reserved" &&
        owner.kind === "StatefulSet" &&
        owner.namespace === holder.pod.namespace &&
        `${owner.name}-${owner.index}` === holder.pod.name
    );
}

/** Who has the claim, as the end of "it is held by …". */
export function holderText(claim: IpAllocation): string {
    const { owner, pod, pool } = claim.spec;
    if (pod !== undefined) return `Pod ${pod.namespace}/${pod.name} (UID ${pod.uid}) on Node ${pod.nodeName}`;
    switch (owner.kind) {
        case "Node":
            return `Node ${owner.name}, whose address it is`;
        case "Gateway":
            return `IPPool ${pool}, whose gateway it is`;
        case "StatefulSet":
            return `ordinal ${owner.index} of StatefulSet ${owner.namespace}/${owner.name}, for which it is reserved`;
        case "Pod":
            return `Pod ${owner.namespace}/${owner.name}, for which it is reserved`;
        default:
            return unknownOwner(owner);
    }
}

/** An owner of a kind that only a later version writes. */
function unknownOwner({ kind, namespace, name = "?" }: AllocationOwner): string {
    return `${kind} ${namespace === undefined ? name : `${namespace}/${name}`}, for which it is reserved`;
}

function podOf({ pod, nodeName, containerId, ifName }: Holder): AllocationPod {
    return { ...pod, nodeName, containerID: containerId, interface: ifName };
}
