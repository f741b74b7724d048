import { KeyedLock } from "@antrea/async";
import { allocationName } from "@antrea/crd";
import { nodeAddressesOf } from "@antrea/ipam";
import { RangeIndex, formatIp, rangeOf, type IpAddress } from "@antrea/ip";
import {
    nodes as nodeResource,
    referenceTo,
    type ApiClient,
    type ChangeType,
    type Informer,
    type Node,
} from "@antrea/kube";
import { type Change, type Removal } from "@antrea/runtime";
import { describeHolder, type Allocation, type Fate } from "../../platform/allocations/index.ts";
import { CreatedReservations } from "./created-reservations.ts";
import { desiredAddresses, isReservable, type PoolAddress } from "./desired-addresses.ts";
import { FurtherAddressEvents } from "./further-addresses.ts";
import { ReservationJob, type ReservationComponents, type ReservationOperations } from "./reservation-job.ts";

/** Dependencies of NodeAddressReservations; the caller starts and closes the informer. */
export interface NodeAddressComponents extends ReservationComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly nodes: Pick<Informer<Node>, "get" | "onChange">;
}

/** A reservation of an address for the Node with this name and UID. */
interface NodeAddress extends PoolAddress {
    readonly node: string;
    readonly uid: string;
}

/**
 * Reserves the Nodes' own addresses in the ranges of pools, during one term of leadership, so that no Pod gets one,
 * even if an agent does not know the Node yet.
 *
 * An object of the reconciler is an address of a Node. Of several Nodes with the same address one has the reservation;
 * for the others nothing is to be done until that one is gone, which reopens them.
 */
export class NodeAddressReservations implements ReservationOperations<NodeAddress> {
    readonly #components: NodeAddressComponents;
    readonly #job: ReservationJob<NodeAddress>;
    readonly #furtherEvents: FurtherAddressEvents;
    /** The addresses of Nodes, to find those that a pool overlaps. */
    readonly #addresses = new RangeIndex<string>();
    /** Names of Nodes whose desired reservations may have changed. */
    readonly #changed = new Set<string>();
    /** Names of Nodes that were computed since the last report. */
    readonly #computed = new Set<string>();
    /** By Node name, the keys of its desired reservations. */
    readonly #keys = new Map<string, ReadonlySet<string>>();
    /** Those made since the last full pass. */
    readonly #created: CreatedReservations;
    /** By name of the allocation: two Nodes with one address must not reserve it at once. */
    readonly #locks = new KeyedLock();
    /** Names of conflicting allocations that were reported. */
    readonly #blocked = new Set<string>();

    /** `intervalMs`: how often all reservations are compared, in addition to changes, in milliseconds. */
    constructor(components: NodeAddressComponents, options: { readonly intervalMs: number }) {
        this.#components = components;
        this.#created = new CreatedReservations(components);
        this.#furtherEvents = new FurtherAddressEvents(components);
        const isEqual = (one: NodeAddress, other: NodeAddress): boolean =>
            one.pool === other.pool && one.uid === other.uid;
        this.#job = new ReservationJob(components, { ...options, name: "node-addresses/nodes", isEqual }, this);
    }

    /**
     * Works until the signal aborts; writes nothing after it resolved. Called once. Rejects only if the signal aborts
     * before the caches are synced.
     */
    async run(signal: AbortSignal): Promise<void> {
        const { nodes, pools, allocations } = this.#components;
        await Promise.all([pools.synced(signal), allocations.synced(signal)]);
        using _nodes = nodes.onChange((type, name, node, old) => this.#nodeChanged(type, name, node, old));
        using _pools = pools.onChange((name, change) => {
            if (change === "meaning") this.#poolChanged(name);
        });
        using _allocations = allocations.onChange((before, after) => this.#allocationChanged(before, after));
        await this.#job.run(signal);
    }

    /** Sets the desired reservations of the Nodes that changed; called before each pass. */
    desire(): void {
        for (const name of this.#changed) this.#desire(name);
        this.#changed.clear();
    }

    /** Reports the Nodes with addresses beyond the limit, by events; called after each pass. */
    report(): void {
        for (const name of this.#computed) this.#furtherEvents.report(name, this.#components.nodes.get(name));
        this.#computed.clear();
    }

    /**
     * Reserves the address, or gives the reservation to the present Node of its name. Another holder is reported on the
     * Node as Warning `AddressHeldElsewhere`. Rejects with NodeAddressesError `ALLOCATION_NOT_KNOWN`,
     * AllocationWriterError or KubeError; the reconciler retries.
     */
    async update({ value }: Change<string, NodeAddress>, signal: AbortSignal): Promise<void> {
        const name = allocationName(value.ip);
        // Another Node may report the address too.
        await this.#locks.run(name, () => this.#bringAbout(value, signal), signal);
    }

    async #bringAbout(value: NodeAddress, signal: AbortSignal): Promise<void> {
        const { ip, pool, node, uid } = value;
        const allocation = this.#known(allocationName(ip));
        if (allocation === undefined) return this.#reserve(value, signal);
        if (allocation.owner.kind !== "Node" && allocation.owner.kind !== "Gateway")
            return this.#reportConflict(value, allocation);
        if (allocation.owner.kind === "Gateway" || allocation.owner.name !== node) return;
        // The deletion is delivered by the watch and reopens the object.
        if (allocation.pool !== pool) await this.#release(allocation, signal);
        else if (allocation.owner.uid !== uid) await this.#adopt(allocation, uid, signal);
    }

    /**
     * Releases the reservation, unless the Node has the address according to the API server. Rejects with
     * AllocationWriterError or KubeError; the reconciler retries.
     */
    async delete({ last: { ip, node } }: Removal<string, NodeAddress>, signal: AbortSignal): Promise<void> {
        const allocation = this.#known(allocationName(ip));
        if (allocation?.owner.kind === "Node" && allocation.owner.name === node)
            await this.#release(allocation, signal);
    }

    /** Computes all desired reservations again and returns those that are missing or differ, according to the watch. */
    prune(desired: ReadonlyMap<string, NodeAddress>): Promise<readonly string[]> {
        for (const name of new Set(this.#all())) this.#desire(name);
        const missing = [...desired].filter(([, value]) => !this.#isDone(value)).map(([key]) => key);
        this.#created.clear();
        return Promise.resolve(missing);
    }

    /** Nodes with reservations, and Nodes with addresses in pools. */
    *#all(): Iterable<string> {
        const { pools, allocations } = this.#components;
        yield* allocations.holders;
        yield* this.#keys.keys();
        for (const name of pools.names) yield* this.#nodesIn(name);
    }

    *#nodesIn(pool: string): Iterable<string> {
        for (const { range } of this.#components.pools.get(pool)?.subnets ?? []) {
            for (const { key } of this.#addresses.overlapping(range)) yield key;
        }
    }

    #nodeChanged(type: ChangeType, name: string, node: Node, old: Node | undefined): void {
        const addresses = type === "deleted" ? [] : nodeAddressesOf(node);
        const before = old === undefined ? [] : nodeAddressesOf(old);
        if (type === "updated" && addresses.map(formatIp).join() === before.map(formatIp).join()) return;
        const ranges = addresses.map((ip) => rangeOf(ip));
        if (ranges.length === 0) this.#addresses.delete(name);
        else this.#addresses.set(name, ranges, name);
        this.#nodeToDo(name);
    }

    #poolChanged(name: string): void {
        const { allocations } = this.#components;
        for (const node of this.#nodesIn(name)) this.#nodeToDo(node);
        for (const holder of allocations.holders) {
            if ([...allocations.heldBy(holder)].some(({ pool }) => pool === name)) this.#nodeToDo(holder);
        }
    }

    #allocationChanged(before: Allocation | undefined, after: Allocation | undefined): void {
        const allocation = after ?? before;
        if (allocation === undefined) return;
        this.#created.delivered(allocation.metadata.name);
        for (const { owner } of [before, after].filter((each) => each !== undefined)) {
            if (owner.kind === "Node") this.#nodeToDo(owner.name ?? "");
        }
        const reporting = this.#addresses.overlapping(rangeOf(allocation.ip)).map(({ key }) => key);
        // Those that failed because the allocation was not known.
        for (const node of reporting) this.#job.reconciler.retry(keyOf(node, allocation.ip));
        if (reporting.length > 0) this.#job.trigger();
        if (after !== undefined) return;
        this.#blocked.delete(allocation.metadata.name);
        // Several Nodes may report the address, and a gateway may be a Node's: one reservation serves all.
        for (const node of reporting) {
            this.#job.reconciler.refresh(keyOf(node, allocation.ip));
            this.#nodeToDo(node);
        }
    }

    #nodeToDo(name: string): void {
        this.#changed.add(name);
        this.#job.trigger();
    }

    #desire(name: string): void {
        const { nodes, pools } = this.#components;
        const { reconciler } = this.#job;
        const node = nodes.get(name);
        const uid = node?.metadata?.uid ?? "";
        const existing = this.#existing(name);
        const desired = new Map<string, NodeAddress>();
        for (const { ip, pool } of node === undefined ? [] : desiredAddresses(node, existing, pools).values()) {
            desired.set(keyOf(name, ip), { ip, pool, node: name, uid });
        }
        for (const key of this.#keys.get(name) ?? []) if (!desired.has(key)) reconciler.delete(key);
        for (const { ip, pool, owner } of existing) {
            const value = { ip, pool, node: name, uid: owner.uid ?? "" };
            if (!desired.has(keyOf(name, ip))) reconciler.delete(keyOf(name, ip), value);
        }
        for (const [key, value] of desired) reconciler.set(key, value);
        if (desired.size > 0) this.#keys.set(name, new Set(desired.keys()));
        else this.#keys.delete(name);
        this.#computed.add(name);
    }

    #existing(node: string): readonly Allocation[] {
        const created = [...this.#created.all].filter(({ owner }) => owner.name === node);
        return [...this.#components.allocations.heldBy(node), ...created];
    }

    #known(name: string): Allocation | undefined {
        return this.#components.allocations.get(name) ?? this.#created.get(name);
    }

    #isDone({ ip, pool, node, uid }: NodeAddress): boolean {
        const allocation = this.#known(allocationName(ip));
        if (allocation === undefined) return false;
        const { kind, name, uid: owner } = allocation.owner;
        if (kind === "Node" && name === node) return allocation.pool === pool && owner === uid;
        return kind === "Node" || kind === "Gateway" || this.#blocked.has(allocation.metadata.name);
    }

    async #reserve({ ip, pool, node, uid }: NodeAddress, signal: AbortSignal): Promise<void> {
        await this.#created.create({ ip, pool, owner: { kind: "Node", name: node, uid } }, signal);
        this.#components.logger.info("address of a Node reserved", { address: allocationName(ip), node, pool });
    }

    async #release(
        { metadata: { name, uid }, owner: { name: holder = "" } }: Allocation,
        signal: AbortSignal,
    ): Promise<void> {
        const { api, pools, writer, reclaims, logger } = this.#components;
        const judge = async (live: Allocation): Promise<Fate> => {
            if (live.owner.kind !== "Node" || live.owner.name !== holder) return undefined;
            const node = await api.find(nodeResource, { name: holder }, { signal });
            return isReservable(live, node, pools) ? undefined : "delete";
        };
        if (!(await writer.change(name, uid, judge, signal))) return;
        reclaims.done("node-address-unwanted");
        logger.info("reservation of a Node's address released", { address: name, node: holder });
    }

    async #adopt({ metadata: { name, uid }, owner }: Allocation, adoptBy: string, signal: AbortSignal): Promise<void> {
        const judge = (live: Allocation): Fate =>
            live.owner.kind === "Node" && live.owner.name === owner.name && live.owner.uid !== adoptBy
                ? { adoptBy }
                : undefined;
        await this.#components.writer.change(name, uid, judge, signal);
    }

    #reportConflict({ node: nodeName }: NodeAddress, allocation: Allocation): void {
        const { name } = allocation.metadata;
        const node = this.#components.nodes.get(nodeName);
        if (node === undefined || this.#blocked.has(name)) return;
        this.#blocked.add(name);
        const note = `The Node's address ${formatIp(allocation.ip)} is in IPPool ${allocation.pool} and allocated to ${describeHolder(allocation)}. Remove that Pod, or give the Node another address.`;
        this.#components.recorder.record({
            regarding: referenceTo(nodeResource, node),
            type: "Warning",
            reason: "AddressHeldElsewhere",
            action: "HoldNodeAddress",
            note,
        });
    }
}

function keyOf(node: string, ip: IpAddress): string {
    return `${node} ${formatIp(ip)}`;
}
