import { KeyedLock, type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { isKubeError } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { AddressAllocations, type AddressAllocationsComponents } from "./address-allocations.ts";
import { type AllocationWriter } from "./allocation-writer.ts";
import { objectName, type Holder } from "./allocations.ts";
import { demandsOf, isForNetwork, poolNamesOf } from "./demands.ts";
import { apiAway, IpPoolError, ofNetwork } from "./errors.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type OwnNode } from "./own-node.ts";
import { type PodEvents } from "./pod-events.ts";
import { type KnownPool, type PoolCache } from "./pool-cache.ts";
import { changedSince } from "./pool-changes.ts";
import { noPool, poolChanged, refuseTwoVlans, refuseVlansApart } from "./refusals.ts";
import { Releases } from "./releases.ts";
import { isRetryable } from "./requests.ts";
import { type AllocationRequest, type ClaimedAddress, type NetworkRequest, type PoolChange } from "./types.ts";
import { type Attachment } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of PoolAllocator. */
export interface PoolAllocatorComponents extends AddressAllocationsComponents {
    readonly cache: PoolCache;
    readonly own: OwnAllocations;
    readonly node: Pick<OwnNode, "confirm">;
    readonly writer: AllocationWriter;
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

/** Deadline for one allocation with all its requests; a request in flight at the deadline is still awaited. */
const deadlineMs = 40_000;

/** Number of attempts before the allocation fails with POOL_CHANGED. */
const allocationTries = 3;

/**
 * Allocates and frees IPPool addresses for the Pod interfaces of this Node, as IPAllocation objects. `claim`,
 * `releaseAll` and `settle` run one at a time for an interface, in parallel for others; `release` waits for none of
 * them.
 */
export class PoolAllocator {
    readonly #components: PoolAllocatorComponents;
    readonly #nodeName: string;
    readonly #bridged: boolean;
    readonly #podLocks = new KeyedLock();
    readonly #addresses: AddressAllocations;
    readonly #releases: Releases;

    constructor(components: PoolAllocatorComponents, options: PoolAllocatorOptions) {
        this.#components = components;
        this.#addresses = new AddressAllocations(components);
        this.#releases = new Releases(components);
        this.#nodeName = options.nodeName;
        this.#bridged = options.bridged ?? false;
    }

    /**
     * Allocates one address for each demand of the request (`demandsOf`), in their order, all or nothing, within 40 s
     * once earlier calls for the interface have ended. The VLANs of pools count for a Pod's own interface only. Idempotent per (Pod UID, interface): a retry, also for another container, returns the same addresses.
     * Rejects with IpPoolError, the KubeError of a refused request, or on abort the signal's reason (AsyncError
     * `ABORTED` while it waits for an earlier call); unless `isAborted`, the error is counted and recorded as an event
     * on the Pod. What was allocated is freed before it rejects, or by `settle`; for an interface of a network, what it
     * had before stays, unless a release of it was due.
     *
     * @param checkpoint throws if nothing must be allocated; called when nothing else works on the interface
     */
    async claim(
        request: AllocationRequest | NetworkRequest,
        signal: AbortSignal,
        checkpoint: () => void = () => undefined,
    ): Promise<readonly ClaimedAddress[]> {
        const { clock, events, metrics } = this.#components;
        const { pod, ifName } = request;
        const began = clock.monotonic();
        try {
            const work = (): Promise<readonly ClaimedAddress[]> => {
                checkpoint();
                return this.#withinDeadline(request, signal);
            };
            const claimed = await this.#podLocks.run(
                `${pod.uid}/${ifName}`,
                () => this.#releases.exclusively(request, work, signal),
                signal,
            );
            metrics.claimed((clock.monotonic() - began) / 1000);
            if (!this.#bridged && !isForNetwork(request)) events.notRouted(pod, claimed);
            return claimed;
        } catch (error) {
            if (isAborted(error)) throw error;
            const failure = isForNetwork(request) ? ofNetwork(error, request) : error;
            metrics.failed(failure instanceof IpPoolError ? failure.code : "INTERNAL");
            events.allocationFailed(pod, failure, request);
            throw failure;
        }
    }

    /**
     * Frees the address, or keeps it reserved for its StatefulSet, if the IPAllocation names this container; at once,
     * also while `claim` runs. Succeeds if the allocation is already gone or belongs to another container. Rejects as
     * AllocationWriter does; `settle` does not retry it.
     */
    release(attachment: Attachment, ip: IpAddress, signal: AbortSignal): Promise<void> {
        return this.#releases.release(attachment, ip, signal);
    }

    /**
     * Frees all known allocations of a container's interface, as `release` does, after a `claim()` in progress. If it
     * rejects, also because the signal aborted meanwhile, `settle` frees the remaining ones, unless an ADD takes them
     * first.
     */
    releaseAll(attachment: Attachment, signal: AbortSignal): Promise<void> {
        return this.#releases.releaseAll(attachment, signal);
    }

    /** Whether a release of the interface could not be completed yet. */
    isReleaseDue(attachment: Attachment): boolean {
        return this.#releases.isDue(attachment);
    }

    /** Runs the work while nothing of the interface is allocated or freed by `releaseAll` or `settle`. */
    exclusively<T>(attachment: Attachment, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
        return this.#releases.exclusively(attachment, work, signal);
    }

    /**
     * Retries the releases that `releaseAll`, or a failed `claim`, could not complete, in order. Rejects with the first
     * failure; it and those after it stay due.
     */
    settle(signal: AbortSignal): Promise<void> {
        return this.#releases.settle(signal);
    }

    async #withinDeadline(
        request: AllocationRequest | NetworkRequest,
        signal: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
        try {
            return await this.#claimAll(request, limit);
        } catch (error) {
            if (error instanceof IpPoolError) throw error;
            signal.throwIfAborted();
            if (!limit.aborted && !isRetryable(error) && !isKubeError(error, "ABORTED")) throw error;
            const { cache, own } = this.#components;
            const known = cache.lastError ?? own.lastError;
            const cause = known ?? (limit.aborted && isAborted(error) ? limit.reason : error);
            throw apiAway(
                `the allocation of an address of IPPool ${poolNamesOf(request).join(isForNetwork(request) ? " and " : " or ")}`,
                cause,
            );
        }
    }

    /** Repeats the allocation until it matches the current pool definitions, since the IPPool watch may lag behind. */
    async #claimAll(
        request: AllocationRequest | NetworkRequest,
        limit: AbortSignal,
    ): Promise<readonly ClaimedAddress[]> {
        const { pod } = request;
        if (pod.uid === "") throw new IpPoolError("POD_GONE", `Pod ${pod.namespace}/${pod.name} no longer exists`);
        await this.#components.node.confirm(limit);
        // A repeated ADD of an interface of a network, which is not known here, may fail: what is in use stays.
        const before = isForNetwork(request) ? this.#components.own.ofContainer(request).map(objectName) : [];
        let kept: readonly string[] = before;
        for (let changed: PoolChange | undefined, left = allocationTries; ; left -= 1) {
            if (left === 0 && changed !== undefined) throw poolChanged(changed);
            const once = await this.#claimOnce(request, kept, limit);
            const { claimed, pools } = once;
            kept = once.kept;
            try {
                const isFresh = (address: ClaimedAddress): boolean => this.#addresses.isFresh(address);
                const network = isForNetwork(request) ? request.network : undefined;
                changed = await changedSince(this.#components, { claimed, pools, isFresh, network, signal: limit });
            } catch (error) {
                await this.#releases.giveBack(request, kept);
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
            await this.#releases.giveBack(request, kept);
        }
    }

    /**
     * One attempt. Resolves also with the names of the allocations to keep if a later step fails: those of `before`, none if a
     * release of them was due.
     */
    async #claimOnce(
        request: AllocationRequest | NetworkRequest,
        before: readonly string[],
        limit: AbortSignal,
    ): Promise<{
        readonly claimed: readonly ClaimedAddress[];
        readonly pools: readonly KnownPool[];
        readonly kept: readonly string[];
    }> {
        const { pod, containerId, ifName } = request;
        const [pools] = await Promise.all([this.#pools(request, limit), this.#components.own.synced(limit)]);
        const demands = demandsOf(request, pools);
        const network = isForNetwork(request) ? request.network : undefined;
        if (this.#bridged && network === undefined) refuseVlansApart(pools);
        const holder: Holder = { pod, nodeName: this.#nodeName, containerId, ifName, network };
        // After a DEL that could not free them nothing is in use.
        const kept = this.#releases.cancel(request) ? [] : before;
        try {
            const claimed = await this.#addresses.claim(demands, request.statefulSet, holder, limit);
            limit.throwIfAborted();
            // Outside bridging mode frames are untagged, so only combinations that no bridged Pod could use are rejected.
            if (network === undefined) refuseTwoVlans(claimed.filter(({ vlan }) => this.#bridged || vlan !== 0));
            return { claimed, pools, kept };
        } catch (error) {
            await this.#releases.giveBack(request, kept);
            throw error;
        }
    }

    async #pools(request: AllocationRequest | NetworkRequest, signal: AbortSignal): Promise<readonly KnownPool[]> {
        const found: KnownPool[] = [];
        // Sequential: the annotation may name many missing pools, and the first one fails the allocation.
        for (const name of poolNamesOf(request)) {
            const known = await this.#components.cache.find(name, signal);
            if (known === undefined) throw noPool(name, isForNetwork(request) ? request.network : undefined);
            if (known.pool.addresses.isEmpty && known.pool.problems.length > 0) {
                throw new IpPoolError("NO_POOL", `IPPool ${name} cannot be used: ${known.pool.problems.join("; ")}`);
            }
            found.push(known);
        }
        return found;
    }
}
