import { settleAll } from "@antrea/async";
import { type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { addressOf } from "./claimed-address.ts";
import { type AllocationWriter } from "./allocation-writer.ts";
import { isForPod, type Holder } from "./allocations.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type KnownPool, type PoolCache } from "./pool-cache.ts";
import { type PoolSearch } from "./pool-search.ts";
import { ownerOf, type OrdinalAllocations, type OrdinalHolder } from "./ordinal-allocations.ts";
import { exhausted, heldByOther, notInPool, openPools } from "./refusals.ts";
import { type Reservations } from "./reservations.ts";
import { type Demand } from "./demand.ts";
import { type ClaimedAddress, type SetPlace } from "./types.ts";

/** Dependencies of AddressAllocations. */
export interface AddressAllocationsComponents {
    readonly cache: Pick<PoolCache, "reason">;
    readonly own: Pick<OwnAllocations, "ofPod">;
    readonly writer: Pick<AllocationWriter, "create" | "find" | "free" | "mayBeFreed" | "take" | "unanswered">;
    /** Of the Pods' own interfaces. */
    readonly reservations: Pick<Reservations, "take">;
    /** Of the interfaces of networks. */
    readonly ordinals: Pick<OrdinalAllocations, "settled" | "take">;
    /** Returns the search state of the pool of this name; the same object for later allocations. */
    readonly search: (pool: string) => PoolSearch;
    readonly metrics: Pick<IpamMetrics, "conflict">;
}

/**
 * Allocates the addresses of an interface, one for each demand, from the pool definitions in it. Calls for the same Pod
 * interface must not overlap: the caller serializes them.
 */
export class AddressAllocations {
    readonly #components: AddressAllocationsComponents;
    /** Addresses that neither the Pod nor its StatefulSet ordinal held before. */
    readonly #fresh = new WeakSet<ClaimedAddress>();

    constructor(components: AddressAllocationsComponents) {
        this.#components = components;
    }

    /**
     * Whether neither the Pod nor its StatefulSet ordinal held the address before. `address` is an object that `claim`
     * returned: it is compared by identity.
     */
    isFresh(address: ClaimedAddress): boolean {
        return this.#fresh.has(address);
    }

    /**
     * Allocates the addresses, in the order of `demands`, reusing those that the Pod has; frees those of the Pod's
     * interface that no demand is for. Rejects with IpPoolError or, if the API server gives no
     * final answer before `limit` aborts, KubeError or the signal's reason: some may be allocated then, and the caller
     * frees them.
     *
     * @param place the place of the Pod in its StatefulSet, whose address is taken: for the Pod's own interface its
     * reservations are waited for, for one of a network it is claimed for the ordinal if there is none; undefined for
     * other Pods
     * @param limit ends retries and waits; a write in flight is still awaited
     */
    async claim(
        demands: readonly Demand[],
        place: SetPlace | undefined,
        holder: Holder,
        limit: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        await this.#giveBackLost(demands, holder, limit);
        if (place === undefined) return settleAll(demands.map((demand) => this.#claimOne(demand, holder, limit)));
        return holder.network === undefined
            ? this.#claimReserved(demands, place, holder, limit)
            : this.#claimForOrdinal(demands, { place, holder }, limit);
    }

    async #claimOne(demand: Demand, holder: Holder, limit: AbortSignal): Promise<ClaimedAddress> {
        return (await this.#adopted(demand, holder, limit)) ?? this.#claimFresh(demand, holder, undefined, limit);
    }

    async #claimFresh(
        { pools, fixed }: Demand,
        holder: Holder,
        owner: AllocationOwner | undefined,
        limit: AbortSignal,
    ): Promise<ClaimedAddress> {
        const fresh =
            fixed === undefined
                ? await this.#claimAny(pools, holder, owner, limit)
                : await this.#claimFixed(fixed, pools, holder, owner, limit);
        this.#fresh.add(fresh);
        return fresh;
    }

    /** What the Pod has, what is kept for its ordinal, and else new addresses, claimed for the ordinal. */
    async #claimForOrdinal(
        demands: readonly Demand[],
        ordinal: OrdinalHolder,
        limit: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const { ordinals } = this.#components;
        const { holder } = ordinal;
        const own = await settleAll(demands.map((demand) => this.#adopted(demand, holder, limit)));
        const lacking = demands.filter((_, at) => own[at] === undefined);
        const taken = await ordinals.take(lacking, ordinal, limit);
        const found = await settleAll(
            lacking.map(async (demand, at) => {
                const kept = taken[at];
                if (kept !== undefined) return kept;
                const fresh = await this.#claimFresh(demand, holder, ownerOf(ordinal), limit);
                return ordinals.settled(demand, fresh, ordinal, limit);
            }),
        );
        const rest = found.values();
        return own.flatMap((one) => one ?? rest.next().value ?? []);
    }

    /** Takes the reservations of the Pod's ordinal; for the demands without an address, all or none. */
    async #claimReserved(
        demands: readonly Demand[],
        place: SetPlace,
        holder: Holder,
        limit: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const own = await settleAll(demands.map((demand) => this.#adopted(demand, holder, limit)));
        const lacking = demands.filter((_, at) => own[at] === undefined);
        const reservations = lacking.map(({ pools, fixed }) => {
            return { place, pools, fixed, addressOf: (allocation: IpAllocation) => addressOf(allocation, pools) };
        });
        const taken = (await this.#components.reservations.take(reservations, holder, limit)).values();
        return own.flatMap((one) => one ?? taken.next().value ?? []);
    }

    /**
     * Frees addresses from an earlier sandbox of the Pod's interface that are in no pool of a demand, e.g. after a pool
     * was shrunk or the Namespace annotation changed.
     */
    async #giveBackLost(demands: readonly Demand[], holder: Holder, limit: AbortSignal): Promise<void> {
        const { own, writer } = this.#components;
        const { pod, ifName } = holder;
        for (const allocation of own.ofPod(pod.uid, ifName)) {
            if (demands.some(({ pools }) => addressOf(allocation, pools) !== undefined)) continue;
            await writer.free(allocation, (current) => isForPod(current, pod.uid, ifName), limit);
        }
    }

    /** Reuses an allocation of the Pod's interface from an earlier sandbox or an earlier attempt. */
    async #adopted({ pools, fixed }: Demand, holder: Holder, limit: AbortSignal): Promise<ClaimedAddress | undefined> {
        const { own, writer } = this.#components;
        for (const allocation of own.ofPod(holder.pod.uid, holder.ifName)) {
            const address = addressOf(allocation, pools);
            if (address === undefined || (fixed !== undefined && fixed.value !== address.ip.value)) continue;
            if (writer.mayBeFreed(allocation)) {
                await writer.free(allocation, (current) => isForPod(current, holder.pod.uid, holder.ifName), limit);
                continue;
            }
            const version = pools.find(({ pool }) => pool.name === address.pool)?.version;
            if ((await writer.take(allocation, holder, limit, version)) !== undefined) return address;
        }
        return undefined;
    }

    async #claimFixed(
        ip: IpAddress,
        pools: readonly KnownPool[],
        holder: Holder,
        owner: AllocationOwner | undefined,
        limit: AbortSignal,
    ): Promise<ClaimedAddress> {
        const { cache, writer } = this.#components;
        const open = openPools(
            pools.filter(({ pool }) => pool.addresses.has(ip)),
            holder.network,
        );
        const home = open.find(({ usable }) => usable.has(ip));
        if (home === undefined) throw notInPool(ip, pools, cache);
        const allocation = await writer.create(ip, home.pool.name, holder, {
            signal: limit,
            readExisting: true,
            owner,
            version: home.version,
        });
        const address = allocation && addressOf(allocation, pools);
        if (address !== undefined) return address;
        const other = await writer.find(ip, limit);
        throw heldByOther(ip, home.pool.name, other);
    }

    async #claimAny(
        pools: readonly KnownPool[],
        holder: Holder,
        owner: AllocationOwner | undefined,
        limit: AbortSignal,
    ): Promise<ClaimedAddress> {
        const { metrics, search, writer } = this.#components;
        const open = openPools(pools, holder.network);
        const attempt = async (ip: IpAddress, known: KnownPool): Promise<ClaimedAddress | undefined> => {
            const { pool, version } = known;
            const allocation = await writer.create(ip, pool.name, holder, { signal: limit, owner, version });
            if (allocation === undefined) metrics.conflict();
            return allocation && addressOf(allocation, pools);
        };
        for (const known of open) {
            // The outcome of an earlier create for this interface is unknown: retry its name first.
            const unanswered = writer.unanswered(holder, known.pool.name);
            if (unanswered === undefined || !known.usable.has(unanswered)) continue;
            const again = await attempt(unanswered, known);
            if (again !== undefined) return again;
        }
        for (const known of open) {
            for await (const ip of search(known.pool.name).candidates(known, limit)) {
                const claimed = await attempt(ip, known);
                if (claimed !== undefined) return claimed;
                limit.throwIfAborted();
            }
        }
        throw exhausted(open, holder.network);
    }
}
