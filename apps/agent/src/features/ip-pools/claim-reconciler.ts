import { isDeepStrictEqual } from "node:util";
import { type Clock } from "@antrea/async";
import { isOfPods, type IpAllocation } from "@antrea/crd";
import { AntreaError, messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type PoolAllocator } from "./allocator.ts";
import { ClaimOwners, type ClaimOwner } from "./claim-owners.ts";
import { type ClaimWriter } from "./claim-writer.ts";
import { claimIp, claimName, mayTake, namesContainer, type Holder } from "./claims.ts";
import { LiveClaims, type Answer } from "./live-claims.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type NodePods } from "./node-pods.ts";
import { type OwnClaims } from "./own-claims.ts";
import { type OwnNode } from "./own-node.ts";
import { type PodEvents } from "./pod-events.ts";
import { type PoolCache } from "./pool-cache.ts";
import { PoolChanges, differenceOf } from "./pool-changes.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { isToBeRepeated, lockLimitMs, within } from "./requests.ts";
import { type PodIdentity, podOf } from "./types.ts";
import { UnclaimedAddresses } from "./unclaimed-addresses.ts";
import { type PoolInterface, type Wiring } from "./wiring.ts";
import { type Attachment, isSameAttachment, podText } from "../../platform/pod-interfaces/index.ts";

export interface ClaimReconcilerComponents {
    readonly own: OwnClaims;
    readonly writer: ClaimWriter;
    readonly allocator: PoolAllocator;
    readonly book: PoolCache;
    readonly node: Pick<OwnNode, "known" | "isGone">;
    readonly pods: NodePods;
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly wiring: Wiring;
    readonly clock: Clock;
    readonly events: Pick<PodEvents, "heldElsewhere" | "inAnothersSubnet" | "poolChanged" | "staysIsolated">;
    readonly metrics: IpamMetrics;
    readonly logger: Logger;
}

export interface ClaimReconcilerOptions {
    readonly nodeName: string;
    /** Between the two looks that find a claim unused. Default 10 s. */
    readonly confirmMs?: number | undefined;
}

/** How long a pass waits for the Pods and the IPPools that it needs to know. */
const knownSoonMs = 3_000;

type PoolAddress = PoolInterface["addresses"][number];

/** What was asked about an interface before its container's lock was taken. */
interface Asked {
    readonly answers: readonly Answer<PoolAddress>[];
    /** Undefined when it had all its claims. */
    readonly claimOwner: ClaimOwner | undefined;
}

/** For claims of containers that ended in an outage. */
const settleLimitMs = 10_000;
/** How often an interface is asked about in one pass when its claims change meanwhile. */
const askTries = 3;

class ClaimReconcilerError extends AntreaError<"CHANGED"> {}

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
    readonly #live: LiveClaims;
    readonly #owners: ClaimOwners;

    constructor(components: ClaimReconcilerComponents, options: ClaimReconcilerOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
        this.#poolChanges = new PoolChanges(components);
        this.#unclaimed = new UnclaimedAddresses(components);
        this.#live = new LiveClaims(components);
        this.#owners = new ClaimOwners(components);
    }

    /** Interfaces that are isolated. */
    get isolated(): number {
        const { wiring } = this.#components;
        return wiring.interfaces().filter((wired) => wiring.isIsolated(wired)).length;
    }

    /** Addresses of running containers that no pool has any more, or that their pools describe otherwise by now. */
    get changed(): number {
        return this.#poolChanges.size + this.#unclaimed.poolless;
    }

    /** Claims that are looked at again before they are freed. */
    get suspects(): number {
        return this.#suspects.size;
    }

    /**
     * One pass. What fails of it is logged and left to the next; rejects when the claims are not known, and at its end when
     * something was left since the API server did not answer in time or a container was busy: to be repeated soon.
     */
    async reconcile(signal: AbortSignal): Promise<void> {
        const { allocator, node, own } = this.#components;
        await Promise.all([own.synced(signal), node.known(signal)]);
        own.settle();
        await this.#knownSoon(signal);
        const settle = (): Promise<void> => allocator.settle(within(signal, settleLimitMs));
        const failures = [await this.#quietly("claims to be freed are left to the next pass", settle)];
        for (const wired of this.#interfaces()) {
            if (signal.aborted) return;
            const mend = (): Promise<void> => this.#mend(wired, signal);
            failures.push(await this.#quietly("a record could not be brought in step with its claim", mend));
        }
        this.#poolChanges.look(this.#interfaces());
        await this.#freeUnused(signal);
        const urgent = failures.find((failure) => failure !== undefined && isToBeRepeated(failure.error));
        if (urgent !== undefined) throw urgent.error;
    }

    /** By their Pods' names, also those whose Pod was not known when the record was rebuilt. */
    #interfaces(): readonly PoolInterface[] {
        const { pods, wiring } = this.#components;
        return pods.withNames(wiring.interfaces());
    }

    /** A claim that is made again is kept for whom its Pod says, and is of the IPPool that has the address. */
    async #knownSoon(signal: AbortSignal): Promise<void> {
        const { book, pods } = this.#components;
        const wired = this.#interfaces();
        const lacksClaim = wired.some((one) => !this.#hasClaims(one));
        const limit = within(signal, knownSoonMs);
        const waits: Promise<unknown>[] = [];
        if (lacksClaim || wired.some(isUnnamed)) {
            const message = "the Pods of this Node are not known yet; events wait for those whose name is not known";
            waits.push(this.#quietly(message, () => pods.synced(limit)));
        }
        if (lacksClaim && !book.hasPools) {
            const message = "the IPPools are not known; claims are made again by what interfaces say of them";
            waits.push(this.#quietly(message, () => book.synced(limit)));
        }
        await Promise.all(waits);
    }

    /** The claims of an interface are as its record says, or the interface has no traffic. */
    async #mend(wired: PoolInterface, signal: AbortSignal): Promise<void> {
        const { wiring } = this.#components;
        for (const { ip } of wired.addresses) if (this.#isClaimed(wired, ip)) this.#unclaimed.hasPool(wired, ip);
        for (let left = askTries; left > 0; left -= 1) {
            const judged = this.#toMend(wired);
            if (judged === undefined || !(await wiring.linkExists(judged))) return;
            // Before the lock is taken: no work on the container, nor the repair of OVS, waits for the API server.
            const claimOwner = this.#hasClaims(judged) ? undefined : await this.#owners.find(podOf(judged), signal);
            const answers = await this.#live.ask(judged.addresses, signal);
            const act = (): Promise<boolean> => this.#mendBy({ answers, claimOwner }, judged, signal);
            if (await wiring.exclusively(wired.containerId, act, within(signal, lockLimitMs))) return;
        }
        const pod = podText(wired);
        throw new ClaimReconcilerError(
            "CHANGED",
            "timeout",
            `the claims of Pod ${pod} changed whenever they were asked for`,
        );
    }

    /** The interface as it is now, when it lacks a claim or is isolated. */
    #toMend(judged: Attachment): PoolInterface | undefined {
        const { wiring } = this.#components;
        const current = this.#interfaces().find((one) => isSameAttachment(one, judged));
        if (current === undefined || this.#isAdding(current.containerId, current.podUid)) return undefined;
        const isRight = this.#hasClaims(current);
        // One with all its claims may be cut off still: OVS was away when it was to be connected again.
        return isRight && !wiring.isIsolated(current) ? undefined : current;
    }

    /** Inside the lock. False when the interface, or what is known of its claims, is not what it was when it was asked. */
    async #mendBy({ answers, claimOwner }: Asked, judged: PoolInterface, signal: AbortSignal): Promise<boolean> {
        const { node, wiring } = this.#components;
        const current = this.#toMend(judged);
        if (current === undefined) return true;
        if (answers.some((answer) => this.#live.isLate(answer)) || !isDeepStrictEqual(current, judged)) return false;
        if (!(await wiring.linkExists(current))) return true;
        const limit = within(signal, lockLimitMs);
        const looked = {
            claimOwner: claimOwner ?? { pod: podOf(current), owner: undefined },
            wasIsolated: wiring.isIsolated(current),
        };
        let all = true;
        for (const answer of answers) {
            const { address, live } = answer;
            // What is known here may be late; whoever was isolated once is connected by what the API server says now.
            const isRight = this.#isClaimed(current, address.ip)
                ? live !== undefined && namesContainer(live, current)
                : await this.#claimAgain(current, answer, { ...looked, signal: limit });
            // Until the next pass it would use the address beside whoever was first: who that is, is asked at once.
            if (isRight === "overtaken") return false;
            all &&= isRight;
        }
        // The claims of a Node that is gone will be freed, or are.
        if (!all || node.isGone || !wiring.isIsolated(current)) return true;
        await wiring.reconnect(current);
        for (const { ip } of current.addresses) this.#unclaimed.isConnected(current, ip);
        return true;
    }

    #hasClaims(wired: PoolInterface): boolean {
        return wired.addresses.every(({ ip }) => this.#isClaimed(wired, ip));
    }

    #isClaimed(wired: PoolInterface, ip: IpAddress): boolean {
        const { own } = this.#components;
        return own.ofContainer(wired).some((claim) => claim.spec.address === formatIp(ip));
    }

    /** False when another has the address, or nobody knows yet whose it is; "overtaken" when another was first. */
    async #claimAgain(
        wired: PoolInterface,
        { address, live, askedAt }: Answer<PoolAddress>,
        {
            claimOwner: { pod, owner },
            wasIsolated,
            signal,
        }: { readonly claimOwner: ClaimOwner; readonly wasIsolated: boolean; readonly signal: AbortSignal },
    ): Promise<boolean | "overtaken"> {
        const { book, metrics, own, writer } = this.#components;
        const { ip } = address;
        const pool = this.#poolOf(address);
        const holder = this.#holderOf(wired, pod);
        if (live !== undefined && namesContainer(live, wired)) {
            own.note(live, askedAt);
            return true;
        }
        // Of a Pod with traffic it is claimed although the IPPool is gone: one that comes back must meet the claim.
        const isPoolless = live === undefined && pool === undefined && (address.pool === "" || wasIsolated);
        if (!isPoolless) this.#unclaimed.hasPool(wired, ip);
        if (live !== undefined && !mayTake(live, holder)) {
            // Nobody uses it, and it may be reserved for this very Pod.
            if (
                live.spec.pod === undefined &&
                isUnnamed(wired) &&
                pod.name === "" &&
                !this.#components.pods.hasSynced
            ) {
                return false;
            }
            await this.#unclaimed.isolateFor(wired, ip, live);
            return false;
        }
        const isLost = live === undefined;
        if (isLost && (await this.#unclaimed.isolateIfElsewhere(wired, ip, { pool, wasIsolated }))) return false;
        if (isPoolless) return book.hasPools && (await this.#unclaimed.mayKeep(wired, ip, { wasIsolated }));
        // Claims of a Node that is gone are freed by the controller; to make them again would only delay it.
        if (this.#components.node.isGone) {
            await this.#unclaimed.isolateFreed(wired, ip);
            return false;
        }
        const known = live?.spec.pool ?? pool ?? address.pool;
        // Without a version the interface is compared with its pool in any case.
        const now = book.known(known);
        const isSame = now !== undefined && differenceOf({ ...address, vlan: wired.vlan }, now.pool) === undefined;
        const version = isSame ? now.version : undefined;
        const claim =
            live === undefined
                ? await writer.create(ip, known, holder, { signal, look: true, owner, version, requestMs: lockLimitMs })
                : await writer.take(live, holder, signal, version, lockLimitMs);
        if (claim === undefined) return "overtaken";
        metrics.recordMended();
        this.#unclaimed.isConnected(wired, ip);
        this.#logger.warn("allocation updated from the record of its interface", {
            pod: `${pod.namespace}/${pod.name}`,
            address: formatIp(ip),
            pool: known,
        });
        return true;
    }

    /** The IPPool that has the address now; while the IPPools are not known, the one that it came from. */
    #poolOf({ ip, pool }: PoolAddress): string | undefined {
        const { book } = this.#components;
        if (book.hasPools) return book.poolOf(ip, pool);
        return pool === "" ? undefined : pool;
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
        const free = async (): Promise<void> => {
            // An ADD may have come while the API server was asked: from here on it would change the version.
            if (!this.#looksUnused(claim) || own.get(claimName(claim)) !== claim) return;
            const version = claim.metadata?.resourceVersion;
            const isSame = (current: IpAllocation): boolean => current.metadata?.resourceVersion === version;
            await writer.free(claim, isSame, within(signal, lockLimitMs), lockLimitMs);
            if (own.get(claimName(claim)) !== undefined) return;
            metrics.reclaimed();
            this.#logger.info("unused allocation released", {
                address: claimName(claim),
                pod: `${pod.namespace}/${pod.name}`,
                container: pod.containerID,
            });
        };
        await wiring.exclusively(pod.containerID, free, within(signal, lockLimitMs));
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
    #recordOf({ spec: { address, pod } }: IpAllocation): PoolInterface | undefined {
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

    #holderOf({ containerId, ifName }: PoolInterface, pod: PodIdentity): Holder {
        return { pod, nodeName: this.#options.nodeName, containerId, ifName };
    }

    get #confirmMs(): number {
        return this.#options.confirmMs ?? 10_000;
    }

    /** What failed of it, if anything. */
    async #quietly(message: string, work: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
        try {
            await work();
            return undefined;
        } catch (error) {
            this.#logger.warn(message, { reason: messageOf(error) });
            return { error };
        }
    }
}

function isUnnamed({ podName, podUid }: PoolInterface): boolean {
    return podName === "" && podUid !== "";
}
