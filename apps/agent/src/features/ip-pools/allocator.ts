import { KeyedLock, type Clock, settleAll } from "@antrea/async";
import { allocationName, type IpAllocation } from "@antrea/crd";
import { isAborted, messageOf } from "@antrea/errors";
import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import { isKubeError } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { type ClaimWriter } from "./claim-writer.ts";
import { claimIp, isForPod, namesContainer, type Holder } from "./claims.ts";
import { apiAway, IpPoolError } from "./errors.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnClaims } from "./own-claims.ts";
import { type OwnNode } from "./own-node.ts";
import { type PodEvents } from "./pod-events.ts";
import { type KnownPool, type PoolCache } from "./pool-cache.ts";
import { type PoolSearch } from "./pool-search.ts";
import { changedSince } from "./pool-changes.ts";
import {
    exhausted,
    heldByOther,
    noPool,
    openPools,
    poolChanged,
    refuseVlansApart,
    vlanConflict,
    type PoolsInVlans,
} from "./refusals.ts";
import { isRetryable } from "./requests.ts";
import { type Reservations } from "./reservations.ts";
import { type ClaimedAddress, type ClaimRequest, type PoolChange, type SetPlace } from "./types.ts";
import { type Attachment, attachmentKey } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of PoolAllocator. */
export interface PoolAllocatorComponents {
    readonly book: PoolCache;
    readonly own: OwnClaims;
    readonly node: Pick<OwnNode, "confirm">;
    readonly writer: ClaimWriter;
    readonly reservations: Reservations;
    /** Returns the search state of a pool, which is reused by later allocations. */
    readonly search: (pool: string) => PoolSearch;
    readonly clock: Clock;
    readonly events: Pick<PodEvents, "allocationFailed" | "notRouted">;
    readonly metrics: IpamMetrics;
    readonly logger: Logger;
}

/** Settings of PoolAllocator. */
export interface PoolAllocatorOptions {
    readonly nodeName: string;
    /** Pods are attached to the physical network; else an event reports the addresses as not routed. Default false. */
    readonly bridged?: boolean | undefined;
}

/** One requested address: the family, its candidate pools and an optional fixed address. */
interface FamilyRequest {
    readonly family: Family;
    readonly pools: readonly KnownPool[];
    readonly fixed: IpAddress | undefined;
}

/** Deadline for one allocation with all its requests; a request in flight at the deadline is still awaited. */
const deadlineMs = 40_000;

/** Number of attempts before the allocation fails with POOL_CHANGED. */
const claimTries = 3;

/** Limit for releasing addresses of a failed attempt; the reconciler frees whatever remains. */
const giveBackMs = 5_000;

/** Allocates and frees IPPool addresses for the Pod interfaces of this Node, as IPAllocation objects. */
export class PoolAllocator {
    readonly #components: PoolAllocatorComponents;
    readonly #nodeName: string;
    readonly #bridged: boolean;
    readonly #podLocks = new KeyedLock();
    readonly #containerLocks = new KeyedLock();
    /** Attachments whose release failed because the API server was unavailable; `settle` retries them. */
    readonly #owed = new Map<string, Attachment>();
    /** Addresses that neither the Pod nor its StatefulSet ordinal held before. */
    readonly #fresh = new WeakSet<ClaimedAddress>();

    constructor(components: PoolAllocatorComponents, options: PoolAllocatorOptions) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        this.#bridged = options.bridged ?? false;
    }

    /**
     * Allocates one address per family of the pools, all or nothing. Idempotent per (Pod UID, interface): a retry, also
     * for another container, returns the same addresses. Rejects with IpPoolError, also recorded as an event on the
     * Pod.
     */
    async claim(request: ClaimRequest, signal: AbortSignal): Promise<readonly ClaimedAddress[]> {
        const { clock, events, metrics } = this.#components;
        const { pod, ifName } = request;
        const began = clock.monotonic();
        try {
            const claimed = await this.#podLocks.run(
                `${pod.uid}/${ifName}`,
                () =>
                    this.#containerLocks.run(
                        attachmentKey(request),
                        () => this.#withinDeadline(request, signal),
                        signal,
                    ),
                signal,
            );
            metrics.claimed((clock.monotonic() - began) / 1000);
            if (!this.#bridged) events.notRouted(pod, claimed);
            return claimed;
        } catch (error) {
            if (!isAborted(error)) {
                metrics.failed(error instanceof IpPoolError ? error.code : "INTERNAL");
                events.allocationFailed(pod, error);
            }
            throw error;
        }
    }

    /**
     * Frees the address, or keeps it reserved for its StatefulSet, if the IPAllocation names this container. Succeeds
     * if the allocation is already gone or belongs to another container.
     */
    async release(attachment: Attachment, ip: IpAddress, signal: AbortSignal): Promise<void> {
        const { own, writer } = this.#components;
        const claim = own.get(allocationName(ip)) ?? (await writer.find(ip, signal));
        if (claim !== undefined) await this.#free(claim, attachment, signal);
    }

    /** Frees all allocations of a container's interface. If it rejects, `settle` frees the remaining ones. */
    releaseAll(attachment: Attachment, signal: AbortSignal): Promise<void> {
        this.#owed.set(attachmentKey(attachment), attachment);
        const release = (): Promise<void> => this.#releaseOwed(attachment, signal);
        return this.#containerLocks.run(attachmentKey(attachment), release, signal);
    }

    /** Retries the releases that `releaseAll` could not complete. */
    async settle(signal: AbortSignal): Promise<void> {
        for (const attachment of [...this.#owed.values()]) {
            await this.#containerLocks.run(
                attachmentKey(attachment),
                () => this.#releaseOwed(attachment, signal),
                signal,
            );
        }
    }

    /** Called with the container lock held. A concurrent ADD may have taken over the allocations. */
    async #releaseOwed(attachment: Attachment, signal: AbortSignal): Promise<void> {
        if (!this.#owed.has(attachmentKey(attachment))) return;
        const claims = this.#components.own.ofContainer(attachment);
        await Promise.all(claims.map((claim) => this.#free(claim, attachment, signal)));
        this.#owed.delete(attachmentKey(attachment));
    }

    #free(claim: IpAllocation, attachment: Attachment, signal: AbortSignal): Promise<void> {
        return this.#components.writer.free(claim, (current) => namesContainer(current, attachment), signal);
    }

    async #withinDeadline(request: ClaimRequest, signal: AbortSignal): Promise<readonly ClaimedAddress[]> {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
        try {
            return await this.#claimAll(request, limit);
        } catch (error) {
            if (error instanceof IpPoolError) throw error;
            signal.throwIfAborted();
            if (!limit.aborted && !isRetryable(error) && !isKubeError(error, "ABORTED")) throw error;
            const { book, own } = this.#components;
            const known = book.lastError ?? own.lastError;
            const cause = known ?? (limit.aborted && isAborted(error) ? limit.reason : error);
            throw apiAway(`the allocation of an address of IPPool ${request.pools.join(" or ")}`, cause);
        }
    }

    /** Repeats the allocation until it matches the current pool definitions, since the IPPool watch may lag behind. */
    async #claimAll(request: ClaimRequest, limit: AbortSignal): Promise<readonly ClaimedAddress[]> {
        const { pod } = request;
        if (pod.uid === "") throw new IpPoolError("POD_GONE", `Pod ${pod.namespace}/${pod.name} no longer exists`);
        await this.#components.node.confirm(limit);
        for (let changed: PoolChange | undefined, left = claimTries; ; left -= 1) {
            if (left === 0 && changed !== undefined) throw poolChanged(changed);
            const { claimed, pools } = await this.#claimOnce(request, limit);
            try {
                const isFresh = (address: ClaimedAddress): boolean => this.#fresh.has(address);
                changed = await changedSince(this.#components, { claimed, pools, isFresh, signal: limit });
            } catch (error) {
                await this.#giveBack(request);
                throw error;
            }
            if (changed === undefined) return claimed;
            const { address, difference } = changed;
            this.#components.logger.info("IPPool changed during the allocation; allocating again", {
                pod: `${pod.namespace}/${pod.name}`,
                pool: address.pool,
                address: formatIp(address.ip),
                difference,
            });
            await this.#giveBack(request);
        }
    }

    async #claimOnce(
        request: ClaimRequest,
        limit: AbortSignal,
    ): Promise<{ readonly claimed: readonly ClaimedAddress[]; readonly pools: readonly KnownPool[] }> {
        const { pod, containerId, ifName } = request;
        const [pools] = await Promise.all([this.#pools(request, limit), this.#components.own.synced(limit)]);
        const families = [...Map.groupBy(pools, ({ pool }) => pool.family)];
        for (const ip of request.fixed) {
            if (families.some(([family]) => family === ip.family)) continue;
            throw new IpPoolError(
                "NOT_IN_POOL",
                `the fixed address ${formatIp(ip)} is of IPv${ip.family} and none of the IPPools ${request.pools.join(", ")} is; name an IPv${ip.family} IPPool too, or drop the address`,
            );
        }
        if (this.#bridged) refuseVlansApart(pools);
        const holder: Holder = { pod, nodeName: this.#nodeName, containerId, ifName };
        this.#owed.delete(attachmentKey(request));
        const wanted = families.map(([family, candidates]): FamilyRequest => {
            return { family, pools: candidates, fixed: request.fixed.find((ip) => ip.family === family) };
        });
        try {
            await this.#giveBackLost(wanted, holder, limit);
            const claimed =
                request.statefulSet === undefined
                    ? await settleAll(wanted.map((one) => this.#claimOne(one, holder, limit)))
                    : await this.#claimReserved(wanted, request.statefulSet, holder, limit);
            limit.throwIfAborted();
            this.#refuseTwoVlans(claimed);
            return { claimed, pools };
        } catch (error) {
            await this.#giveBack(request);
            throw error;
        }
    }

    /** Outside bridging mode frames are untagged, so only combinations that no bridged Pod could use are rejected. */
    #refuseTwoVlans(addresses: readonly ClaimedAddress[]): void {
        const [one, other] = addresses.filter(({ vlan }) => this.#bridged || vlan !== 0);
        if (one === undefined || other === undefined || one.vlan === other.vlan) return;
        const asPools = ({ pool, vlan }: ClaimedAddress): PoolsInVlans => ({ names: [pool], vlans: new Set([vlan]) });
        throw vlanConflict(asPools(one), asPools(other));
    }

    async #pools({ pools: names }: ClaimRequest, signal: AbortSignal): Promise<readonly KnownPool[]> {
        const found: KnownPool[] = [];
        // Sequential: the annotation may name many missing pools, and the first one fails the allocation.
        for (const name of names) {
            const known = await this.#components.book.find(name, signal);
            if (known === undefined) throw noPool(name);
            if (known.pool.addresses.isEmpty && known.pool.problems.length > 0) {
                throw new IpPoolError("NO_POOL", `IPPool ${name} cannot be used: ${known.pool.problems.join("; ")}`);
            }
            found.push(known);
        }
        return found;
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
            return { place, pools, fixed, addressOf: (claim: IpAllocation) => this.#described(claim, pools) };
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
            for (const claim of own.ofPod(pod.uid, ifName, family)) {
                if (this.#described(claim, pools) !== undefined) continue;
                await writer.free(claim, (current) => isForPod(current, pod.uid, ifName), limit);
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
        for (const claim of own.ofPod(holder.pod.uid, holder.ifName, family)) {
            const address = this.#described(claim, pools);
            if (address === undefined || (fixed !== undefined && fixed.value !== address.ip.value)) continue;
            const version = pools.find(({ pool }) => pool.name === address.pool)?.version;
            if ((await writer.take(claim, holder, limit, version)) !== undefined) return address;
        }
        return undefined;
    }

    async #claimFixed(
        ip: IpAddress,
        pools: readonly KnownPool[],
        holder: Holder,
        limit: AbortSignal,
    ): Promise<ClaimedAddress> {
        const { book, writer } = this.#components;
        const open = openPools(pools.filter(({ pool }) => pool.addresses.has(ip)));
        const home = open.find(({ usable }) => usable.has(ip));
        if (home === undefined) {
            const reasons = pools.map(
                ({ pool }) => `${book.reason(pool, ip) ?? "is handed out"} (IPPool ${pool.name})`,
            );
            throw new IpPoolError(
                "NOT_IN_POOL",
                `the fixed address ${formatIp(ip)} cannot be had: it ${reasons.join(", and ")}; choose another address or IPPool`,
            );
        }
        const claim = await writer.create(ip, home.pool.name, holder, {
            signal: limit,
            look: true,
            version: home.version,
        });
        const address = claim && this.#described(claim, pools);
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
            const claim = await writer.create(ip, pool.name, holder, { signal: limit, version });
            if (claim === undefined) metrics.conflict();
            return claim && this.#described(claim, pools);
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

    /** An allocation with the subnet settings of its pool; undefined if it is of another pool or outside its ranges. */
    #described(claim: IpAllocation, pools: readonly KnownPool[]): ClaimedAddress | undefined {
        const ip = claimIp(claim);
        const pool = pools.find((known) => known.pool.name === claim.spec.pool)?.pool;
        const subnet = pool?.subnetOf(ip);
        if (pool === undefined || subnet === undefined) return undefined;
        const { gateway, prefix, vlan } = subnet;
        return { ip, prefixLength: prefix.length, gateway, vlan, pool: pool.name };
    }

    /** Called with the container lock held. */
    async #giveBack({ containerId, ifName }: Attachment): Promise<void> {
        const attachment = { containerId, ifName };
        this.#owed.set(attachmentKey(attachment), attachment);
        try {
            await this.#releaseOwed(attachment, AbortSignal.timeout(giveBackMs));
        } catch (error) {
            this.#components.logger.warn("allocations of a failed ADD not released; left to the next reconcile", {
                container: containerId,
                reason: messageOf(error),
            });
        }
    }
}
