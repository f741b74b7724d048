import { type Clock } from "@antrea/async";
import { isAborted } from "@antrea/errors";
import { allocationName, ipAllocations, isOfPods, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp, type IpAddress } from "@antrea/ip";
import { isKubeError, type ApiClient } from "@antrea/kube";
import {
    claimIp,
    claimName,
    isForPod,
    isHeldBy,
    isOfVersion,
    mayTake,
    newClaim,
    reservedAgain,
    takenBy,
    type Holder,
} from "./claims.ts";
import { type Cooldown } from "./cooldown.ts";
import { IpPoolError } from "./errors.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type OwnClaims } from "./own-claims.ts";
import { isRetryable, retryUntilAnswered } from "./requests.ts";
import { type PoolVersion } from "./types.ts";

export interface ClaimWriterComponents {
    readonly api: Pick<ApiClient, "create" | "update" | "delete" | "find">;
    readonly own: OwnClaims;
    readonly cooldown: Cooldown;
    readonly clock: Clock;
    readonly metrics: Pick<IpamMetrics, "retry">;
}

/** For one request, unless the caller has less time; an answer that takes longer is asked for again. */
const requestLimitMs = 12_000;
const maxUnanswered = 1_000;

/**
 * Writes claims so that it is known what became of each write: a request without an answer is made again until it is
 * answered, for the same name. What the server says is noted at once, before a watch tells it.
 *
 * Signals only end the repetition: a write under way is waited for, up to `requestMs`, 12 s by default, since a write
 * that is cut short may still happen.
 */
export class ClaimWriter {
    readonly #components: ClaimWriterComponents;
    /** Creates that were given up without an answer, by who they were for: the next try begins with the same name. */
    readonly #unanswered = new Map<string, IpAddress>();

    constructor(components: ClaimWriterComponents) {
        this.#components = components;
    }

    /** The address of an earlier create for this interface and family of which nobody knows whether it was done. */
    unanswered(holder: Holder, family: IpAddress["family"]): IpAddress | undefined {
        return this.#unanswered.get(keyOf(holder, family));
    }

    /**
     * Claims an address. Undefined when it is claimed for another.
     *
     * @param look whether a claim that stands in the way is looked at in any case; else only when it may be our own
     * @param owner who the address is kept for; by default the Pod
     * @param version the definition of the pool by which the interface is set up
     */
    async create(
        ip: IpAddress,
        pool: string,
        holder: Holder,
        o: {
            readonly signal: AbortSignal;
            readonly look?: boolean;
            readonly owner?: AllocationOwner | undefined;
            readonly version?: PoolVersion | undefined;
            readonly requestMs?: number | undefined;
        },
    ): Promise<IpAllocation | undefined> {
        const { api, own } = this.#components;
        const claim = newClaim(ip, pool, holder, o);
        const key = keyOf(holder, ip.family);
        let mayBeOurs = o.look === true || this.#unanswered.has(key);
        const askedAt = this.#now;
        try {
            const created = await this.#answered(o.signal, () => api.create(ipAllocations, claim, once(o.requestMs)), {
                onRepeat: () => (mayBeOurs = true),
            });
            this.#unanswered.delete(key);
            own.note(created, askedAt);
            return created;
        } catch (error) {
            if (isRetryable(error)) this.#noteUnanswered(key, ip);
            if (!isKubeError(error, "ALREADY_EXISTS")) throw refused(error, claim);
        }
        this.#unanswered.delete(key);
        if (!mayBeOurs) return undefined;
        const found = await this.find(ip, o.signal, o.requestMs);
        // Freed between the two looks: to be had.
        if (found === undefined) return this.create(ip, pool, holder, o);
        return isForPod(found, holder.pod.uid, holder.ifName)
            ? this.take(found, holder, o.signal, o.version, o.requestMs)
            : undefined;
    }

    /**
     * Makes a claim that is reserved for the Pod, or is the Pod's already, name this container, and the definition of the
     * pool by which its interface is set up. Undefined when it is neither any more.
     */
    async take(
        claim: IpAllocation,
        holder: Holder,
        signal: AbortSignal,
        version?: PoolVersion,
        requestMs?: number,
    ): Promise<IpAllocation | undefined> {
        const { api, own } = this.#components;
        let askedAt: number | undefined;
        for (let current: IpAllocation | undefined = claim; current !== undefined;) {
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
                own.note(taken, askedAt);
                return taken;
            } catch (error) {
                if (!isChanged(error)) throw refused(error, seen);
            }
            askedAt = this.#now;
            current = await this.find(claimIp(seen), signal, requestMs);
            if (current === undefined) own.noteGone(seen, askedAt);
        }
        return undefined;
    }

    /**
     * Frees a claim as long as it is to be freed, looking again whenever it changed meanwhile: deletes it, or keeps it
     * reserved for its StatefulSet. What is gone or not to be freed any more is a success; a claim whose kind of owner
     * is not known here is left alone.
     */
    async free(
        claim: IpAllocation,
        isToBeFreed: (current: IpAllocation) => boolean,
        signal: AbortSignal,
        requestMs?: number,
    ): Promise<void> {
        const { own, cooldown } = this.#components;
        let askedAt: number | undefined;
        for (let current: IpAllocation | undefined = claim; current !== undefined;) {
            const seen: IpAllocation = current;
            if (!isOfPods(seen.spec.owner) || !isToBeFreed(seen)) return own.note(seen, askedAt);
            askedAt = this.#now;
            try {
                own.noteGone(await this.#free(seen, signal, requestMs), askedAt);
                cooldown.freed(claimIp(seen));
                return;
            } catch (error) {
                if (!isChanged(error)) throw refused(error, seen);
            }
            askedAt = this.#now;
            current = await this.find(claimIp(seen), signal, requestMs);
            if (current !== undefined) continue;
            own.noteGone(seen, askedAt);
            cooldown.freed(claimIp(seen));
        }
    }

    /** The claim of an address, live. */
    find(ip: IpAddress, signal: AbortSignal, requestMs?: number): Promise<IpAllocation | undefined> {
        const name = allocationName(ip);
        return this.#answered(signal, () => this.#components.api.find(ipAllocations, { name }, once(requestMs)));
    }

    /** The claim as it was last. */
    async #free(claim: IpAllocation, signal: AbortSignal, requestMs: number | undefined): Promise<IpAllocation> {
        const { api } = this.#components;
        if (claim.spec.owner.kind === "StatefulSet") {
            return this.#answered(signal, () => api.update(ipAllocations, reservedAgain(claim), once(requestMs)));
        }
        const { uid, resourceVersion } = claim.metadata ?? {};
        await this.#answered(signal, () =>
            api.delete(ipAllocations, { name: claimName(claim) }, { ...once(requestMs), uid, resourceVersion }),
        );
        return claim;
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

function keyOf({ pod, ifName }: Holder, family: IpAddress["family"]): string {
    return `${pod.uid}/${ifName}/${family}`;
}

/** The object is not as it was: somebody wrote it, we did without having been told, or it is gone. */
function isChanged(error: unknown): boolean {
    return isKubeError(error, "CONFLICT", "NOT_FOUND");
}

/** What the server will not do however often it is asked; anything else as it is. */
function refused(error: unknown, claim: IpAllocation): unknown {
    if (!isKubeError(error) || isRetryable(error) || isAborted(error)) return error;
    const address = formatIp(claimIp(claim));
    return new IpPoolError(
        "REFUSED",
        `the API server refused the claim of ${address} of IPPool ${claim.spec.pool}; is the chart of this version installed, with the permissions of antrea-agent? ${error.message}`,
        { cause: error },
    );
}
