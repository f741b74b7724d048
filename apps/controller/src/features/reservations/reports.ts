import { allocationName, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type MissingReservations } from "@antrea/ipam";
import { apiVersionOf, statefulSets, type EventRecorder } from "@antrea/kube";
import { describeHolder, setKeyOf, type AllocationCache } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { type Demand } from "./demand.ts";

/** What the reports depend on: `recorder` records the events, the caches explain them. */
export interface ReportsComponents {
    readonly recorder: Pick<EventRecorder, "record">;
    readonly allocations: Pick<AllocationCache, "get">;
    readonly pools: Pick<PoolCache, "get" | "usable">;
}

/**
 * Reports on the StatefulSet, as Warning `ReservationFailed`, why ordinals have no address reserved; nothing if the
 * reason no longer holds. At each call.
 */
export function reportMissing(components: ReportsComponents, demand: Demand, missing: MissingReservations): void {
    const note = missingText(components, demand, missing);
    if (note !== undefined) report(components, demand, { reason: "ReservationFailed", note });
}

/**
 * Reports on the StatefulSet, as Warning `ReservationGivenUp`, that the ordinal of this allocation loses its address,
 * and why (`givenUpText`).
 */
export function reportGivenUp(
    components: Pick<ReportsComponents, "recorder">,
    demand: Demand,
    allocation: IpAllocation,
): void {
    report(components, demand, { reason: "ReservationGivenUp", note: givenUpText(demand, allocation) });
}

/**
 * Reports on the StatefulSet, as Normal event `ReservationsLimited`, that `beyond` of its ordinals (a number) have no
 * address reserved until there are more Pods. Each call records an event.
 */
export function reportBeyond(components: Pick<ReportsComponents, "recorder">, demand: Demand, beyond: number): void {
    const { replicas } = demand;
    report(components, demand, {
        type: "Normal",
        reason: "ReservationsLimited",
        note: `Addresses are reserved for ${replicas - beyond} of ${replicas} ordinals: for 256, or twice as many as there are Pods. The others get theirs as Pods are created.`,
    });
}

/**
 * Reports on the StatefulSet, as Normal event `ReservationsKept`, that `count` addresses stay reserved although its
 * Pods are on the host network. At each call.
 */
export function reportKept(components: Pick<ReportsComponents, "recorder">, demand: Demand, count: number): void {
    const what = count === 1 ? "1 address stays" : `${count} addresses stay`;
    report(components, demand, {
        type: "Normal",
        reason: "ReservationsKept",
        note: `The template has hostNetwork: true, so its Pods take no address. ${what} reserved for its ordinals, as long as spec.replicas covers them: scale it down or delete it to free them.`,
    });
}

/**
 * Reports on the StatefulSet, as Warning `ReservationFailed`, which rules its annotations, or those of its Namespace,
 * violate.
 */
export function reportProblems(components: Pick<ReportsComponents, "recorder">, demand: Demand): void {
    const next = "Its Pods are refused: create it again with another template, or annotate the Namespace anew.";
    const note = `No address is reserved: ${demand.problems.join("; ")}. ${next}`;
    report(components, demand, { reason: "ReservationFailed", note });
}

function report(
    { recorder }: Pick<ReportsComponents, "recorder">,
    { namespace, name, uid }: Demand,
    what: { readonly type?: "Normal" | "Warning"; readonly reason: string; readonly note: string },
): void {
    recorder.record({
        regarding: { apiVersion: apiVersionOf(statefulSets), kind: statefulSets.kind, namespace, name, uid },
        type: "Warning",
        action: "ReserveAddresses",
        ...what,
    });
}

/** Why the address of an ordinal is no longer reserved, as sentences for an event. Pure function. */
export function givenUpText({ pools }: Demand, { spec: { address, owner, pool } }: IpAllocation): string {
    const why =
        pools?.names.includes(pool) === true
            ? `it is no longer in the ranges of IPPool ${pool}`
            : `IPPool ${pool} is no longer named`;
    const next = pools === undefined ? "" : " The ordinal gets another address.";
    return `Address ${address} is no longer reserved for ordinal ${owner.index}: ${why}.${next}`;
}

/**
 * Why ordinals have no address reserved, as sentences for an event with the next step. Undefined if the reason no
 * longer holds: a requested address became free meanwhile.
 */
export function missingText(
    components: Omit<ReportsComponents, "recorder">,
    demand: Demand,
    { count, ordinals, families, pools, unknownPools }: MissingReservations,
): string | undefined {
    const more = count > ordinals.length ? ` and ${count - ordinals.length} more` : "";
    const which = `No address is reserved for ordinal${count > 1 ? "s" : ""} ${ordinals.join(", ")}${more}`;
    if (unknownPools.length > 0) {
        return `${which}: there is no IPPool ${unknownPools.join(", ")}. Create it; it is tried again then.`;
    }
    const fixed = demand.fixed.filter(({ family }) => families.includes(family));
    if (fixed.length > 0) {
        const reasons = fixed.flatMap((ip) => {
            const why = whyNot(components, demand, ip, pools);
            return why === undefined ? [] : [`${formatIp(ip)} of pod-ips ${why}`];
        });
        if (reasons.length === 0) return undefined;
        return `${which}: ${reasons.join("; ")}. Free the address, or change pod-ips; it is tried again.`;
    }
    const searched = families.map((family) => `IPv${family}`).join(" and ");
    const leaving = pools.filter((name) => components.pools.get(name)?.isDeleting === true);
    if (leaving.length > 0) {
        const full = pools.filter((name) => !leaving.includes(name));
        const others = full.length === 0 ? "" : `, and no ${searched} address is free in IPPool ${full.join(", ")}`;
        const names = leaving.map((name) => `IPPool ${name}`).join(", ");
        return `${which}: ${names} is being deleted and hands out no new address${others}. Name another pool, or create it again when it is deleted; it is retried.`;
    }
    return `${which}: no ${searched} address is free in IPPool ${pools.join(", ")}. Add a range to the pool or free addresses; it is tried again.`;
}

function whyNot(
    { allocations, pools }: Omit<ReportsComponents, "recorder">,
    { namespace, name, uid, replicas, start }: Demand,
    ip: IpAddress,
    names: readonly string[],
): string | undefined {
    const holder = allocations.get(allocationName(ip));
    if (holder === undefined) {
        const known = names.filter((pool) => pools.get(pool) !== undefined);
        const having = known.filter((pool) => pools.usable(pool).has(ip));
        if (having.some((pool) => pools.get(pool)?.isDeleting !== true)) return undefined;
        if (having.length > 0) return `is of IPPool ${having.join(", ")}, which is being deleted`;
        return `is not handed out by IPPool ${known.join(", ")}`;
    }
    if (setKeyOf(holder) !== `${namespace}/${name}`) return `is allocated to ${describeHolder(holder)}`;
    const { index = -1 } = holder.owner;
    if (replicas > 1 && holder.owner.uid === uid && index >= start && index < start + replicas) {
        return `is one Pod's, and the StatefulSet has ${replicas} replicas`;
    }
    return `is still held by ${describeHolder(holder)}`;
}
