import { type Clock } from "@antrea/async";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { Informer, withoutManagedFields, type ApiClient, type KubeError, type KubeLogger } from "@antrea/kube";
import { allocationIp, objectName, isForOrdinal, isForPod, namesContainer } from "./allocations.ts";
import { NameIndex } from "./name-index.ts";
import { type SetPlace } from "./types.ts";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of OwnAllocations. */
export interface OwnAllocationsComponents {
    readonly api: Pick<ApiClient, "list" | "watch">;
    readonly logger: KubeLogger;
    readonly clock: Clock;
    /**
     * Called with the address of each known allocation that the watch or a list no longer has for this Node: deleted,
     * reserved, or of another Node now. Not called if `noteGone` was first.
     */
    readonly freed: (ip: IpAddress) => void;
}

/** The watch is expected to have delivered a write, or its later outcome, within this time. */
const deliveryLimitMs = 60_000;

interface Known {
    readonly allocation: IpAllocation;
    /** Monotonic time in milliseconds when it became known. */
    readonly at: number;
    /** Known from the answer to a request of this agent that the watch has not delivered yet. */
    readonly isAnswer: boolean;
}

interface Ended {
    readonly allocation: IpAllocation;
    readonly at: number;
}

/**
 * The IPAllocations that name this Node: those delivered by the watch, and this agent's own writes (`note`), which
 * count at once. Incomplete until `synced`.
 *
 * Of two states of an allocation the later one counts. A list, or the answer to a request, is later than everything
 * known when it was requested, regardless of resourceVersions: after etcd was restored from a backup they are lower.
 * Only an event that may have crossed an answer, and watch events, are compared by resourceVersion.
 */
export class OwnAllocations {
    /** The watch of the allocations; its owner starts and closes it. */
    readonly informer: Informer<IpAllocation>;
    readonly #components: OwnAllocationsComponents;
    readonly #nodeName: string;
    readonly #allocations = new Map<string, Known>();
    /** The names of allocations by the UID of their Pod, and by their container: a Node has thousands. */
    readonly #byPod = new NameIndex();
    readonly #byContainer = new NameIndex();
    /**
     * By UID, the resourceVersion up to which an allocation no longer belongs to this Node: a late event must not
     * restore it.
     */
    readonly #ended = new Map<string, Ended>();
    /** The same according to the watch: a late answer must not restore it. */
    readonly #endedByWatch = new Map<string, Ended>();
    readonly #goneListeners = new Set<(allocation: IpAllocation) => void>();

    constructor(components: OwnAllocationsComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
        this.informer = new Informer(components, {
            resource: ipAllocations,
            fieldSelector: `spec.pod.nodeName=${options.nodeName}`,
        });
        this.informer.onChange((type, _key, allocation) => this.#onChange(type === "deleted", allocation));
        this.informer.onList((began) => this.#listed(began));
    }

    /**
     * Resolves when all allocations of this Node are known; rejects with KubeError `ABORTED` if the signal aborts or
     * the watch is closed first.
     */
    synced(signal: AbortSignal): Promise<void> {
        return this.informer.hasSynced ? Promise.resolve() : this.informer.synced(signal);
    }

    /** Whether `synced` has resolved once. */
    get hasSynced(): boolean {
        return this.informer.hasSynced;
    }

    /** The request error that prevents the first sync; undefined if there is none, and after that sync. */
    get lastError(): KubeError | undefined {
        const { hasSynced, state } = this.informer;
        return !hasSynced && state.kind === "waiting" ? state.lastError : undefined;
    }

    /** Number of known allocations. */
    get size(): number {
        return this.#allocations.size;
    }

    /** All known allocations of this Node; the objects are shared, so do not modify them. */
    list(): readonly IpAllocation[] {
        return [...this.#allocations.values()].map(({ allocation }) => allocation);
    }

    /**
     * The allocation with this object name (`allocationName` of the address); undefined if none of this Node is known.
     */
    get(name: string): IpAllocation | undefined {
        return this.#allocations.get(name)?.allocation;
    }

    /** The allocations for an interface of a Pod. There should be one per demand; after failures there may be more. */
    ofPod(podUid: string, ifName: string): readonly IpAllocation[] {
        return this.#named(this.#byPod.get(podUid)).filter((allocation) => isForPod(allocation, podUid, ifName));
    }

    /** The known allocations that name this container and interface. */
    ofContainer(attachment: Attachment): readonly IpAllocation[] {
        const all = this.#named(this.#byContainer.get(attachment.containerId));
        return all.filter((allocation) => namesContainer(allocation, attachment));
    }

    /** The known allocations that name this container, of all its interfaces. */
    ofAnyInterface(containerId: string): readonly IpAllocation[] {
        return this.#named(this.#byContainer.get(containerId));
    }

    /** The known allocations that this StatefulSet ordinal owns. */
    ofOrdinal(namespace: string, place: SetPlace): readonly IpAllocation[] {
        return this.list().filter((allocation) => isForOrdinal(allocation, namespace, place));
    }

    /**
     * Registers a listener, until the result is disposed of. It is called with the last known state of each allocation
     * that the watch or a list no longer has for this Node, or that another object of its name has replaced; not after
     * `noteGone` or `settle` dropped it.
     */
    onGone(listener: (allocation: IpAllocation) => void): Disposable {
        this.#goneListeners.add(listener);
        return { [Symbol.dispose]: () => this.#goneListeners.delete(listener) };
    }

    /**
     * Records the state of an allocation from the answer to a request of this agent; as `noteGone` if it does not name
     * this Node. An answer that is older than the known state is ignored.
     *
     * @param askedAt monotonic time (ms) before the request was made; undefined if unknown: resourceVersions are
     * compared
     */
    note(allocation: IpAllocation, askedAt?: number): void {
        if (allocation.spec.pod?.nodeName !== this.#nodeName) return this.noteGone(allocation, askedAt);
        const ended = this.#endedByWatch.get(allocation.metadata?.uid ?? "");
        if ([this.#allocations.get(objectName(allocation)), ended].some((one) => isBefore(allocation, one, askedAt)))
            return;
        this.#put(withoutManagedFields(allocation), { isAnswer: true });
    }

    /**
     * Records that the allocation is deleted, or no longer belongs to this Node as of this version; `askedAt` as in
     * `note`.
     */
    noteGone(allocation: IpAllocation, askedAt?: number): void {
        const uid = allocation.metadata?.uid ?? "";
        const known = this.#allocations.get(objectName(allocation));
        // A late answer to an earlier write: the allocation has been assigned to this Node again since.
        if (isBefore(allocation, known, askedAt) || isBefore(allocation, this.#ended.get(uid), askedAt)) return;
        this.#end(this.#ended, allocation);
        if (known?.allocation.metadata?.uid === uid) this.#drop(objectName(allocation));
    }

    /**
     * Drops entries that were written long ago and never delivered by a watch that has delivered later changes: they
     * were deleted while the watch was broken. A silent watch is inconclusive, since its connection may be dead.
     */
    settle(): void {
        const deliveredUntil = this.informer.upToDateAt;
        if (this.informer.state.kind !== "watching") return;
        for (const [name, { at, isAnswer }] of [...this.#allocations]) {
            if (isAnswer && deliveredUntil - at > deliveryLimitMs && this.informer.get(name) === undefined)
                this.#drop(name);
        }
    }

    #end(all: Map<string, Ended>, allocation: IpAllocation): void {
        const at = this.#now;
        for (const [uid, ended] of all) {
            if (at - ended.at <= deliveryLimitMs) break;
            all.delete(uid);
        }
        const uid = allocation.metadata?.uid ?? "";
        all.delete(uid);
        all.set(uid, { allocation, at });
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
        for (const [name, { allocation, at, isAnswer }] of [...this.#allocations]) {
            if (!isAnswer || at >= began || this.informer.get(name) !== undefined) continue;
            this.#drop(name);
            this.#components.freed(allocationIp(allocation));
            this.#notifyGone(allocation);
        }
        for (const allocation of this.informer.list()) {
            const known = this.#allocations.get(objectName(allocation));
            const uid = allocation.metadata?.uid ?? "";
            const ended = this.#ended.get(uid);
            if (known?.allocation === allocation || [known, ended].some((one) => one !== undefined && one.at >= began))
                continue;
            this.#ended.delete(uid);
            this.#put(allocation, { isAnswer: false });
        }
    }

    #onChange(deleted: boolean, allocation: IpAllocation): void {
        const name = objectName(allocation);
        const known = this.#allocations.get(name);
        if (!deleted) {
            const ended = this.#ended.get(allocation.metadata?.uid ?? "");
            if (ended !== undefined && !isOlder(ended.allocation, allocation)) return;
            if (isOlder(allocation, known?.allocation) || this.#isBeforeAnswer(allocation, known)) return;
            this.#put(allocation, { isAnswer: false });
            return;
        }
        this.#end(this.#endedByWatch, allocation);
        if (known === undefined || known.allocation.metadata?.uid !== allocation.metadata?.uid) return;
        // The end of a state before this agent's last write of the same object does not end that object.
        if (isOlder(allocation, known.allocation)) return;
        this.#drop(name);
        this.#components.freed(allocationIp(allocation));
        this.#notifyGone(known.allocation);
    }

    /** Whether a late watch event concerns the previous object of the name, not the one this agent has just written. */
    #isBeforeAnswer(allocation: IpAllocation, known: Known | undefined): boolean {
        if (known?.isAnswer !== true || known.allocation.metadata?.uid === allocation.metadata?.uid) return false;
        return this.#now - known.at <= deliveryLimitMs && versionOf(allocation) < versionOf(known.allocation);
    }

    #put(allocation: IpAllocation, { isAnswer }: { readonly isAnswer: boolean }): void {
        const name = objectName(allocation);
        const before = this.get(name);
        this.#drop(name);
        this.#allocations.set(name, { allocation, at: this.#now, isAnswer });
        const { uid = "", containerID = "" } = allocation.spec.pod ?? {};
        this.#byPod.add(uid, name);
        this.#byContainer.add(containerID, name);
        // A new object of the name, or an old state after an etcd restore: the previous holder has lost the address,
        // whatever the watch delivers and when.
        if (before === undefined) return;
        if (before.metadata?.uid !== allocation.metadata?.uid || isOlder(allocation, before)) this.#notifyGone(before);
    }

    #notifyGone(allocation: IpAllocation): void {
        for (const listener of this.#goneListeners) listener(allocation);
    }

    #drop(name: string): void {
        const known = this.#allocations.get(name);
        if (known === undefined) return;
        this.#allocations.delete(name);
        const { uid = "", containerID = "" } = known.allocation.spec.pod ?? {};
        this.#byPod.delete(uid, name);
        this.#byContainer.delete(containerID, name);
    }

    #named(names: readonly string[]): readonly IpAllocation[] {
        return names.flatMap((name) => this.get(name) ?? []);
    }
}

/** Whether an answer predates the known state of the same object; never if it was requested after that state. */
function isBefore(
    allocation: IpAllocation,
    known: Pick<Known, "allocation" | "at"> | undefined,
    askedAt: number | undefined,
): boolean {
    return (
        (askedAt === undefined || known === undefined || askedAt <= known.at) && isOlder(allocation, known?.allocation)
    );
}

/** Whether the allocation is an earlier state of the known object. resourceVersions are increasing decimal numbers. */
function isOlder(allocation: IpAllocation, known: IpAllocation | undefined): boolean {
    if (known === undefined || known.metadata?.uid !== allocation.metadata?.uid) return false;
    return versionOf(allocation) < versionOf(known);
}

function versionOf(allocation: IpAllocation): bigint {
    const text = allocation.metadata?.resourceVersion ?? "";
    return /^\d+$/.test(text) ? BigInt(text) : 0n;
}
