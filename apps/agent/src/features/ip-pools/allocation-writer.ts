import { type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { allocationName, ipAllocations, isOfPods, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { isKubeError, type ApiClient } from "@antrea/kube";
import {
    allocationIp,
    objectName,
    isForPod,
    isHeldBy,
    isOfVersion,
    mayTake,
    newAllocation,
    reservedAgain,
    takenBy,
    type Holder,
} from "./allocations.ts";
import { type Cooldown } from "./cooldown.ts";
import { IpPoolError } from "./errors.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { isRetryable, retryUntilAnswered } from "./requests.ts";
import { type PoolVersion } from "./types.ts";

/** Dependencies of AllocationWriter. */
export interface AllocationWriterComponents {
    readonly api: Pick<ApiClient, "create" | "update" | "delete" | "find">;
    readonly own: OwnAllocations;
    readonly cooldown: Cooldown;
    readonly clock: Clock;
    readonly metrics: Pick<IpamMetrics, "retry">;
}

/** Default timeout of one request in milliseconds; a request without an answer by then is repeated. */
const requestLimitMs = 12_000;
const maxUnanswered = 1_000;

/**
 * Writes IPAllocations so that the outcome of each write is known: a request without an answer is repeated under the
 * same name until it is answered. The server's answer is recorded in `own` at once, before the watch delivers it.
 * Methods reject with IpPoolError `REFUSED` if the server rejects a write for good, else with the KubeError of the last
 * request.
 *
 * The signal only ends the retries, also if it is aborted at the call: a request in flight is awaited, up to
 * `requestMs` (milliseconds, 12 s by default), since an aborted write may still take effect.
 */
export class AllocationWriter {
    readonly #components: AllocationWriterComponents;
    /** Creates abandoned without an answer, by holder and pool: the next attempt starts with the same name. */
    readonly #unanswered = new Map<string, IpAddress>();
    /**
     * The names of allocations that were to be freed, by a request that was abandoned without an answer: at most 1000 that
     * this Node does not have.
     */
    readonly #maybeFreed = new Set<string>();

    constructor(components: AllocationWriterComponents) {
        this.#components = components;
    }

    /**
     * The address of the last create for this Pod interface in the pool of this name if it was abandoned without a final
     * answer: it may be allocated. Undefined if there is none; the last 1000 are kept.
     */
    unanswered(holder: Holder, pool: string): IpAddress | undefined {
        return this.#unanswered.get(keyOf(holder, pool));
    }

    /**
     * Allocates an address by creating its IPAllocation; `pool` is the name of its IPPool. Undefined if it is allocated
     * to another holder or reserved, or may be but was not read.
     *
     * @param readExisting whether an existing allocation is always read, and returned if it is of this Pod interface;
     * else only if it may be from an unanswered create of this agent
     * @param owner who the address is kept for; by default the Pod
     * @param version the pool definition by which the interface is set up; undefined records none
     */
    async create(
        ip: IpAddress,
        pool: string,
        holder: Holder,
        o: {
            readonly signal: AbortSignal;
            readonly readExisting?: boolean;
            readonly owner?: AllocationOwner | undefined;
            readonly version?: PoolVersion | undefined;
            readonly requestMs?: number | undefined;
        },
    ): Promise<IpAllocation | undefined> {
        const { api, own } = this.#components;
        const allocation = newAllocation(ip, pool, holder, o);
        const key = keyOf(holder, pool);
        let mayBeOurs = o.readExisting === true || this.#unanswered.has(key);
        const askedAt = this.#now;
        try {
            const created = await this.#answered(
                o.signal,
                () => api.create(ipAllocations, allocation, once(o.requestMs)),
                {
                    onRepeat: () => (mayBeOurs = true),
                },
            );
            this.#unanswered.delete(key);
            this.#maybeFreed.delete(objectName(created));
            own.note(created, askedAt);
            return created;
        } catch (error) {
            if (isRetryable(error)) this.#noteUnanswered(key, ip);
            if (!isKubeError(error, "ALREADY_EXISTS")) throw refused(error, allocation);
        }
        this.#unanswered.delete(key);
        if (!mayBeOurs) return undefined;
        const found = await this.find(ip, o.signal, o.requestMs);
        // Freed between the create and the read: available again.
        if (found === undefined) return this.create(ip, pool, holder, o);
        return isForPod(found, holder.pod.uid, holder.ifName)
            ? this.take(found, holder, o.signal, o.version, o.requestMs)
            : undefined;
    }

    /**
     * Updates an allocation that is reserved for the Pod, or already held by it, to name this container and the pool
     * definition by which its interface is set up; without `version` the recorded one stays. Re-evaluated after each
     * conflict. Undefined if the allocation is neither now, or is gone.
     */
    async take(
        allocation: IpAllocation,
        holder: Holder,
        signal: AbortSignal,
        version?: PoolVersion,
        requestMs?: number,
    ): Promise<IpAllocation | undefined> {
        const { api, own } = this.#components;
        let askedAt: number | undefined;
        for (let current: IpAllocation | undefined = allocation; current !== undefined;) {
            const seen: IpAllocation = current;
            if (!mayTake(seen, holder)) {
                own.note(seen, askedAt);
                return undefined;
            }
            if (isHeldBy(seen, holder) && (version === undefined || isOfVersion(seen, version))) {
                own.note(seen, askedAt);
                return seen;
            }
            askedAt = this.#now;
            try {
                const wanted = takenBy(seen, holder, version);
                const taken = await this.#answered(signal, () => api.update(ipAllocations, wanted, once(requestMs)));
                // A request to free an earlier version has no effect on this one.
                if (taken.metadata?.resourceVersion !== seen.metadata?.resourceVersion)
                    this.#maybeFreed.delete(objectName(taken));
                own.note(taken, askedAt);
                return taken;
            } catch (error) {
                if (!isChanged(error)) throw refused(error, seen);
            }
            askedAt = this.#now;
            current = await this.find(allocationIp(seen), signal, requestMs);
            if (current === undefined) own.noteGone(seen, askedAt);
        }
        return undefined;
    }

    /**
     * Frees an allocation while the condition holds, re-evaluating it after each conflict: deletes the object, or keeps
     * it reserved for its StatefulSet, and starts the cooldown of the address. `allocation` may be stale. Resolves also
     * if the object is gone or the condition does not hold; an allocation with an unknown owner kind is not modified.
     */
    async free(
        allocation: IpAllocation,
        isToBeFreed: (current: IpAllocation) => boolean,
        signal: AbortSignal,
        requestMs?: number,
    ): Promise<void> {
        const { own, cooldown } = this.#components;
        let askedAt: number | undefined;
        for (let current: IpAllocation | undefined = allocation; current !== undefined;) {
            const seen: IpAllocation = current;
            if (!isOfPods(seen.spec.owner) || !isToBeFreed(seen)) return own.note(seen, askedAt);
            askedAt = this.#now;
            // An earlier request may be about a later version than `seen`: its outcome is open until the allocation is read.
            const wasOpen = this.mayBeFreed(seen);
            this.#noteMaybeFreed(objectName(seen));
            try {
                own.noteGone(await this.#free(seen, signal, requestMs), askedAt);
                this.#maybeFreed.delete(objectName(seen));
                cooldown.freed(allocationIp(seen));
                return;
            } catch (error) {
                if (!isChanged(error)) throw refused(error, seen);
            }
            // What this one was to free is not there any more, in this version.
            if (!wasOpen) this.#maybeFreed.delete(objectName(seen));
            askedAt = this.#now;
            current = await this.find(allocationIp(seen), signal, requestMs);
            if (current !== undefined) continue;
            this.#maybeFreed.delete(objectName(seen));
            own.noteGone(seen, askedAt);
            cooldown.freed(allocationIp(seen));
        }
    }

    /**
     * Whether a request to free the allocation was abandoned without an answer: it may take effect at any time, unless this
     * agent takes the allocation for another container. To be freed again before its address is claimed.
     */
    mayBeFreed(allocation: IpAllocation): boolean {
        return this.#maybeFreed.has(objectName(allocation));
    }

    /**
     * Reads the allocation of an address from the API server; undefined if there is none. Rejects with KubeError only.
     */
    find(ip: IpAddress, signal: AbortSignal, requestMs?: number): Promise<IpAllocation | undefined> {
        const name = allocationName(ip);
        return this.#answered(signal, () => this.#components.api.find(ipAllocations, { name }, once(requestMs)));
    }

    /** Frees the allocation once and returns its last state. */
    async #free(allocation: IpAllocation, signal: AbortSignal, requestMs: number | undefined): Promise<IpAllocation> {
        const { api } = this.#components;
        if (allocation.spec.owner.kind === "StatefulSet") {
            return this.#answered(signal, () => api.update(ipAllocations, reservedAgain(allocation), once(requestMs)));
        }
        const { uid, resourceVersion } = allocation.metadata ?? {};
        await this.#answered(signal, () =>
            api.delete(ipAllocations, { name: objectName(allocation) }, { ...once(requestMs), uid, resourceVersion }),
        );
        return allocation;
    }

    #answered<T>(
        signal: AbortSignal,
        request: () => Promise<T>,
        o: { readonly onRepeat?: () => void } = {},
    ): Promise<T> {
        const { clock, metrics } = this.#components;
        return retryUntilAnswered(request, {
            signal,
            clock,
            onRepeat: () => {
                metrics.retry();
                o.onRepeat?.();
            },
        });
    }

    get #now(): number {
        return this.#components.clock.monotonic();
    }

    #noteMaybeFreed(name: string): void {
        this.#maybeFreed.add(name);
        if (this.#maybeFreed.size <= maxUnanswered) return;
        // What this Node does not have any more was freed, or is not claimed again before it is read.
        const { own } = this.#components;
        for (const one of this.#maybeFreed)
            if (one !== name && own.get(one) === undefined) this.#maybeFreed.delete(one);
    }

    #noteUnanswered(key: string, ip: IpAddress): void {
        this.#unanswered.delete(key);
        this.#unanswered.set(key, ip);
        if (this.#unanswered.size > maxUnanswered) {
            this.#unanswered.delete(this.#unanswered.keys().next().value ?? "");
        }
    }
}

function once(requestMs = requestLimitMs): { readonly timeoutMs: number } {
    return { timeoutMs: requestMs };
}

function keyOf({ pod, ifName }: Holder, pool: string): string {
    return `${pod.uid}/${ifName}/${pool}`;
}

/**
 * Whether the object changed: another client wrote it, an earlier write of this agent took effect unnoticed, or it is
 * gone.
 */
function isChanged(error: unknown): boolean {
    return isKubeError(error, "CONFLICT", "NOT_FOUND");
}

/** Maps a permanent rejection by the server to IpPoolError REFUSED; returns any other error unchanged. */
function refused(error: unknown, allocation: IpAllocation): unknown {
    if (!isKubeError(error) || isRetryable(error) || isAborted(error)) return error;
    const address = formatIp(allocationIp(allocation));
    return new IpPoolError(
        "REFUSED",
        `the API server rejected the allocation of ${address} from IPPool ${allocation.spec.pool}; is the chart of this version installed, with the permissions of antrea-agent? ${error.message}`,
        { cause: error },
    );
}
