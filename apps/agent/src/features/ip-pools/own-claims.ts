import { type Clock } from "@antrea/async";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { type Family, type IpAddress } from "@antrea/ip";
import { Informer, withoutManagedFields, type ApiClient, type KubeError, type KubeLogger } from "@antrea/kube";
import { claimIp, claimName, isForOrdinal, isForPod, namesContainer } from "./claims.ts";
import { type SetPlace } from "./types.ts";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of OwnClaims. */
export interface OwnClaimsComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    /** Called with each address of this Node that other agents see as free from now on. */
    readonly freed: (ip: IpAddress) => void;
}

/** The watch is expected to have delivered a write, or its later outcome, within this time. */
const deliveryLimitMs = 60_000;

interface Known {
    readonly claim: IpAllocation;
    /** Monotonic time in milliseconds when it became known. */
    readonly at: number;
    /** Known from the answer to a request of this agent that the watch has not delivered yet. */
    readonly isAnswer: boolean;
}

interface Ended {
    readonly claim: IpAllocation;
    readonly at: number;
}

/**
 * The IPAllocations that name this Node: those delivered by the watch, and this agent's own writes, which count at
 * once. A Node has few Pods, so lookups scan the list instead of using indexes.
 *
 * Of two states of an allocation the later one counts. A list, or the answer to a request, is later than everything
 * known when it was requested, regardless of resourceVersions: after etcd was restored from a backup they are lower.
 * Only an event that may have crossed an answer, and watch events, are compared by resourceVersion.
 */
export class OwnClaims {
    /** The watch of the allocations; its owner starts and closes it. */
    readonly informer: Informer<IpAllocation>;
    readonly #components: OwnClaimsComponents;
    readonly #nodeName: string;
    readonly #claims = new Map<string, Known>();
    readonly #byPod = new Map<string, Set<string>>();
    /**
     * By UID, the resourceVersion up to which an allocation no longer belongs to this Node: a late event must not
     * restore it.
     */
    readonly #ended = new Map<string, Ended>();
    /** The same according to the watch: a late answer must not restore it. */
    readonly #endedByWatch = new Map<string, Ended>();
    readonly #goneListeners = new Set<(claim: IpAllocation) => void>();

    constructor(components: OwnClaimsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        this.informer = new Informer(components, {
            resource: ipAllocations,
            fieldSelector: `spec.pod.nodeName=${options.nodeName}`,
        });
        this.informer.onChange((type, _key, claim) => this.#onChange(type === "deleted", claim));
        this.informer.onList((began) => this.#listed(began));
    }

    /** Resolves when all allocations of this Node are known. */
    synced(signal: AbortSignal): Promise<void> {
        return this.informer.hasSynced ? Promise.resolve() : this.informer.synced(signal);
    }

    /** The request error that prevents the sync; undefined if there is none. */
    get lastError(): KubeError | undefined {
        const { hasSynced, state } = this.informer;
        return !hasSynced && state.kind === "waiting" ? state.lastError : undefined;
    }

    /** Number of known allocations. */
    get size(): number {
        return this.#claims.size;
    }

    /** All known allocations of this Node. */
    list(): readonly IpAllocation[] {
        return [...this.#claims.values()].map(({ claim }) => claim);
    }

    /** The allocation with this object name; undefined if this Node has none. */
    get(name: string): IpAllocation | undefined {
        return this.#claims.get(name)?.claim;
    }

    /** The allocations for an interface of a Pod. There should be one per family; after failures there may be more. */
    ofPod(podUid: string, ifName: string, family: Family): readonly IpAllocation[] {
        return [...(this.#byPod.get(podUid) ?? [])]
            .flatMap((name) => this.get(name) ?? [])
            .filter((claim) => isForPod(claim, podUid, ifName) && claimIp(claim).family === family);
    }

    /** The allocations that name this container and interface. */
    ofContainer(attachment: Attachment): readonly IpAllocation[] {
        return this.list().filter((claim) => namesContainer(claim, attachment));
    }

    /** The allocations of this StatefulSet ordinal. */
    ofOrdinal(namespace: string, place: SetPlace): readonly IpAllocation[] {
        return this.list().filter((claim) => isForOrdinal(claim, namespace, place));
    }

    /** Registers a listener for each allocation that another client deleted or moved to another Node. */
    onGone(listener: (claim: IpAllocation) => void): Disposable {
        this.#goneListeners.add(listener);
        return { [Symbol.dispose]: () => this.#goneListeners.delete(listener) };
    }

    /**
     * Records the state of an allocation from the answer to a request of this agent.
     *
     * @param askedAt monotonic time before the request was made; undefined if unknown
     */
    note(claim: IpAllocation, askedAt?: number): void {
        if (claim.spec.pod?.nodeName !== this.#nodeName) return this.noteGone(claim, askedAt);
        const ended = this.#endedByWatch.get(claim.metadata?.uid ?? "");
        if ([this.#claims.get(claimName(claim)), ended].some((one) => isBefore(claim, one, askedAt))) return;
        this.#put(withoutManagedFields(claim), { isAnswer: true });
    }

    /**
     * Records that the allocation is deleted, or no longer belongs to this Node as of this version; `askedAt` as in
     * `note`.
     */
    noteGone(claim: IpAllocation, askedAt?: number): void {
        const uid = claim.metadata?.uid ?? "";
        const known = this.#claims.get(claimName(claim));
        // A late answer to an earlier write: the allocation has been assigned to this Node again since.
        if (isBefore(claim, known, askedAt) || isBefore(claim, this.#ended.get(uid), askedAt)) return;
        this.#end(this.#ended, claim);
        if (known?.claim.metadata?.uid === uid) this.#drop(claimName(claim));
    }

    /**
     * Drops entries that were written long ago and never delivered by a watch that has delivered later changes: they
     * were deleted while the watch was broken. A silent watch is inconclusive, since its connection may be dead.
     */
    settle(): void {
        const deliveredUntil = this.informer.upToDateAt;
        if (this.informer.state.kind !== "watching") return;
        for (const [name, { at, isAnswer }] of [...this.#claims]) {
            if (isAnswer && deliveredUntil - at > deliveryLimitMs && this.informer.get(name) === undefined)
                this.#drop(name);
        }
    }

    #end(all: Map<string, Ended>, claim: IpAllocation): void {
        const at = this.#now;
        for (const [uid, ended] of all) {
            if (at - ended.at <= deliveryLimitMs) break;
            all.delete(uid);
        }
        const uid = claim.metadata?.uid ?? "";
        all.delete(uid);
        all.set(uid, { claim, at });
    }

    get #now(): number {
        return this.#components.clock.monotonic();
    }

    /**
     * Applies a list over what was known before the list request: an allocation that is missing was deleted or moved to
     * another Node while the watch was down, and a differing state is the current one even if its resourceVersion is
     * lower.
     */
    #listed(began: number): void {
        for (const [name, { claim, at, isAnswer }] of [...this.#claims]) {
            if (!isAnswer || at >= began || this.informer.get(name) !== undefined) continue;
            this.#drop(name);
            this.#components.freed(claimIp(claim));
            this.#notifyGone(claim);
        }
        for (const claim of this.informer.list()) {
            const known = this.#claims.get(claimName(claim));
            const uid = claim.metadata?.uid ?? "";
            const ended = this.#ended.get(uid);
            if (known?.claim === claim || [known, ended].some((one) => one !== undefined && one.at >= began)) continue;
            this.#ended.delete(uid);
            this.#put(claim, { isAnswer: false });
        }
    }

    #onChange(deleted: boolean, claim: IpAllocation): void {
        const name = claimName(claim);
        const known = this.#claims.get(name);
        if (!deleted) {
            const ended = this.#ended.get(claim.metadata?.uid ?? "");
            if (ended !== undefined && !isOlder(ended.claim, claim)) return;
            if (isOlder(claim, known?.claim) || this.#isBeforeAnswer(claim, known)) return;
            this.#put(claim, { isAnswer: false });
            return;
        }
        this.#end(this.#endedByWatch, claim);
        if (known === undefined || known.claim.metadata?.uid !== claim.metadata?.uid) return;
        // The end of a state before this agent's last write of the same object does not end that object.
        if (isOlder(claim, known.claim)) return;
        this.#drop(name);
        this.#components.freed(claimIp(claim));
        this.#notifyGone(known.claim);
    }

    /** Whether a late watch event concerns the previous object of the name, not the one this agent has just written. */
    #isBeforeAnswer(claim: IpAllocation, known: Known | undefined): boolean {
        if (known?.isAnswer !== true || known.claim.metadata?.uid === claim.metadata?.uid) return false;
        return this.#now - known.at <= deliveryLimitMs && versionOf(claim) < versionOf(known.claim);
    }

    #put(claim: IpAllocation, { isAnswer }: { readonly isAnswer: boolean }): void {
        const name = claimName(claim);
        const before = this.get(name);
        this.#drop(name);
        this.#claims.set(name, { claim, at: this.#now, isAnswer });
        const uid = claim.spec.pod?.uid ?? "";
        const names = this.#byPod.get(uid);
        if (names === undefined) this.#byPod.set(uid, new Set([name]));
        else names.add(name);
        // A new object of the name, or an old state after an etcd restore: the previous holder has lost the address,
        // whatever the watch delivers and when.
        if (before === undefined) return;
        if (before.metadata?.uid !== claim.metadata?.uid || isOlder(claim, before)) this.#notifyGone(before);
    }

    #notifyGone(claim: IpAllocation): void {
        for (const listener of this.#goneListeners) listener(claim);
    }

    #drop(name: string): void {
        const known = this.#claims.get(name);
        if (known === undefined) return;
        this.#claims.delete(name);
        const uid = known.claim.spec.pod?.uid ?? "";
        const names = this.#byPod.get(uid);
        names?.delete(name);
        if (names?.size === 0) this.#byPod.delete(uid);
    }
}

/** Whether an answer predates the known state of the same object; never if it was requested after that state. */
function isBefore(
    claim: IpAllocation,
    known: Pick<Known, "claim" | "at"> | undefined,
    askedAt: number | undefined,
): boolean {
    return (askedAt === undefined || known === undefined || askedAt <= known.at) && isOlder(claim, known?.claim);
}

/** Whether the allocation is an earlier state of the known object. resourceVersions are increasing decimal numbers. */
function isOlder(claim: IpAllocation, known: IpAllocation | undefined): boolean {
    if (known === undefined || known.metadata?.uid !== claim.metadata?.uid) return false;
    return versionOf(claim) < versionOf(known);
}

function versionOf(claim: IpAllocation): bigint {
    const text = claim.metadata?.resourceVersion ?? "";
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
}
