import { allocationAddress, allocationName, ipPools } from "@antrea/crd";
import { type Pool } from "@antrea/ipam";
import { RangeIndex, formatIp, rangeOf, type IpAddress } from "@antrea/ip";
import { referenceTo } from "@antrea/kube";
import { type Change, type Removal } from "@antrea/runtime";
import { describeHolder, type Allocation, type Fate } from "../../platform/allocations/index.ts";
import { CreatedReservations } from "./created-reservations.ts";
import { ReservationJob, type ReservationComponents, type ReservationOperations } from "./reservation-job.ts";

/** Sorted names of the pools that name a gateway; a reservation is made in the first one. */
type PoolNames = readonly string[];

/**
 * Reserves the gateways of all pools, with owner kind Gateway, during one term of leadership: no Pod gets one, even
 * if an agent does not know the pool yet or the pool is created later. A gateway stays reserved as long as a pool
 * names it, except where a pool of another VLAN assigns the address.
 *
 * An object of the reconciler is a gateway, by the name of its IPAllocation.
 */
export class GatewayReservations implements ReservationOperations<PoolNames> {
    readonly #components: ReservationComponents;
    readonly #job: ReservationJob<PoolNames>;
    /** Those made since the last full pass. */
    readonly #created: CreatedReservations;
    /** Pools as of the last change. */
    readonly #known = new Map<string, Pool>();
    /** Pool names by the name of the gateway's IPAllocation. */
    readonly #pools = new Map<string, Set<string>>();
    /** The gateway addresses, to find those that a pool overlaps. */
    readonly #addresses = new RangeIndex<string>();
    /** Names of gateways that may have to be reserved or released. */
    readonly #changed = new Set<string>();
    /**
     * By the name of an allocation that conflicts with a gateway: its holder and the pools that have an event about
     * it.
     */
    readonly #blocked = new Map<string, { readonly holder: string; readonly reported: Set<string> }>();

    /** `intervalMs`: how often all gateways are compared, in addition to changes, in milliseconds. */
    constructor(components: ReservationComponents, options: { readonly intervalMs: number }) {
        this.#components = components;
        this.#created = new CreatedReservations(components);
        const isEqual = (one: PoolNames, other: PoolNames): boolean => one.join() === other.join();
        this.#job = new ReservationJob(components, { ...options, name: "node-addresses/gateways", isEqual }, this);
    }

    /**
     * Works until the signal aborts; writes nothing after it resolved. Called once. Rejects only if the signal aborts
     * before the caches are synced.
     */
    async run(signal: AbortSignal): Promise<void> {
        const { pools, allocations } = this.#components;
        await Promise.all([pools.synced(signal), allocations.synced(signal)]);
        using _pools = pools.onChange((name, change) => {
            if (change === "meaning") this.#poolChanged(name);
        });
        using _allocations = allocations.onChange((before, after) => this.#allocationChanged(before, after));
        await this.#job.run(signal);
    }

    /** Sets the desired reservations of the gateways that changed; called before each pass. */
    desire(): void {
        for (const name of this.#changed) this.#desire(name);
        this.#changed.clear();
    }

    /**
     * Reserves the gateway. A Node may be the gateway; any other holder is reported on the pools as Warning
     * `AddressHeldElsewhere`. Rejects with NodeAddressesError `ALLOCATION_NOT_KNOWN` or KubeError; the reconciler
     * retries.
     */
    async update({ key: name, value: [pool = ""] }: Change<string, PoolNames>, signal: AbortSignal): Promise<void> {
        const allocation = this.#allocationOf(name);
        if (allocation !== undefined) return this.#reportConflict(allocation);
        const ip = allocationAddress(name);
        await this.#created.create({ ip, pool, owner: { kind: "Gateway", name: formatIp(ip) } }, signal);
        this.#components.logger.info("gateway of a pool reserved", { address: name, pool });
    }

    /**
     * Releases the reservation, unless it is needed again. Rejects with AllocationWriterError or KubeError; the
     * reconciler retries.
     */
    async delete({ key: name }: Removal<string, PoolNames>, signal: AbortSignal): Promise<void> {
        const { writer, reclaims, logger } = this.#components;
        const allocation = this.#allocationOf(name);
        if (allocation?.owner.kind !== "Gateway") return;
        const judge = (live: Allocation): Fate =>
            live.owner.kind === "Gateway" && !this.#isWanted(name) ? "delete" : undefined;
        if (!(await writer.change(name, allocation.metadata.uid, judge, signal))) return;
        reclaims.done("gateway-unwanted");
        logger.info("reservation of a gateway released", { address: name });
    }

    /** Computes all desired reservations again and returns those that are missing, or have another holder. */
    prune(desired: ReadonlyMap<string, PoolNames>): Promise<readonly string[]> {
        for (const name of new Set([...this.#components.allocations.gateways, ...this.#pools.keys()]))
            this.#desire(name);
        const isDone = (name: string): boolean => {
            const kind = this.#allocationOf(name)?.owner.kind;
            return kind === "Gateway" || kind === "Node";
        };
        const missing = [...desired.keys()].filter((name) => !isDone(name));
        this.#created.clear();
        return Promise.resolve(missing);
    }

    #allocationOf(name: string): Allocation | undefined {
        return this.#components.allocations.get(name) ?? this.#created.get(name);
    }

    #poolChanged(name: string): void {
        const before = this.#known.get(name);
        const after = this.#components.pools.get(name);
        for (const { ip } of before?.gateways ?? []) this.#forget(allocationName(ip), name);
        for (const { ip } of after?.gateways ?? []) this.#note(allocationName(ip), name, ip);
        if (after === undefined) this.#known.delete(name);
        else this.#known.set(name, after);
        for (const pool of [before, after]) {
            for (const { ip } of pool?.gateways ?? []) this.#gatewayToDo(allocationName(ip));
            // In another VLAN, it may assign an address that is a gateway elsewhere.
            for (const { range } of pool?.subnets ?? []) {
                for (const { key } of this.#addresses.overlapping(range)) this.#gatewayToDo(key);
            }
        }
    }

    #note(name: string, pool: string, ip: IpAddress): void {
        const named = this.#pools.get(name) ?? new Set();
        this.#pools.set(name, named.add(pool));
        this.#addresses.set(name, [rangeOf(ip)], name);
    }

    #forget(name: string, pool: string): void {
        const named = this.#pools.get(name);
        named?.delete(pool);
        if (named === undefined || named.size > 0) return;
        this.#pools.delete(name);
        this.#addresses.delete(name);
    }

    #allocationChanged(before: Allocation | undefined, after: Allocation | undefined): void {
        const name = (after ?? before)?.metadata.name ?? "";
        this.#created.delivered(name);
        if (after === undefined) this.#blocked.delete(name);
        if (this.#pools.has(name)) {
            // It may have failed because the allocation was not known.
            this.#job.reconciler.retry(name);
            this.#job.trigger();
        }
        // A reservation may be delivered when no pool names the gateway any more.
        const isOurs = after?.owner.kind === "Gateway";
        if (isOurs || (after === undefined && this.#pools.has(name))) this.#gatewayToDo(name);
    }

    /** An unchanged one is updated again too: a recreated pool of the same name has no event about a conflict. */
    #gatewayToDo(name: string): void {
        this.#job.reconciler.refresh(name);
        this.#changed.add(name);
        this.#job.trigger();
    }

    #desire(name: string): void {
        const named = [...(this.#pools.get(name) ?? [])].sort();
        if (this.#isWanted(name)) this.#job.reconciler.set(name, named);
        else this.#job.reconciler.delete(name, named);
    }

    #isWanted(name: string): boolean {
        const { pools } = this.#components;
        if (!this.#pools.has(name)) return false;
        const ip = allocationAddress(name);
        return pools.covering(ip).every((pool) => !pools.usable(pool).has(ip));
    }

    #reportConflict(allocation: Allocation): void {
        const { name } = allocation.metadata;
        if (allocation.owner.kind === "Gateway" || allocation.owner.kind === "Node") return;
        const holder = describeHolder(allocation);
        const known = this.#blocked.get(name);
        const { reported } = known?.holder === holder ? known : { reported: new Set<string>() };
        this.#blocked.set(name, { holder, reported });
        const remedy = allocation.pod === undefined ? "Delete its owner" : "Delete that Pod";
        for (const pool of [...(this.#pools.get(name) ?? [])].sort()) {
            const object = this.#components.pools.object(pool);
            // A recreated pool of the same name is a different pool.
            const key = `${pool} ${object?.metadata?.uid}`;
            if (object === undefined || reported.has(key)) continue;
            reported.add(key);
            this.#components.recorder.record({
                regarding: referenceTo(ipPools, object),
                type: "Warning",
                reason: "AddressHeldElsewhere",
                action: "HoldGateway",
                note: `The gateway ${formatIp(allocation.ip)} of the pool is allocated to ${holder}, which receives what Pods of this pool send to their gateway. ${remedy}, or create a pool with another gateway.`,
            });
        }
    }
}
