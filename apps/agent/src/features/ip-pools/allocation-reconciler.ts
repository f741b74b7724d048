import { isDeepStrictEqual } from "node:util";
import { type Clock } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type Logger } from "@antrea/runtime";
import { type NamedPodUid } from "@antrea/kube";
import { type PoolAllocator } from "./allocator.ts";
import { AllocationOwners, type ResolvedOwner } from "./allocation-owners.ts";
import { type AllocationWriter } from "./allocation-writer.ts";
import { mayTake, namesContainer, type Holder } from "./allocations.ts";
import { LiveAllocations, type Answer } from "./live-allocations.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type NodePods } from "./node-pods.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { type OwnNode } from "./own-node.ts";
import { type PodEvents } from "./pod-events.ts";
import { type PoolCache } from "./pool-cache.ts";
import { PoolChanges, differenceOf } from "./pool-changes.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { isToBeRepeated, lockLimitMs, within } from "./requests.ts";
import { podOf } from "./types.ts";
import { UnclaimedAddresses } from "./unclaimed-addresses.ts";
import { isAdding, UnusedAllocations, type UnusedAllocationsOptions } from "./unused-allocations.ts";
import { logged } from "./logged.ts";
import { type PoolInterface, type Wiring } from "./wiring.ts";
import { type Attachment, podText } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of AllocationReconciler. */
export interface AllocationReconcilerComponents {
    readonly own: OwnAllocations;
    readonly writer: AllocationWriter;
    readonly allocator: PoolAllocator;
    readonly cache: PoolCache;
    readonly node: Pick<OwnNode, "known" | "isGone">;
    readonly pods: NodePods;
    readonly holders: Pick<SubnetHolders, "heldElsewhere">;
    readonly wiring: Wiring;
    readonly clock: Clock;
    readonly events: Pick<PodEvents, "heldElsewhere" | "inAnothersSubnet" | "poolChanged" | "staysIsolated">;
    readonly metrics: IpamMetrics;
    readonly logger: Logger;
}

/** Settings of AllocationReconciler. */
export interface AllocationReconcilerOptions extends UnusedAllocationsOptions {
    readonly nodeName: string;
}

/** How long a pass waits for the Pod and IPPool caches to sync. */
const knownSoonMs = 3_000;

type PoolAddress = PoolInterface["addresses"][number];

/** Answers obtained for an interface before its container lock was taken. */
interface Asked {
    readonly answers: readonly Answer<PoolAddress>[];
    /** Undefined if the interface had all its allocations. */
    readonly allocationOwner: ResolvedOwner | undefined;
}

/** Limit for releasing allocations of containers that ended during an outage. */
const settleLimitMs = 10_000;
/** How often one pass queries the allocations of an interface if they change meanwhile. */
const askTries = 3;

class AllocationReconcilerError extends AntreaError<"CHANGED"> {}

/**
 * Reconciles the IPAllocations of this Node with the interface records. The record of a running container is
 * authoritative over the allocation; an allocation without a record is kept for the next ADD of its Pod, and freed once
 * no ADD can follow. Passes must not overlap.
 */
export class AllocationReconciler {
    readonly #components: AllocationReconcilerComponents;
    readonly #options: AllocationReconcilerOptions;
    readonly #logger: Logger;
    readonly #unused: UnusedAllocations;
    readonly #poolChanges: PoolChanges;
    readonly #unclaimed: UnclaimedAddresses;
    readonly #live: LiveAllocations;
    readonly #owners: AllocationOwners;
    /** Container IDs and Pod UIDs of interfaces that passes left to the end of an ADD. */
    readonly #waiting = new Set<string>();

    constructor(components: AllocationReconcilerComponents, options: AllocationReconcilerOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
        this.#unused = new UnusedAllocations(components, options);
        this.#poolChanges = new PoolChanges(components);
        this.#unclaimed = new UnclaimedAddresses(components);
        this.#live = new LiveAllocations(components);
        this.#owners = new AllocationOwners(components);
    }

    /** Number of isolated interfaces that have addresses of IPPools. */
    get isolated(): number {
        const { wiring } = this.#components;
        return wiring.interfaces().filter((wired) => wiring.isIsolated(wired)).length;
    }

    /** Number of addresses of running containers that no pool contains now, or whose pool settings have changed. */
    get changed(): number {
        return this.#poolChanges.size + this.#unclaimed.poolless;
    }

    /** Number of allocations that are checked again before they are freed. */
    get suspects(): number {
        return this.#unused.suspects;
    }

    /**
     * Whether a pass left an interface of the container, or of the Pod with this UID, to the end of an ADD. A pass is due
     * at its end: the ADD may have made another interface of the Pod, and restores the allocations of none but that.
     */
    isWaiting(containerIdOrPodUid: string): boolean {
        return this.#waiting.has(containerIdOrPodUid);
    }

    /**
     * Runs one pass: retries releases, restores allocations from records, isolates or reconnects interfaces, reports
     * changed pools, frees unused allocations. Failures of single items are logged and left to the next pass. Rejects
     * if the signal aborts before the allocations and Nodes are synced, or at the end if the API server did not answer
     * or a container was busy: retry soon. Ends early if the signal aborts later.
     */
    async reconcile(signal: AbortSignal): Promise<void> {
        const { allocator, node, own } = this.#components;
        await Promise.all([own.synced(signal), node.known(signal)]);
        own.settle();
        await this.#knownSoon(signal);
        const settle = (): Promise<void> => allocator.settle(within(signal, settleLimitMs));
        const failures = [await logged(this.#logger, "allocations to be released are left to the next pass", settle)];
        this.#waiting.clear();
        for (const wired of this.#interfaces()) {
            if (signal.aborted) return;
            for (const { ip } of wired.addresses) if (this.#isClaimed(wired, ip)) this.#unclaimed.hasPool(wired, ip);
            // Nearly all are right, and a Node has thousands.
            if (this.#toMend(wired) === undefined) continue;
            const mend = (): Promise<void> => this.#mend(wired, signal);
            failures.push(await logged(this.#logger, "a record could not be synced with its allocation", mend));
        }
        this.#poolChanges.check(this.#interfaces());
        if (await this.#unused.free(signal)) this.#unclaimed.keep(this.#components.wiring.interfaces());
        const urgent = failures.find((failure) => failure !== undefined && isToBeRepeated(failure.error));
        if (urgent !== undefined) throw urgent.error;
    }

    /** Interfaces with their Pod names resolved, including those whose Pod was unknown when the record was rebuilt. */
    #interfaces(): readonly PoolInterface[] {
        const { pods, wiring } = this.#components;
        return pods.withNames(wiring.interfaces());
    }

    /** Waits for the caches that determine the owner and the IPPool of a recreated allocation. */
    async #knownSoon(signal: AbortSignal): Promise<void> {
        const { cache, pods } = this.#components;
        const wired = this.#interfaces();
        const lacksAllocation = wired.some((one) => !this.#hasAllocations(one));
        const limit = within(signal, knownSoonMs);
        const waits: Promise<unknown>[] = [];
        if (lacksAllocation || wired.some(isUnnamed)) {
            const message = "the Pods of this Node are not known yet; events wait for those whose name is not known";
            waits.push(logged(this.#logger, message, () => pods.synced(limit)));
        }
        if (lacksAllocation && !cache.hasPools) {
            const message = "the IPPools are not known; allocations are restored from interface records";
            waits.push(logged(this.#logger, message, () => cache.synced(limit)));
        }
        await Promise.all(waits);
    }

    /** Restores the allocations of an interface as in its record; isolates the interface if that is not possible. */
    async #mend(wired: PoolInterface, signal: AbortSignal): Promise<void> {
        const { wiring } = this.#components;
        for (let left = askTries; left > 0; left -= 1) {
            const judged = this.#toMend(wired);
            if (judged === undefined || !(await wiring.linkExists(judged))) return;
            // Before the lock is taken: neither other work on the container nor OVS repair may wait for the API server.
            const allocationOwner = this.#hasAllocations(judged)
                ? undefined
                : await this.#owners.find(podOf(judged), signal);
            const answers = await this.#live.ask(judged.addresses, signal);
            const act = (): Promise<boolean> => this.#mendBy({ answers, allocationOwner }, judged, signal);
            if (await wiring.exclusively(wired.containerId, act, within(signal, lockLimitMs))) return;
        }
        const pod = podText(wired);
        throw new AllocationReconcilerError("CHANGED", "timeout", `the allocations of Pod ${pod} changed at each read`);
    }

    /** The current state of the interface if it lacks an allocation or is isolated; else undefined. */
    #toMend(judged: Attachment): PoolInterface | undefined {
        const { pods, wiring } = this.#components;
        const found = wiring.find(judged);
        const [current] = found === undefined ? [] : pods.withNames([found]);
        if (current === undefined) return undefined;
        // It may still be isolated: OVS was unavailable when it was to be reconnected.
        if (this.#hasAllocations(current) && !wiring.isIsolated(current)) return undefined;
        if (!isAdding(wiring, current)) return current;
        this.#waiting.add(current.containerId);
        if (current.podUid !== "") this.#waiting.add(current.podUid);
        return undefined;
    }

    /** Called with the container lock held. False if the interface or its allocations changed since the query. */
    async #mendBy({ answers, allocationOwner }: Asked, judged: PoolInterface, signal: AbortSignal): Promise<boolean> {
        const { node, wiring } = this.#components;
        const current = this.#toMend(judged);
        if (current === undefined) return true;
        if (answers.some((answer) => this.#live.isLate(answer)) || !isDeepStrictEqual(current, judged)) return false;
        if (!(await wiring.linkExists(current))) return true;
        const limit = within(signal, lockLimitMs);
        const context = {
            allocationOwner: allocationOwner ?? { pod: podOf(current), owner: undefined },
            wasIsolated: wiring.isIsolated(current),
        };
        let all = true;
        for (const answer of answers) {
            const { address, live } = answer;
            // The cache may be stale: only a current answer of the API server reconnects an isolated interface.
            const isRight = this.#isClaimed(current, address.ip)
                ? live !== undefined && namesContainer(live, current)
                : await this.#claimAgain(current, answer, { ...context, signal: limit });
            // Query the holder at once: until the next pass the interface would share the address with the first user.
            if (isRight === "overtaken") return false;
            all &&= isRight;
        }
        // The allocations of a deleted Node are freed by the controller, or already are.
        if (!all || node.isGone || !wiring.isIsolated(current)) return true;
        await wiring.reconnect(current);
        for (const { ip } of current.addresses) this.#unclaimed.isConnected(current, ip);
        return true;
    }

    #hasAllocations(wired: PoolInterface): boolean {
        return wired.addresses.every(({ ip }) => this.#isClaimed(wired, ip));
    }

    #isClaimed(wired: PoolInterface, ip: IpAddress): boolean {
        const { own } = this.#components;
        const address = formatIp(ip);
        return own.ofContainer(wired).some(({ spec }) => spec.address === address);
    }

    /** False if the holder is another Pod or unknown, "overtaken" if another Pod allocated the address first. */
    async #claimAgain(
        wired: PoolInterface,
        { address, live, askedAt }: Answer<PoolAddress>,
        {
            allocationOwner: { pod, owner },
            wasIsolated,
            signal,
        }: { readonly allocationOwner: ResolvedOwner; readonly wasIsolated: boolean; readonly signal: AbortSignal },
    ): Promise<boolean | "overtaken"> {
        const { cache, metrics, own, writer } = this.#components;
        const { ip } = address;
        const pool = this.#poolOf(address);
        const holder = this.#holderOf(wired, pod);
        if (live !== undefined && namesContainer(live, wired)) {
            own.note(live, askedAt);
            return true;
        }
        // A Pod with traffic keeps its allocation without the IPPool: a recreated IPPool must find it.
        const isPoolless = live === undefined && pool === undefined && (address.pool === "" || wasIsolated);
        if (!isPoolless) this.#unclaimed.hasPool(wired, ip);
        if (live !== undefined && !mayTake(live, holder)) {
            // The address is unused, and it may be reserved for this very Pod.
            if (
                live.spec.pod === undefined &&
                isUnnamed(wired) &&
                pod.name === "" &&
                !this.#components.pods.informer.hasSynced
            ) {
                return false;
            }
            await this.#unclaimed.isolateFor(wired, ip, live);
            return false;
        }
        const isLost = live === undefined;
        if (isLost && (await this.#unclaimed.isolateIfElsewhere(wired, ip, { pool, wasIsolated }))) return false;
        if (isPoolless) return cache.hasPools && (await this.#unclaimed.mayKeep(wired, ip, { wasIsolated }));
        // The controller frees the allocations of a deleted Node; recreating them would only delay that.
        if (this.#components.node.isGone) {
            await this.#unclaimed.isolateFreed(wired, ip);
            return false;
        }
        const known = live?.spec.pool ?? pool ?? address.pool;
        // Without a pool version the interface is always compared with its pool.
        const now = cache.known(known);
        const isSame = now !== undefined && differenceOf({ ...address, vlan: wired.vlan }, now.pool) === undefined;
        const version = isSame ? now.version : undefined;
        const allocation =
            live === undefined
                ? await writer.create(ip, known, holder, {
                      signal,
                      readExisting: true,
                      owner: owner && wired.network !== undefined ? { ...owner, interface: wired.ifName } : owner,
                      version,
                      requestMs: lockLimitMs,
                  })
                : await writer.take(live, holder, signal, version, lockLimitMs);
        if (allocation === undefined) return "overtaken";
        metrics.recordMended();
        this.#unclaimed.isConnected(wired, ip);
        this.#logger.warn("allocation updated from the record of its interface", {
            pod: `${pod.namespace}/${pod.name}`,
            address: formatIp(ip),
            pool: known,
        });
        return true;
    }

    /** The IPPool that contains the address now; while the IPPools are not synced, the one it was allocated from. */
    #poolOf({ ip, pool }: PoolAddress): string | undefined {
        const { cache } = this.#components;
        if (cache.hasPools) return cache.poolOf(ip, pool);
        return pool === "" ? undefined : pool;
    }

    #holderOf({ containerId, ifName, network }: PoolInterface, pod: NamedPodUid): Holder {
        return { pod, nodeName: this.#options.nodeName, containerId, ifName, network };
    }
}

function isUnnamed({ podName, podUid }: PoolInterface): boolean {
    return podName === "" && podUid !== "";
}
