import { type Clock, settleAll } from "@antrea/async";
import { type IpAllocation } from "@antrea/crd";
import { formatIp, sameIp } from "@antrea/ip";
import { type Pool } from "@antrea/ipam";
import { type Logger } from "@antrea/runtime";
import { objectName, isOfVersion } from "./allocations.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type PodEvents } from "./pod-events.ts";
import { type KnownPool, type PoolCache } from "./pool-cache.ts";
import { noPool } from "./refusals.ts";
import { retryUntilAnswered } from "./requests.ts";
import { podOf, type ClaimedAddress, type PoolChange, type PoolVersion, type SetUp } from "./types.ts";
import { type PoolInterface } from "./wiring.ts";

function isSameVersion(one: PoolVersion, other: PoolVersion): boolean {
    return one.uid === other.uid && one.generation === other.generation;
}

/**
 * How the settings of an address differ from its pool, as a sentence without its period: "IPPool pool1 now specifies
 * …", or that it no longer contains the address or has it as a gateway; undefined if they do not differ.
 */
export function differenceOf({ ip, prefixLength, gateway, vlan }: SetUp, pool: Pool): string | undefined {
    const subnet = pool.subnetOf(ip);
    if (subnet === undefined) return `IPPool ${pool.name} no longer contains the address`;
    if (pool.gateways.some((one) => sameIp(one.ip, ip))) return `IPPool ${pool.name} has the address as a gateway now`;
    const differences = [
        ...(gateway === undefined || sameIp(subnet.gateway, gateway) ? [] : [`gateway ${formatIp(subnet.gateway)}`]),
        ...(subnet.prefix.length === prefixLength ? [] : [`prefix length ${subnet.prefix.length}`]),
        ...(vlan === undefined || subnet.vlan === vlan ? [] : [`VLAN ${subnet.vlan}`]),
    ];
    return differences.length === 0 ? undefined : `IPPool ${pool.name} now specifies ${differences.join(" and ")}`;
}

/**
 * Finds an address whose pool has changed since it was allocated; undefined if there is none. Reads each pool once,
 * retrying until answered or aborted, so it must be called after the allocations were made. Rejects with IpPoolError
 * NO_POOL if a pool is deleted, else with the last KubeError.
 */
export async function changedSince(
    {
        cache,
        clock,
        metrics,
    }: {
        readonly cache: Pick<PoolCache, "live">;
        readonly clock: Clock;
        readonly metrics: Pick<IpamMetrics, "retry">;
    },
    o: {
        readonly claimed: readonly ClaimedAddress[];
        /** The pool definitions used for the allocation. */
        readonly pools: readonly KnownPool[];
        /**
         * Whether the address was unassigned before: an existing address of a Pod or ordinal is kept although its pool
         * is being deleted.
         */
        readonly isFresh: (address: ClaimedAddress) => boolean;
        /** That of the interface; undefined for a Pod's own interface. */
        readonly network: string | undefined;
        readonly signal: AbortSignal;
    },
): Promise<PoolChange | undefined> {
    const { claimed, pools, isFresh, network, signal } = o;
    const found = await settleAll(
        claimed.map(async (address): Promise<PoolChange | undefined> => {
            const live = (): Promise<KnownPool | undefined> => cache.live(address.pool, signal);
            const now = await retryUntilAnswered(live, { signal, clock, onRepeat: () => metrics.retry() });
            const before = pools.find(({ pool }) => pool.name === address.pool);
            if (now === undefined || before === undefined) throw noPool(address.pool, network);
            if (isSameVersion(now.version, before.version)) return undefined;
            const isLost = now.isDeleting && !before.isDeleting && isFresh(address);
            const difference = isLost ? `IPPool ${address.pool} was being deleted` : differenceOf(address, now.pool);
            return difference === undefined ? undefined : { address, difference };
        }),
    );
    return found.find((one) => one !== undefined);
}

/** Dependencies of PoolChanges. */
export interface PoolChangesComponents {
    readonly own: OwnAllocations;
    readonly cache: Pick<PoolCache, "isMissing" | "known">;
    readonly events: Pick<PodEvents, "poolChanged">;
    readonly logger: Logger;
}

type ChangedAddresses = Map<string, { readonly version: string; readonly isReported: boolean }>;

/**
 * Finds interfaces that were set up by an earlier definition of their pool, and reports those that differ from the
 * current one, once per definition in the log and, as soon as the Pod's name is known, as an event. Running containers
 * are not changed: their traffic continues as long as the network permits.
 */
export class PoolChanges {
    readonly #components: PoolChangesComponents;
    /** Differing addresses by allocation, with the definition that was logged and whether the Pod has its event. */
    #changed: ChangedAddresses = new Map();
    /** Pools missing at the last check: the watch may not have delivered them yet. */
    #missing: ReadonlySet<string> = new Set();

    constructor(components: PoolChangesComponents) {
        this.#components = components;
    }

    /** Number of addresses of running containers whose pool settings had changed at the last check. */
    get size(): number {
        return this.#changed.size;
    }

    /**
     * Checks all interfaces against the caches, without requests; what is not synced is not reported. To be called
     * periodically: a missing pool is reported by the second check in a row that finds it missing.
     */
    check(interfaces: readonly PoolInterface[]): void {
        const before = this.#changed;
        this.#changed = new Map();
        const missing = new Set<string>();
        for (const wired of interfaces) this.#checkInterface(wired, before, missing);
        this.#missing = missing;
    }

    #checkInterface(wired: PoolInterface, before: Readonly<ChangedAddresses>, missing: Set<string>): void {
        const { own, cache } = this.#components;
        const allocations = own.ofContainer(wired);
        const found = wired.addresses.flatMap((address) => {
            const allocation = allocations.find(({ spec }) => spec.address === formatIp(address.ip));
            return allocation === undefined ? [] : [{ address, allocation, known: cache.known(allocation.spec.pool) }];
        });
        // An interface has one VLAN; outside bridging mode its addresses may have two.
        const vlans = found.flatMap(({ address, known }) =>
            known ? [known.pool.subnetOf(address.ip)?.vlan ?? 0] : [],
        );
        const isVlanSame = vlans.length < wired.addresses.length || Math.max(0, ...vlans) === wired.vlan;
        for (const { address, allocation, known } of found) {
            if (known === undefined) {
                this.#poolIsMissing(wired, allocation, before, missing);
                continue;
            }
            if (isOfVersion(allocation, known.version)) continue;
            const difference = differenceOf({ ...address, vlan: isVlanSame ? undefined : wired.vlan }, known.pool);
            if (difference === undefined) continue;
            this.#report(wired, allocation, { difference, version: known.version }, before);
        }
    }

    #poolIsMissing(
        wired: PoolInterface,
        allocation: IpAllocation,
        before: Readonly<ChangedAddresses>,
        missing: Set<string>,
    ): void {
        const { pool } = allocation.spec;
        if (!this.#components.cache.isMissing(pool)) return;
        missing.add(pool);
        if (!this.#missing.has(pool)) return;
        const difference = `IPPool ${pool} no longer exists`;
        this.#report(wired, allocation, { difference, version: { uid: "", generation: 0 } }, before);
    }

    /** Reports a difference once per pool definition. */
    #report(
        wired: PoolInterface,
        allocation: IpAllocation,
        { difference, version }: { readonly difference: string; readonly version: PoolVersion },
        before: Readonly<ChangedAddresses>,
    ): void {
        const { events, logger } = this.#components;
        const key = `${allocation.metadata?.uid} ${objectName(allocation)}`;
        const text = `${version.uid} ${version.generation}`;
        const reported = before.get(key);
        const isKnown = reported?.version === text;
        const pod = podOf(wired);
        // If the Pod is not known yet, a later check records the event.
        const isReported =
            (isKnown && reported.isReported) || events.poolChanged(pod, allocation.spec.address, difference);
        this.#changed.set(key, { version: text, isReported });
        if (isKnown) return;
        logger.warn("a Pod has an address that its IPPool describes otherwise", {
            pod: `${pod.namespace}/${pod.name}`,
            address: allocation.spec.address,
            difference,
        });
    }
}
