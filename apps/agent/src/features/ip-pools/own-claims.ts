import { type Clock } from "@antrea/async";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { type Family, type IpAddress } from "@antrea/ip";
import { Informer, withoutManagedFields, type ApiClient, type KubeError, type KubeLogger } from "@antrea/kube";
import { claimIp, claimName, isForOrdinal, isForPod, namesContainer } from "./claims.ts";
import { type SetPlace } from "./types.ts";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";

export interface OwnClaimsComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    /** Told of claims of this Node that others see as free from now on. */
    readonly freed: (ip: IpAddress) => void;
}

/** By this time the watch has told of what was written, or of what became of it. */
const toldMs = 60_000;

interface Known {
    readonly claim: IpAllocation;
    /** By the monotonic clock, when it became known. */
    readonly at: number;
    /** By an answer to a request of ours that the watch has not told yet. */
    readonly isAnswer: boolean;
}

interface Ended {
    readonly claim: IpAllocation;
    readonly at: number;
}

/**
 * The claims that name this Node: those that the watch tells, and our own writes, which count at once. A Node has few
 * Pods, so they are looked through rather than indexed by everything.
 *
 * Of two states of a claim the later counts. A list, or the answer to a request, is later than all that was known when it
 * was asked for, whatever its versions are: after etcd was restored from a backup they are lower. Only what may have
 * crossed an answer, and what the watch tells, is judged by versions.
 */
export class OwnClaims {
    readonly #components: OwnClaimsComponents;
    readonly #informer: Informer<IpAllocation>;
    readonly #nodeName: string;
    readonly #claims = new Map<string, Known>();
    readonly #byPod = new Map<string, Set<string>>();
    /** By UID up to which version a claim is no longer this Node's: a late event must not bring it back. */
    readonly #ended = new Map<string, Ended>();
    /** The same by the watch: a late answer must not bring it back. */
    readonly #toldEnded = new Map<string, Ended>();
    readonly #goneListeners = new Set<(claim: IpAllocation) => void>();

    constructor(components: OwnClaimsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        this.#informer = new Informer(components, {
            resource: ipAllocations,
            fieldSelector: `spec.pod.nodeName=${options.nodeName}`,
        });
        this.#informer.onChange((type, _key, claim) => this.#told(type === "deleted", claim));
        this.#informer.onList((began) => this.#listed(began));
    }

    start(signal: AbortSignal): void {
        this.#informer.start(signal);
    }

    close(): Promise<void> {
        return this.#informer.close();
    }

    /** Resolves when all claims of this Node are known. */
    synced(signal: AbortSignal): Promise<void> {
        return this.#informer.hasSynced ? Promise.resolve() : this.#informer.synced(signal);
    }

    /** Why the claims are not known, as far as it is a failure of requests. */
    get lastError(): KubeError | undefined {
        const { hasSynced, state } = this.#informer;
        return !hasSynced && state.kind === "waiting" ? state.lastError : undefined;
    }

    get size(): number {
        return this.#claims.size;
    }

    list(): readonly IpAllocation[] {
        return [...this.#claims.values()].map(({ claim }) => claim);
    }

    get(name: string): IpAllocation | undefined {
        return this.#claims.get(name)?.claim;
    }

    /** The claims for an interface of a Pod. Of one family there should be one; after failures there may be more. */
    ofPod(podUid: string, ifName: string, family: Family): readonly IpAllocation[] {
        return [...(this.#byPod.get(podUid) ?? [])]
            .flatMap((name) => this.get(name) ?? [])
            .filter((claim) => isForPod(claim, podUid, ifName) && claimIp(claim).family === family);
    }

    ofContainer(attachment: Attachment): readonly IpAllocation[] {
        return this.list().filter((claim) => namesContainer(claim, attachment));
    }

    ofOrdinal(namespace: string, place: SetPlace): readonly IpAllocation[] {
        return this.list().filter((claim) => isForOrdinal(claim, namespace, place));
    }

    /** Tells of each claim that another deleted or took from this Node. */
    onGone(listener: (claim: IpAllocation) => void): Disposable {
        this.#goneListeners.add(listener);
        return { [Symbol.dispose]: () => this.#goneListeners.delete(listener) };
    }

    /**
     * The API server says that the claim is so: the answer to a request of ours.
     *
     * @param askedAt by the monotonic clock, before the request was made; undefined when that is not known
     */
    note(claim: IpAllocation, askedAt?: number): void {
        if (claim.spec.pod?.nodeName !== this.#nodeName) return this.noteGone(claim, askedAt);
        const ended = this.#toldEnded.get(claim.metadata?.uid ?? "");
        if ([this.#claims.get(claimName(claim)), ended].some((one) => isBefore(claim, one, askedAt))) return;
        this.#put(withoutManagedFields(claim), { isAnswer: true });
    }

    /** The API server says that this claim is gone, or is no longer this Node's as of this version; `askedAt` as of `note`. */
    noteGone(claim: IpAllocation, askedAt?: number): void {
        const uid = claim.metadata?.uid ?? "";
        const known = this.#claims.get(claimName(claim));
        // The late answer to an earlier write: the claim is this Node's again since.
        if (isBefore(claim, known, askedAt) || isBefore(claim, this.#ended.get(uid), askedAt)) return;
        this.#end(this.#ended, claim);
        if (known?.claim.metadata?.uid === uid) this.#drop(claimName(claim));
    }

    /**
     * Forgets what was written long ago and never told by a watch that told what came after it: it was deleted while the
     * watch was broken. A watch that says nothing may be a connection that is dead, and tells nothing of what was written.
     */
    settle(): void {
        const toldUntil = this.#informer.upToDateAt;
        if (this.#informer.state.kind !== "watching") return;
        for (const [name, { at, isAnswer }] of [...this.#claims]) {
            if (isAnswer && toldUntil - at > toldMs && this.#informer.get(name) === undefined) this.#drop(name);
        }
    }

    #end(all: Map<string, Ended>, claim: IpAllocation): void {
        const at = this.#now;
        for (const [uid, ended] of all) {
            if (at - ended.at <= toldMs) break;
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
     * What was known before the list began is as the list says: what it does not have was deleted or taken from this Node
     * while no watch told, and what it has differently is so, also if its version is lower.
     */
    #listed(began: number): void {
        for (const [name, { claim, at, isAnswer }] of [...this.#claims]) {
            if (!isAnswer || at >= began || this.#informer.get(name) !== undefined) continue;
            this.#drop(name);
            this.#components.freed(claimIp(claim));
            this.#tellGone(claim);
        }
        for (const claim of this.#informer.list()) {
            const known = this.#claims.get(claimName(claim));
            const uid = claim.metadata?.uid ?? "";
            const ended = this.#ended.get(uid);
            if (known?.claim === claim || [known, ended].some((one) => one !== undefined && one.at >= began)) continue;
            this.#ended.delete(uid);
            this.#put(claim, { isAnswer: false });
        }
    }

    #told(deleted: boolean, claim: IpAllocation): void {
        const name = claimName(claim);
        const known = this.#claims.get(name);
        if (!deleted) {
            const ended = this.#ended.get(claim.metadata?.uid ?? "");
            if (ended !== undefined && !isOlder(ended.claim, claim)) return;
            if (isOlder(claim, known?.claim) || this.#isBeforeAnswer(claim, known)) return;
            this.#put(claim, { isAnswer: false });
            return;
        }
        this.#end(this.#toldEnded, claim);
        if (known === undefined || known.claim.metadata?.uid !== claim.metadata?.uid) return;
        // The end of what was before our last write of the same object is no end of that.
        if (isOlder(claim, known.claim)) return;
        this.#drop(name);
        this.#components.freed(claimIp(claim));
        this.#tellGone(known.claim);
    }

    /** Whether the watch tells late of the object that had the name before the one that we wrote a moment ago. */
    #isBeforeAnswer(claim: IpAllocation, known: Known | undefined): boolean {
        if (known?.isAnswer !== true || known.claim.metadata?.uid === claim.metadata?.uid) return false;
        return this.#now - known.at <= toldMs && versionOf(claim) < versionOf(known.claim);
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
        // Another object of the name, or the past of this one after etcd was restored: who had the one before has lost the
        // address, whatever the watch tells, and when.
        if (before === undefined) return;
        if (before.metadata?.uid !== claim.metadata?.uid || isOlder(claim, before)) this.#tellGone(before);
    }

    #tellGone(claim: IpAllocation): void {
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

/** Whether an answer is from before what is known of the same object; it is not if it was asked for after that. */
function isBefore(
    claim: IpAllocation,
    known: Pick<Known, "claim" | "at"> | undefined,
    askedAt: number | undefined,
): boolean {
    return (askedAt === undefined || known === undefined || askedAt <= known.at) && isOlder(claim, known?.claim);
}

/** Whether the claim is a state before the known one of the same object. Versions are decimal numbers that grow. */
function isOlder(claim: IpAllocation, known: IpAllocation | undefined): boolean {
    if (known === undefined || known.metadata?.uid !== claim.metadata?.uid) return false;
    return versionOf(claim) < versionOf(known);
}

function versionOf(claim: IpAllocation): bigint {
    const text = claim.metadata?.resourceVersion ?? "";
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
}
