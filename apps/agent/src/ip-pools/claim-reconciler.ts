import { isOfPods, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Clock, type Logger } from "@antrea/runtime";
import { type PoolAllocator } from "./allocator.ts";
import { type ClaimWriter } from "./claim-writer.ts";
import { claimIp, claimName, mayTake, namesContainer, type Holder } from "./claims.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type NodePods } from "./node-pods.ts";
import { type OwnClaims } from "./own-claims.ts";
import { type OwnNode } from "./own-node.ts";
import { type PodEvents } from "./pod-events.ts";
import { type PoolBook } from "./pool-book.ts";
import { PoolChanges, differenceOf, type SetUp } from "./pool-changes.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { type Attachment, type PodIdentity } from "./types.ts";
import { UnclaimedAddresses } from "./unclaimed-addresses.ts";

/** An interface of this Node with addresses of IPPools, as its record says. */
export interface WiredInterface extends Attachment {
    /** Empty, as the name, while only the UID is known. */
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    /** `pool` is "" when nobody knows it any more. */
    readonly addresses: readonly (Omit<SetUp, "vlan"> & { readonly pool: string })[];
    /** 0 is untagged. */
    readonly vlan: number;
}

/** What is wired on this Node, and how to deal with it. */
export interface Wiring {
    /** All interfaces with addresses of IPPools. */
    interfaces(): readonly WiredInterface[];
    /** Whether the container's network namespace lives. */
    linkExists(wired: WiredInterface): Promise<boolean>;
    /** Serial work on one container, as ADD and DEL do it. */
    exclusively<T>(containerId: string, work: () => Promise<T>): Promise<T>;
    /** Whether the interface of the Pod is wired, with whatever addresses. */
    isWired(podUid: string, ifName: string): boolean;
    /** Whether an ADD of the container, or for the Pod, is under way. */
    isAdding(containerIdOrPodUid: string): boolean;
    /** Whether the interface is cut off; an agent that starts again knows it too. */
    isCutOff(wired: WiredInterface): boolean;
    /** Ends the traffic of the interface; again is no harm, and completes what failed before. */
    cutOff(wired: WiredInterface): Promise<void>;
    /** Undoes `cutOff`; nothing happens to an interface that is not cut off. */
    reconnect(wired: WiredInterface): Promise<void>;
}

export interface ClaimReconcilerComponents {
    readonly own: OwnClaims;
    readonly writer: ClaimWriter;
    readonly allocator: PoolAllocator;
    readonly book: PoolBook;
    readonly node: Pick<OwnNode, "known" | "isGone">;
    readonly pods: NodePods;
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly wiring: Wiring;
    readonly clock: Clock;
    readonly events: Pick<PodEvents, "heldElsewhere" | "inAnothersSubnet" | "poolChanged">;
    readonly metrics: IpamMetrics;
    readonly logger: Logger;
}

export interface ClaimReconcilerOptions {
    readonly nodeName: string;
    /** Between the two looks that find a claim unused. Default 10 s. */
    readonly confirmMs?: number | undefined;
}

/** How long a pass waits for the names of Pods that only the UIDs of are known. */
const namesSoonMs = 3_000;

/**
 * Brings the claims of this Node in step with the records of its interfaces. A record of a living container is right
 * whatever the claim says; a claim without a record is kept for the next ADD of its Pod, and freed when there will be
 * none.
 */
export class ClaimReconciler {
    readonly #components: ClaimReconcilerComponents;
    readonly #options: ClaimReconcilerOptions;
    readonly #logger: Logger;
    /** Claims that looked unused, by UID and version, and since when. */
    #suspects = new Map<string, number>();
    readonly #poolChanges: PoolChanges;
    readonly #unclaimed: UnclaimedAddresses;

    constructor(components: ClaimReconcilerComponents, options: ClaimReconcilerOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
        this.#poolChanges = new PoolChanges(components);
        this.#unclaimed = new UnclaimedAddresses(components);
    }

    /** Interfaces that are isolated. */
    get isolated(): number {
        const { wiring } = this.#components;
        return wiring.interfaces().filter((wired) => wiring.isCutOff(wired)).length;
    }

    /** Addresses of running containers that no pool has any more, or that their pools describe otherwise by now. */
    get changed(): number {
        return this.#poolChanges.size + this.#unclaimed.poolless;
    }

    /** Claims that are looked at again before they are freed. */
    get suspects(): number {
        return this.#suspects.size;
    }

    /** One pass. What fails of it is logged and left to the next; rejects only when the claims are not known. */
    async reconcile(signal: AbortSignal): Promise<void> {
        const { allocator, node, own, wiring } = this.#components;
        await Promise.all([own.synced(signal), node.known(signal)]);
        own.settle();
        await this.#namesSoon(signal);
        await this.#quietly("claims to be freed are left to the next pass", () => allocator.settle(signal));
        for (const wired of this.#interfaces()) {
            if (signal.aborted) return;
            const container = wired.containerId;
            await this.#quietly("a record could not be brought in step with its claim", () =>
                wiring.exclusively(container, () => this.#mend(wired, signal)),
            );
        }
        this.#poolChanges.look(this.#interfaces());
        await this.#freeUnused(signal);
    }

    /** By their Pods' names, also those whose Pod was not known when the record was rebuilt. */
    #interfaces(): readonly WiredInterface[] {
        const { pods, wiring } = this.#components;
        return pods.withNames(wiring.interfaces());
    }

    async #namesSoon(signal: AbortSignal): Promise<void> {
        const { pods } = this.#components;
        if (!this.#interfaces().some(isUnnamed)) return;
        await this.#quietly("the names of Pods are left to the next pass", () =>
            pods.synced(AbortSignal.any([signal, AbortSignal.timeout(namesSoonMs)])),
        );
    }

    /** The claims of an interface are as its record says, or the interface has no traffic. */
    async #mend(wired: WiredInterface, signal: AbortSignal): Promise<void> {
        const { node, wiring } = this.#components;
        const current = this.#interfaces().find(
            (one) => one.containerId === wired.containerId && one.ifName === wired.ifName,
        );
        if (current === undefined || this.#isAdding(current.containerId, current.podUid)) return;
        const wrong = current.addresses.filter(({ ip }) => !this.#isClaimed(current, ip));
        for (const { ip } of current.addresses) if (this.#isClaimed(current, ip)) this.#unclaimed.hasPool(current, ip);
        // One with all its claims may be cut off still: OVS was away when it was to be connected again.
        if (wrong.length === 0 && !wiring.isCutOff(current)) return;
        if (!(await wiring.linkExists(current))) return;
        let all = true;
        for (const address of wrong) all = (await this.#claimAgain(current, address, signal)) && all;
        // Its claims will be freed, or are.
        if (!all || node.isGone || !wiring.isCutOff(current)) return;
        // What is known here may be late; whoever was isolated once is connected by what the API server says now.
        if (!(await this.#areLive(current, signal))) return;
        await wiring.reconnect(current);
        for (const { ip } of current.addresses) this.#unclaimed.isConnected(current, ip);
    }

    async #areLive(wired: WiredInterface, signal: AbortSignal): Promise<boolean> {
        const { book, writer } = this.#components;
        // Nobody hands out, and claims, what is in no pool.
        const claimed = wired.addresses.filter(({ ip, pool }) => pool !== "" || book.poolOf(ip) !== undefined);
        const live = await Promise.all(claimed.map(({ ip }) => writer.find(ip, signal)));
        return live.every((claim) => claim !== undefined && namesContainer(claim, wired));
    }

    #isClaimed(wired: WiredInterface, ip: IpAddress): boolean {
        const { own } = this.#components;
        return own.ofContainer(wired).some((claim) => claim.spec.address === formatIp(ip));
    }

    /** False when another has the address, or nobody knows yet whose it is. */
    async #claimAgain(
        wired: WiredInterface,
        address: WiredInterface["addresses"][number],
        signal: AbortSignal,
    ): Promise<boolean> {
        const { book, metrics, own, pods, writer } = this.#components;
        const { ip } = address;
        const pool = address.pool === "" ? book.poolOf(ip) : address.pool;
        const fields = { pod: `${wired.podNamespace}/${wired.podName}`, address: formatIp(ip), pool };
        const holder = this.#holderOf(wired);
        const askedAt = this.#components.clock.monotonic();
        const live = await writer.find(ip, signal);
        if (live !== undefined && namesContainer(live, wired)) {
            own.note(live, askedAt);
            return true;
        }
        const isPoolless = live === undefined && pool === undefined;
        if (!isPoolless) this.#unclaimed.hasPool(wired, ip);
        if (live !== undefined && !mayTake(live, holder)) {
            // Nobody uses it, and it may be reserved for this very Pod.
            if (live.spec.pod === undefined && isUnnamed(wired) && !pods.hasSynced) return false;
            await this.#unclaimed.isolateFor(wired, ip, live);
            return false;
        }
        if (isPoolless) return book.hasPools && (await this.#unclaimed.mayKeep(wired, ip));
        // Claims of a Node that is gone are freed by the controller; to make them again would only delay it.
        if (this.#components.node.isGone) {
            await this.#unclaimed.isolateFreed(wired, ip);
            return false;
        }
        const known = pool ?? "";
        // Without a version the interface is compared with its pool in any case.
        const now = book.known(known);
        const isSame = now !== undefined && differenceOf({ ...address, vlan: wired.vlan }, now.pool) === undefined;
        const version = isSame ? now.version : undefined;
        const owner = this.#ownerOf(holder.pod);
        const claim =
            live === undefined
                ? await writer.create(ip, known, holder, { signal, look: true, owner, version })
                : await writer.take(live, holder, signal, version);
        if (claim === undefined) return false;
        metrics.recordMended();
        this.#unclaimed.isConnected(wired, ip);
        this.#logger.warn("a claim was brought in step with the record of its interface", fields);
        return true;
    }

    /** Whom the claim was kept for, as far as the Pod tells. */
    #ownerOf(pod: PodIdentity): AllocationOwner | undefined {
        const set = this.#components.pods.setOf(pod);
        if (set === undefined) return undefined;
        const { name, uid, ordinal: index } = set;
        return { kind: "StatefulSet", namespace: pod.namespace, name, uid, index };
    }

    /** Frees the claims that have no record and will have none. */
    async #freeUnused(signal: AbortSignal): Promise<void> {
        const { clock, own } = this.#components;
        const now = clock.monotonic();
        const before = this.#suspects;
        this.#suspects = new Map();
        for (const claim of own.list()) {
            if (signal.aborted) return;
            if (!this.#looksUnused(claim)) continue;
            const key = `${claim.metadata?.uid} ${claim.metadata?.resourceVersion}`;
            const since = before.get(key);
            this.#suspects.set(key, since ?? now);
            if (since === undefined || now - since < this.#confirmMs) continue;
            await this.#quietly("an unused claim is left to the next pass", () => this.#freeIfUnused(claim, signal));
        }
        this.#unclaimed.keep(this.#components.wiring.interfaces());
    }

    /** By what is known here; it may be late. */
    #looksUnused(claim: IpAllocation): boolean {
        const { pod } = claim.spec;
        if (pod === undefined || !isOfPods(claim.spec.owner) || this.#recordOf(claim) !== undefined) return false;
        if (this.#isAdding(pod.containerID, pod.uid)) return false;
        return this.#isSurplus(claim) || !this.#components.pods.isKnownAlive(pod);
    }

    async #freeIfUnused(claim: IpAllocation, signal: AbortSignal): Promise<void> {
        const { metrics, own, pods, wiring, writer } = this.#components;
        const { pod } = claim.spec;
        if (pod === undefined) return;
        const unused = this.#isSurplus(claim) || (await pods.isOver(pod, signal));
        if (!unused) return;
        metrics.leakFound();
        await wiring.exclusively(pod.containerID, async () => {
            // An ADD may have come while the API server was asked: from here on it would change the version.
            if (!this.#looksUnused(claim) || own.get(claimName(claim)) !== claim) return;
            const version = claim.metadata?.resourceVersion;
            await writer.free(claim, (current) => current.metadata?.resourceVersion === version, signal);
            if (own.get(claimName(claim)) !== undefined) return;
            metrics.reclaimed();
            this.#logger.info("a claim that nobody uses was freed", {
                address: claimName(claim),
                pod: `${pod.namespace}/${pod.name}`,
                container: pod.containerID,
            });
        });
    }

    /**
     * Of a claim without a record: the interface of its Pod is wired with other addresses, of this family or, since the Pod
     * asks for other pools now, of another.
     */
    #isSurplus(claim: IpAllocation): boolean {
        const { own, wiring } = this.#components;
        const { uid = "", interface: ifName = "" } = claim.spec.pod ?? {};
        if (wiring.isWired(uid, ifName)) return true;
        // A record that was rebuilt from little knows no UID.
        return own
            .ofPod(uid, ifName, claimIp(claim).family)
            .some((other) => claimName(other) !== claimName(claim) && this.#recordOf(other) !== undefined);
    }

    /** The interface of the claim's Pod that has the claimed address, in whichever of its sandboxes. */
    #recordOf({ spec: { address, pod } }: IpAllocation): WiredInterface | undefined {
        return this.#components.wiring.interfaces().find(
            (wired) =>
                wired.addresses.some(({ ip }) => formatIp(ip) === address) &&
                wired.ifName === pod?.interface &&
                // A record that was rebuilt from little knows no UID: it may be of this Pod.
                (wired.containerId === pod.containerID || wired.podUid === pod.uid || wired.podUid === ""),
        );
    }

    #isAdding(containerId: string, podUid: string): boolean {
        const { wiring } = this.#components;
        return wiring.isAdding(containerId) || (podUid !== "" && wiring.isAdding(podUid));
    }

    #holderOf(wired: WiredInterface): Holder {
        const { containerId, ifName } = wired;
        return { pod: podOf(wired), nodeName: this.#options.nodeName, containerId, ifName };
    }

    get #confirmMs(): number {
        return this.#options.confirmMs ?? 10_000;
    }

    async #quietly(message: string, work: () => Promise<void>): Promise<void> {
        try {
            await work();
        } catch (error) {
            this.#logger.warn(message, { reason: messageOf(error) });
        }
    }
}

function podOf({ podNamespace, podName, podUid }: WiredInterface): PodIdentity {
    return { namespace: podNamespace, name: podName, uid: podUid };
}

function isUnnamed({ podName, podUid }: WiredInterface): boolean {
    return podName === "" && podUid !== "";
}
