import { settleAll } from "@antrea/async";
import { type IpAllocation } from "@antrea/crd";
import { type Family, type IpAddress } from "@antrea/ip";
import { addressOf } from "./claimed-address.ts";
import { type AllocationWriter } from "./allocation-writer.ts";
import { isForPod, type Holder } from "./allocations.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type KnownPool, type PoolCache } from "./pool-cache.ts";
import { type PoolSearch } from "./pool-search.ts";
import { exhausted, heldByOther, notInPool, openPools } from "./refusals.ts";
import { type Reservations } from "./reservations.ts";
import { type ClaimedAddress, type SetPlace } from "./types.ts";

/** Dependencies of AddressAllocations. */
export interface AddressAllocationsComponents {
    readonly cache: Pick<PoolCache, "reason">;
    readonly own: Pick<OwnAllocations, "ofPod">;
    readonly writer: Pick<AllocationWriter, "create" | "find" | "free" | "take" | "unanswered">;
    readonly reservations: Pick<Reservations, "take">;
    /** Returns the search state of the pool of this name; the same object for later allocations. */
    readonly search: (pool: string) => PoolSearch;
    readonly metrics: Pick<IpamMetrics, "conflict">;
}

/**
 * The request for one address of an interface: `pools` are all of `family`, in the order in which they are tried;
 * `fixed` undefined takes any free address.
 */
export interface FamilyRequest {
    readonly family: Family;
    readonly pools: readonly KnownPool[];
    readonly fixed: IpAddress | undefined;
}

/**
 * Allocates the addresses of an interface, one of each family, from the pool definitions of the request. Calls for the
 * same Pod interface must not overlap: the caller serializes them.
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
     * Allocates the requested addresses, in the order of `wanted`, reusing those that the Pod has; frees those of the
     * Pod's interface that none of the pools contains now. Rejects with IpPoolError or, if the API server gives no
     * final answer before `limit` aborts, KubeError or the signal's reason: some may be allocated then, and the caller
     * frees them.
     *
     * @param wanted at most one entry per family
     * @param place the place of the Pod in its StatefulSet, whose reservations are then waited for; undefined for other
     * Pods
     * @param limit ends retries and waits; a write in flight is still awaited
     */
    async claim(
        wanted: readonly FamilyRequest[],
        place: SetPlace | undefined,
        holder: Holder,
        limit: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        await this.#giveBackLost(wanted, holder, limit);
        return place === undefined
            ? settleAll(wanted.map((one) => this.#claimOne(one, holder, limit)))
            : this.#claimReserved(wanted, place, holder, limit);
    }

    async #claimOne(wanted: FamilyRequest, holder: Holder, limit: AbortSignal): Promise<ClaimedAddress> {
        const own = await this.#adopted(wanted, holder, limit);
        if (own !== undefined) return own;
        const { family, pools, fixed } = wanted;
        const fresh =
            fixed === undefined
                ? await this.#claimAny(family, pools, holder, limit)
                : await this.#claimFixed(fixed, pools, holder, limit);
        this.#fresh.add(fresh);
        return fresh;
    }

    /** Takes the reservations of the Pod's ordinal; for the families without an address, all or none. */
    async #claimReserved(
        wanted: readonly FamilyRequest[],
        place: SetPlace,
        holder: Holder,
        limit: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const own = await settleAll(wanted.map((one) => this.#adopted(one, holder, limit)));
        const lacking = wanted.filter((_, at) => own[at] === undefined);
        const reservations = lacking.map(({ pools, fixed }) => {
            return { place, pools, fixed, addressOf: (allocation: IpAllocation) => addressOf(allocation, pools) };
        });
        const taken = await this.#components.reservations.take(reservations, holder, limit);
        const ofFamily = new Map(
            [...own, ...taken].flatMap((one) => (one === undefined ? [] : [[one.ip.family, one]])),
        );
        return wanted.flatMap(({ family }) => ofFamily.get(family) ?? []);
    }

    /**
     * Frees addresses from an earlier sandbox of the Pod's interface that belong to none of the pools the Pod names
     * now, e.g. after a pool was shrunk or the Namespace annotation changed.
     */
    async #giveBackLost(wanted: readonly FamilyRequest[], holder: Holder, limit: AbortSignal): Promise<void> {
        const { own, writer } = this.#components;
        const { pod, ifName } = holder;
        for (const family of [4, 6] as const) {
            const pools = wanted.find((one) => one.family === family)?.pools ?? [];
            for (const allocation of own.ofPod(pod.uid, ifName, family)) {
                if (addressOf(allocation, pools) !== undefined) continue;
                await writer.free(allocation, (current) => isForPod(current, pod.uid, ifName), limit);
            }
        }
    }

    /** Reuses an allocation of the Pod's interface from an earlier sandbox or an earlier attempt. */
    async #adopted(
        { family, pools, fixed }: FamilyRequest,
        holder: Holder,
        limit: AbortSignal,
    ): Promise<ClaimedAddress | undefined> {
        const { own, writer } = this.#components;
        for (const allocation of own.ofPod(holder.pod.uid, holder.ifName, family)) {
            const address = addressOf(allocation, pools);
            if (address === undefined || (fixed !== undefined && fixed.value !== address.ip.value)) continue;
            const version = pools.find(({ pool }) => pool.name === address.pool)?.version;
            if ((await writer.take(allocation, holder, limit, version)) !== undefined) return address;
        }
        return undefined;
    }

    async #claimFixed(
        ip: IpAddress,
        pools: readonly KnownPool[],
        holder: Holder,
        limit: AbortSignal,
    ): Promise<ClaimedAddress> {
        const { cache, writer } = this.#components;
        const open = openPools(pools.filter(({ pool }) => pool.addresses.has(ip)));
        const home = open.find(({ usable }) => usable.has(ip));
        if (home === undefined) throw notInPool(ip, pools, cache);
        const allocation = await writer.create(ip, home.pool.name, holder, {
            signal: limit,
            readExisting: true,
            version: home.version,
        });
        const address = allocation && addressOf(allocation, pools);
        if (address !== undefined) return address;
        const other = await writer.find(ip, limit);
        throw heldByOther(ip, home.pool.name, other);
    }

    async #claimAny(
        family: Family,
        pools: readonly KnownPool[],
        holder: Holder,
        limit: AbortSignal,
    ): Promise<ClaimedAddress> {
        const { metrics, search, writer } = this.#components;
        const open = openPools(pools);
        const attempt = async (ip: IpAddress, known: KnownPool): Promise<ClaimedAddress | undefined> => {
            const { pool, version } = known;
            const allocation = await writer.create(ip, pool.name, holder, { signal: limit, version });
            if (allocation === undefined) metrics.conflict();
            return allocation && addressOf(allocation, pools);
        };
        // The outcome of an earlier create for this interface is unknown: retry its name first.
        const unanswered = writer.unanswered(holder, family);
        const home = unanswered && open.find(({ usable }) => usable.has(unanswered));
        const again = unanswered && home && (await attempt(unanswered, home));
        if (again !== undefined) return again;
        for (const known of open) {
            for await (const ip of search(known.pool.name).candidates(known, limit)) {
                const claimed = await attempt(ip, known);
                if (claimed !== undefined) return claimed;
                limit.throwIfAborted();
            }
        }
        throw exhausted(open);
    }
}
