import { systemClock, type Clock, orAborted } from "@antrea/async";
import { allocationName } from "@antrea/crd";
import { isAborted } from "@antrea/errors";
import { type IpAddress, type Prefix } from "@antrea/ip";
import { type Pool } from "@antrea/ipam";
import { type ApiClient, type EventInput } from "@antrea/kube";
import { type Logger, type MetricsFactory } from "@antrea/runtime";
import { PoolAllocator } from "./allocator.ts";
import { Blocks } from "./blocks.ts";
import { ClaimReconciler } from "./claim-reconciler.ts";
import { ClaimsWithin } from "./claims-within.ts";
import { ClaimWriter } from "./claim-writer.ts";
import { isForPod, namesContainer } from "./claims.ts";
import { Cooldown } from "./cooldown.ts";
import { IpPoolError } from "./errors.ts";
import { GoneNodes } from "./gone-nodes.ts";
import { ipamMetrics, type IpamMetrics } from "./metrics.ts";
import { NamespacePools } from "./namespace-pools.ts";
import { type DatedNodeSource } from "./node-addresses.ts";
import { NodePods } from "./node-pods.ts";
import { OwnClaims } from "./own-claims.ts";
import { OwnNode } from "./own-node.ts";
import { PodEvents } from "./pod-events.ts";
import { PodPools } from "./pod-pools.ts";
import { PoolCache } from "./pool-cache.ts";
import { PoolSearch } from "./pool-search.ts";
import { ReservationHolders } from "./reservation-holders.ts";
import { Reservations } from "./reservations.ts";
import { SubnetClaims, type SubnetWiring } from "./subnet-claims.ts";
import { SubnetHolders } from "./subnet-holders.ts";
import { type ClaimedAddress, type PodIdentity, type PoolsWanted, podOf } from "./types.ts";
import { type Wiring } from "./wiring.ts";
import type {
    AddressAllocation,
    AddressRequest,
    Attachment,
    PodAttachment,
} from "../../platform/pod-interfaces/index.ts";

export interface IpPoolsComponents {
    readonly api: Pick<ApiClient, "create" | "delete" | "find" | "list" | "pages" | "update" | "watch">;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
    /** Records an event; never waits, never fails. */
    readonly record: (event: EventInput) => void;
    readonly nodes: DatedNodeSource;
    readonly clock?: Clock;
    /** Numbers from 0 to below 1. Default `Math.random`. */
    readonly random?: () => number;
}

export interface IpPoolsOptions {
    readonly nodeName: string;
    /** How long a freed address rests while others are free. Default 30 s. */
    readonly cooldownMs?: number | undefined;
    /** How long the ADD of a StatefulSet's Pod waits for its reservation. Default 20 s. */
    readonly reservationWaitMs?: number | undefined;
    /** Pods of pools live in the underlay. Default false. */
    readonly bridged?: boolean | undefined;
    /** Between the two looks that find a claim unused. Default 10 s. */
    readonly confirmMs?: number | undefined;
}

/** How long a DEL waits for its claims to be freed, and how long that is tried. */
const releaseWaitMs = 1_000;
const releaseEndMs = 10_000;
/**
 * After so long without a claim the blocks of a pool are not watched any more: each watch of claims makes each claim in
 * the cluster dearer for the API server.
 */
const idleMs = 60_000;

/** All parts of the agent's pool allocation, built and started together. */
export class IpPools implements AsyncDisposable {
    readonly book: PoolCache;
    readonly own: OwnClaims;
    readonly pods: NodePods;
    readonly podPools: PodPools;
    readonly allocator: PoolAllocator;
    readonly subnetHolders: SubnetHolders;
    readonly #components: IpPoolsComponents;
    readonly #options: IpPoolsOptions;
    readonly #clock: Clock;
    readonly #events: PodEvents;
    readonly #metrics: IpamMetrics;
    readonly #blocks: Blocks;
    readonly #goneNodes: GoneNodes;
    readonly #reservations: Reservations;
    readonly #writer: ClaimWriter;
    readonly #searches = new Map<string, PoolSearch>();
    readonly #node: OwnNode;
    #reconciler: ClaimReconciler | undefined;
    #within: ClaimsWithin | undefined;
    #subnetClaims: SubnetClaims | undefined;
    readonly #subnetListeners = new Set<() => void>();

    constructor(components: IpPoolsComponents, options: IpPoolsOptions) {
        const { api, logger, nodes, record } = components;
        const { nodeName } = options;
        const clock = components.clock ?? systemClock;
        const random = components.random ?? Math.random;
        this.#components = components;
        this.#options = options;
        this.#clock = clock;
        const metrics = ipamMetrics(components.metrics, {
            blockViews: () => this.#blocks.size,
            ownClaims: () => this.own.size,
            leakCandidates: () => this.#reconciler?.suspects ?? 0,
            isolated: () => (this.#reconciler?.isolated ?? 0) + (this.#subnetClaims?.isolated ?? 0),
            poolChanged: () => this.#reconciler?.changed ?? 0,
        });
        this.#metrics = metrics;
        const cooldown = new Cooldown({ clock }, { cooldownMs: options.cooldownMs ?? 30_000 });
        this.book = new PoolCache({ api, logger, nodes });
        this.own = new OwnClaims({ api, logger, clock, freed: (ip) => cooldown.freed(ip) }, { nodeName });
        this.#node = new OwnNode({ api, nodes, clock, logger }, { nodeName });
        this.subnetHolders = new SubnetHolders({ nodes }, { nodeName });
        this.pods = new NodePods({ api, logger, clock }, { nodeName });
        const namespaces = new NamespacePools({ api, clock });
        this.podPools = new PodPools({ pods: this.pods, namespaces, book: this.book, clock });
        this.#events = new PodEvents({ record, objectUid: (pod) => this.pods.objectUid(pod) });
        this.#writer = new ClaimWriter({ api, own: this.own, cooldown, clock, metrics });
        this.#blocks = new Blocks({ api, logger, clock, cooldown });
        this.#goneNodes = new GoneNodes({ nodes, clock });
        const holders = new ReservationHolders({
            api,
            clock,
            own: this.own,
            writer: this.#writer,
            nodes: this.#goneNodes,
        });
        this.#reservations = new Reservations(
            { api, logger, clock, writer: this.#writer, holders, events: this.#events },
            { waitMs: options.reservationWaitMs },
        );
        const search = (pool: string): PoolSearch => {
            const known = this.#searches.get(pool);
            if (known !== undefined) return known;
            const overlapping = (of: Pool): readonly string[] => this.book.overlapping(of);
            const made = new PoolSearch(
                { api, clock, cooldown, metrics, random, blocks: this.#blocks, overlapping },
                { nodeName },
            );
            this.#searches.set(pool, made);
            return made;
        };
        this.allocator = new PoolAllocator(
            {
                book: this.book,
                own: this.own,
                writer: this.#writer,
                reservations: this.#reservations,
                search,
                clock,
                events: this.#events,
                metrics,
                logger,
                node: this.#node,
            },
            { nodeName, bridged: options.bridged },
        );
    }

    /** Starts what every claim needs; for the allocator alone, without `resolve` and `reconcile`. */
    startAllocation(signal: AbortSignal): void {
        this.book.start(signal);
        this.own.start(signal);
    }

    start(signal: AbortSignal): void {
        this.startAllocation(signal);
        this.pods.start(signal);
    }

    /** Resolves when claims can be made at once: pools, what is never handed out, and the claims of this Node are known. */
    async synced(signal: AbortSignal): Promise<void> {
        await Promise.all([this.book.synced(signal), this.own.synced(signal)]);
    }

    /**
     * What a Pod asks of pools; undefined when it gets addresses of its Node's subnets. `claim` claims them, all or
     * nothing. Both reject with IpPoolError, told on the Pod too.
     */
    async requestOf(attachment: PodAttachment, signal: AbortSignal): Promise<AddressRequest | undefined> {
        const { containerId, ifName } = attachment;
        const pod = podOf(attachment);
        const wanted = await this.#resolve(pod, signal);
        if (wanted === undefined) return undefined;
        const claim = async (limit: AbortSignal): Promise<AddressAllocation> => {
            const addresses = await this.allocator.claim({ ...wanted, pod, containerId, ifName }, limit);
            return { addresses, vlan: Math.max(0, ...addresses.map(({ vlan }) => vlan)) };
        };
        return { claim };
    }

    /** Frees all that is claimed for a container's interface. Resolves after a second at the latest; never rejects. */
    async release(attachment: Attachment): Promise<void> {
        const released = this.allocator.releaseAll(attachment, AbortSignal.timeout(releaseEndMs));
        try {
            await orAborted(released, AbortSignal.timeout(releaseWaitMs));
        } catch (error) {
            this.#components.logger.warn("allocations of an interface not released; left to the next reconcile", {
                container: attachment.containerId,
                error,
            });
        }
    }

    /**
     * Watches for claims in these podCIDRs of this Node, made before the Node had them or by who does not know it. Resolves
     * when they are known; rejects when the signal ends first, and goes on watching.
     */
    async guard(prefixes: readonly Prefix[], signal: AbortSignal): Promise<void> {
        this.#within ??= this.#newWithin(prefixes);
        await this.#within.synced(signal);
    }

    /** Called after each change of a claim in the guarded podCIDRs. */
    onSubnetClaim(listener: () => void): void {
        this.#subnetListeners.add(listener);
    }

    /** Isolates and reports what is in use of podCIDRs and claimed for another, or another Node's; `wiring` is always the same. */
    async lookAtSubnets(wiring: SubnetWiring, signal: AbortSignal): Promise<void> {
        this.#subnetClaims ??= this.#newSubnetClaims(wiring);
        await this.#subnetClaims.look(signal);
    }

    /**
     * Whether an address of the guarded podCIDRs is claimed from a pool, for a Pod of any Node. Undefined while its block is
     * read, because nobody asked about the block before.
     */
    isClaimed(ip: IpAddress): boolean | undefined {
        return this.#within === undefined ? false : this.#within.has(ip);
    }

    /** The pool that an address of this Node is claimed from. */
    poolOf(ip: ClaimedAddress["ip"]): string | undefined {
        return this.own.get(allocationName(ip))?.spec.pool;
    }

    /** Whether each address is claimed for the interface, or for its Pod, by what is known of the claims of this Node. */
    hasClaims(holder: Attachment & Pick<PodAttachment, "podUid">, ips: readonly IpAddress[]): boolean {
        return ips.every((ip) => {
            const claim = this.own.get(allocationName(ip));
            if (claim === undefined) return false;
            return namesContainer(claim, holder) || isForPod(claim, holder.podUid, holder.ifName);
        });
    }

    /** What an earlier start of this agent heard: this Node was deleted then, in milliseconds of wall time. */
    recallGone(goneAt: number): void {
        this.#node.recall(goneAt);
    }

    /** When this Node was deleted at the earliest, in milliseconds of wall time; undefined while it is there. */
    get nodeGoneAt(): number | undefined {
        return this.#node.goneAt;
    }

    /** Isolates the pool interfaces of a Node that is gone for 4 min; to be called every few seconds. */
    lookAtOwnNode(wiring: Wiring, signal: AbortSignal): Promise<void> {
        return this.#node.look(wiring, signal);
    }

    /**
     * Called when `reconcile` should be soon: a claim of this Node is gone, or a range of an IPPool came, went or changed,
     * and with it who may be given an address that is in use here without a claim.
     */
    onReconcileDue(listener: () => void): void {
        this.own.onGone(listener);
        this.book.onRanges(listener);
    }

    /** Brings claims and records in step; `wiring` is always the same. Also ends watches that nobody needs any more. */
    async reconcile(wiring: Wiring, signal: AbortSignal): Promise<void> {
        this.#reconciler ??= this.#newReconciler(wiring);
        try {
            await this.#reconciler.reconcile(signal);
        } finally {
            await this.closeIdle();
        }
    }

    /** Ends the watches of pools that were not used for a while. */
    async closeIdle(): Promise<void> {
        for (const [pool, search] of this.#searches) {
            if (this.#clock.monotonic() - search.lastUsed <= idleMs) continue;
            this.#searches.delete(pool);
            search.close();
        }
        await this.#reservations.closeIdle();
    }

    async close(): Promise<void> {
        this.#goneNodes[Symbol.dispose]();
        await Promise.all([
            this.book.close(),
            this.own.close(),
            this.pods.close(),
            this.#blocks.close(),
            this.#reservations.close(),
            this.#within?.close(),
        ]);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.close();
    }

    async #resolve(pod: PodIdentity, signal: AbortSignal): Promise<PoolsWanted | undefined> {
        try {
            return await this.podPools.resolve(pod, signal);
        } catch (error) {
            if (!isAborted(error)) {
                this.#metrics.failed(error instanceof IpPoolError ? error.code : "INTERNAL");
                this.#events.allocationFailed(pod, error);
            }
            throw error;
        }
    }

    #newWithin(prefixes: readonly Prefix[]): ClaimsWithin {
        const { api, logger } = this.#components;
        const within = new ClaimsWithin({ api, logger, book: this.book }, { prefixes });
        within.onChange(() => {
            for (const listener of this.#subnetListeners) listener();
        });
        return within;
    }

    #newSubnetClaims(wiring: SubnetWiring): SubnetClaims {
        const { api, logger } = this.#components;
        return new SubnetClaims({
            logger,
            wiring,
            events: this.#events,
            metrics: this.#metrics,
            claims: { api, of: (ip) => this.#within?.get(ip) },
            withNames: (wired) => this.pods.withNames(wired),
            holders: this.subnetHolders,
        });
    }

    #newReconciler(wiring: Wiring): ClaimReconciler {
        const { allocator, book, own, pods } = this;
        return new ClaimReconciler(
            {
                allocator,
                book,
                own,
                pods,
                wiring,
                node: this.#node,
                clock: this.#clock,
                writer: this.#writer,
                events: this.#events,
                metrics: this.#metrics,
                logger: this.#components.logger,
                holders: this.subnetHolders,
            },
            { nodeName: this.#options.nodeName, confirmMs: this.#options.confirmMs },
        );
    }
}
