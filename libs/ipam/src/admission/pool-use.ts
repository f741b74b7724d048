import { poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { parseIp, RangeSet } from "@antrea/ip";
import { readPoolNames, type Annotations } from "../annotations.ts";
import { someOf } from "./verdict.ts";

/** The users of a pool: allocations of its addresses, and objects that name it in an annotation. */
export interface PoolUse {
    /** Allocations of the pool's addresses. */
    readonly allocations: readonly IpAllocation[];
    /** Objects that name the pool in an annotation, for messages: `Namespace a`, `Deployment a/web`. */
    readonly references: readonly string[];
    /** True if the pool has more than `allocations`. Default false. */
    readonly isPart?: boolean;
}

/** The use of a pool without users. */
export const notInUse: PoolUse = { allocations: [], references: [] };

/**
 * True if the allocation prevents its pool from shrinking and from deletion. Those of Nodes and gateways do not: their
 * addresses stay excluded without an allocation.
 */
export function isUse(allocation: IpAllocation): boolean {
    const { kind } = allocation.spec.owner;
    return kind !== "Node" && kind !== "Gateway";
}

/** True if annotation `ipam.antrea.io/ippools` names the pool, also if the annotation is otherwise invalid. */
export function namesPool(annotations: Annotations, pool: string): boolean {
    return readPoolNames(annotations?.[poolsAnnotation] ?? "").names.includes(pool);
}

/**
 * Formats the users for messages: the first three allocations for which `isUse` is true, those with addresses in
 * `first` before others, and the first three references, each with the number of the others; "" if there are none.
 * Throws IpError for an allocation with an invalid address if `first` is not empty.
 */
export function usersOf({ allocations, references, isPart }: PoolUse, first: RangeSet = RangeSet.empty): string {
    const users = allocations.filter(isUse);
    const isFirst = ({ spec }: IpAllocation): boolean => !first.isEmpty && first.has(parseIp(spec.address));
    const holders = [...users.filter(isFirst), ...users.filter((allocation) => !isFirst(allocation))].map(holderText);
    return [
        ...(holders.length > 0 ? [someOf(holders, isPart)] : []),
        ...(references.length > 0 ? [`named by ${someOf(references)}`] : []),
    ].join("; ");
}

/**
 * Formats the holder of an address: `10.2.0.12 of Pod a/web-0`, or `10.2.0.12 reserved for StatefulSet a/web (ordinal
 * 0)`.
 */
export function holderText({ spec: { address, owner, pod } }: IpAllocation): string {
    if (pod !== undefined) return `${address} of Pod ${pod.namespace}/${pod.name}`;
    const name = [owner.namespace, owner.name].filter((part) => part !== undefined).join("/");
    const ordinal = owner.index === undefined ? "" : ` (ordinal ${owner.index})`;
    return `${address} reserved for ${owner.kind} ${name}${ordinal}`;
}

/**
 * Returns a warning for each allocation that is not `isOwn`: the Pod that requests its address waits until it is free.
 * `path` is that of the annotation.
 *
 * @param allocations allocations of the requested addresses
 * @param isOwn whether an allocation belongs to the requesting object
 */
export function takenWarnings(
    path: string,
    allocations: readonly IpAllocation[],
    isOwn: (allocation: IpAllocation) => boolean,
): readonly string[] {
    return allocations
        .filter((allocation) => !isOwn(allocation))
        .map(
            (allocation) =>
                `${path}: the address is taken: ${holderText(allocation)}; the Pod waits until it is free, or choose another`,
        );
}
