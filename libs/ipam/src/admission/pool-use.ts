import { poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { parseIp, RangeSet } from "@antrea/ip";
import { readPoolNames, type Annotations } from "../annotations.ts";
import { someOf } from "./verdict.ts";

/** Who uses a pool. */
export interface PoolUse {
    /** Claims of the pool's addresses. */
    readonly claims: readonly IpAllocation[];
    /** Who names the pool in an annotation, for people: `Namespace a`, `Deployment a/web`. */
    readonly references: readonly string[];
    /** Whether the pool has more claims than these; default false. */
    readonly isPart?: boolean;
}

export const notInUse: PoolUse = { claims: [], references: [] };

/**
 * Whether the claim keeps its pool from shrinking and from deletion. The claims that hold the addresses of Nodes and the
 * gateways do not: the addresses stay out of use without them.
 */
export function isUse(claim: IpAllocation): boolean {
    const { kind } = claim.spec.owner;
    return kind !== "Node" && kind !== "Gateway";
}

/** Whether the annotations name the pool. */
export function namesPool(annotations: Annotations, pool: string): boolean {
    return readPoolNames(annotations?.[poolsAnnotation] ?? "").names.includes(pool);
}

/** The users for people, cut after the first few; those who have addresses of `first` come first. */
export function usersOf({ claims, references, isPart }: PoolUse, first: RangeSet = RangeSet.empty): string {
    const users = claims.filter(isUse);
    const isFirst = ({ spec }: IpAllocation): boolean => !first.isEmpty && first.has(parseIp(spec.address));
    const holders = [...users.filter(isFirst), ...users.filter((claim) => !isFirst(claim))].map(holderText);
    return [
        ...(holders.length > 0 ? [someOf(holders, isPart)] : []),
        ...(references.length > 0 ? [`named by ${someOf(references)}`] : []),
    ].join("; ");
}

/** `10.2.0.12 of Pod a/web-0`, or `10.2.0.12 reserved for StatefulSet a/web (ordinal 0)`. */
export function holderText({ spec: { address, owner, pod } }: IpAllocation): string {
    if (pod !== undefined) return `${address} of Pod ${pod.namespace}/${pod.name}`;
    const name = [owner.namespace, owner.name].filter((part) => part !== undefined).join("/");
    const ordinal = owner.index === undefined ? "" : ` (ordinal ${owner.index})`;
    return `${address} reserved for ${owner.kind} ${name}${ordinal}`;
}

/**
 * The warning for who asks for addresses that others have: each waits until its address is free.
 *
 * @param claims those of the addresses
 * @param isOwn whether the claim is the asking object's own
 */
export function takenWarnings(
    path: string,
    claims: readonly IpAllocation[],
    isOwn: (claim: IpAllocation) => boolean,
): readonly string[] {
    return claims
        .filter((claim) => !isOwn(claim))
        .map(
            (claim) =>
                `${path}: the address is taken: ${holderText(claim)}; the Pod waits until it is free, or choose another`,
        );
}
