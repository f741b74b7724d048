import { isDeepStrictEqual } from "node:util";
import { type IpPool } from "@antrea/crd";
import {
    checkPoolCreate,
    checkPoolDelete,
    checkPoolUpdate,
    comparePools,
    newGateways,
    Exclusions,
    notInUse,
    readPool,
    type ClusterAddresses,
    type Pool,
    type PoolUse,
    type Verdict,
} from "@antrea/ipam";
import { messageOf } from "@antrea/errors";
import { type IpAddress, type IpRange, type Prefix, type RangeSet } from "@antrea/ip";
import { isKubeError } from "@antrea/kube";
import { type AllocationReader } from "./allocations.ts";

/** Networks that a warning names. */
const maxNamed = 10;

/** Stored pools and their ranges, as known or read at one time; of IPPools that are being deleted too. */
export interface PoolRanges {
    /** The ranges that share addresses with this one; `key` is the pool's name. */
    overlapping(range: IpRange): readonly { readonly key: string; readonly range: IpRange }[];
    /** The pool of this name; undefined if there is none. */
    pool(name: string): Pool | undefined;
}

/** Dependencies of PoolReviewer; the caller starts and closes the caches. */
export interface PoolReviewComponents {
    /** See PoolCache: `counted` before a request is allowed, `live` before one is refused. */
    readonly pools: PoolRanges & {
        counted(signal: AbortSignal): Promise<PoolRanges>;
        live(names: Iterable<string>, signal: AbortSignal): Promise<PoolRanges>;
    };
    /** The same object until something changes. */
    readonly addresses: { readonly current: ClusterAddresses & { readonly bridgedNodes: readonly IpAddress[] } };
    /** The objects that name the pool in an annotation, for messages. */
    readonly users: { of(pool: string): readonly string[] };
    /** Networks, for messages; both reject with KubeError. */
    readonly networks: {
        /** Those that take addresses of the pool. */
        of(pool: Pick<Pool, "name" | "subnetOf">, signal: AbortSignal): Promise<readonly string[]>;
        /** Those that have static addresses among these. */
        withAddressIn(addresses: RangeSet, signal: AbortSignal): Promise<readonly string[]>;
    };
    readonly allocations: Pick<AllocationReader, "anyOf" | "of" | "at">;
    /** `nodeIPAM.clusterCIDRs`, from which antrea-controller assigns Node subnets. */
    readonly clusterCidrs: readonly Prefix[];
}

/**
 * Validates IPPools by the rules of @antrea/ipam; changes nothing. Takes O(log n) for n pools, and reads allocations and
 * networks only where the change requires it. Each method resolves with a Verdict (no `errors`: allowed) and rejects with
 * KubeError if it cannot decide, also when the signal aborts.
 */
export class PoolReviewer {
    readonly #components: PoolReviewComponents;
    #exclusions: { readonly of: ClusterAddresses; readonly value: Exclusions } | undefined;

    constructor(components: PoolReviewComponents) {
        this.#components = components;
    }

    /** The verdict on a new pool, from the rules and the allocations of its gateways. Rejects with KubeError. */
    async create(object: IpPool, signal: AbortSignal): Promise<Verdict> {
        const pool = readPool(object);
        const allocations = await this.#components.allocations.at(newGateways(pool), signal);
        const check = (pools: PoolRanges): Verdict => checkPoolCreate(pool, this.#context(pools), { allocations });
        return this.#withNetworks(await this.#judge(pool, signal, check), pool.addresses, signal);
    }

    /**
     * The verdict on an update; one that leaves the spec unchanged is allowed without warnings. Rejects with KubeError.
     */
    async update(oldObject: IpPool, object: IpPool, signal: AbortSignal): Promise<Verdict> {
        // Changes of status and metadata are allowed, and frequent.
        if (isDeepStrictEqual(oldObject.spec, object.spec)) return { errors: [], warnings: [] };
        const [old, pool] = [readPool(oldObject), readPool(object)];
        const use = await this.#use(old, pool, signal);
        const check = (pools: PoolRanges): Verdict => checkPoolUpdate(old, pool, this.#context(pools), use);
        const added = pool.addresses.subtract(old.addresses);
        return this.#withNetworks(await this.#judge(pool, signal, check), added, signal);
    }

    /** The verdict on a deletion, which depends on the allocations of the pool. Rejects with KubeError. */
    async delete({ metadata }: IpPool, signal: AbortSignal): Promise<Verdict> {
        const name = metadata?.name ?? "";
        return checkPoolDelete({ name }, await this.#components.allocations.anyOf(name, signal));
    }

    /**
     * An overlap is reported for pools as they are stored now; a pool that the cache does not contain yet is not
     * missed.
     */
    async #judge(pool: Pool, signal: AbortSignal, judge: (pools: PoolRanges) => Verdict): Promise<Verdict> {
        const { pools } = this.#components;
        const others = new Set(
            pool.subnets
                .flatMap(({ range }) => pools.overlapping(range))
                .map(({ key }) => key)
                .filter((key) => key !== pool.name),
        );
        const verdict = judge(others.size === 0 ? pools : await pools.live(others, signal));
        if (verdict.errors.length > 0) return verdict;
        const now = await pools.counted(signal);
        return now === pools ? verdict : judge(now);
    }

    /**
     * A verdict that allows is joined by a warning about networks with static addresses among those that the pool gets:
     * their Pods claimed nothing while no pool had the addresses.
     */
    async #withNetworks(verdict: Verdict, added: RangeSet, signal: AbortSignal): Promise<Verdict> {
        if (verdict.errors.length > 0 || added.isEmpty) return verdict;
        const warning = await this.#networkWarning(added, signal);
        return warning === undefined ? verdict : { ...verdict, warnings: [...verdict.warnings, warning] };
    }

    async #networkWarning(added: RangeSet, signal: AbortSignal): Promise<string | undefined> {
        try {
            const found = await this.#components.networks.withAddressIn(added, signal);
            if (found.length === 0) return undefined;
            const more = found.length > maxNamed ? ` and ${found.length - maxNamed} more` : "";
            return `static addresses of ${found.slice(0, maxNamed).join(", ")}${more} are in the new ranges: a running Pod that has one did not claim it, and another Pod may get it too; recreate these Pods, or leave the addresses out of the ranges`;
        } catch (error) {
            signal.throwIfAborted();
            if (!isKubeError(error)) throw error;
            return `whether networks have static addresses in the new ranges is not known (${messageOf(error)}); see that no NetworkAttachmentDefinition has one`;
        }
    }

    async #use(old: Pool, pool: Pool, signal: AbortSignal): Promise<PoolUse> {
        const { asks } = comparePools(old, pool);
        if (!asks.inUse && asks.allocationsIn.isEmpty && asks.gateways.isEmpty) return notInUse;
        const { allocations, users, networks } = this.#components;
        const { name } = old;
        const [any, affected, ofGateways, ofNetworks] = await Promise.all([
            asks.inUse ? allocations.anyOf(name, signal) : notInUse,
            asks.allocationsIn.isEmpty ? [] : allocations.of(name, asks.allocationsIn, signal),
            allocations.at(asks.gateways, signal),
            asks.inUse ? networks.of(old, signal) : [],
        ]);
        const every = [...any.allocations, ...affected, ...ofGateways];
        const all = new Map(every.map((allocation) => [allocation.spec.address, allocation]));
        return {
            ...any,
            allocations: [...all.values()],
            references: asks.inUse ? [...users.of(name), ...ofNetworks] : [],
        };
    }

    #context(pools: PoolRanges): Parameters<typeof checkPoolCreate>[1] {
        const { current } = this.#components.addresses;
        // Without pools: only the cluster's own addresses are excluded, and they seldom change.
        if (this.#exclusions?.of !== current) this.#exclusions = { of: current, value: new Exclusions(current, []) };
        return {
            overlapping: (range) => pools.overlapping(range),
            pool: (name) => pools.pool(name),
            clusterCidrs: this.#components.clusterCidrs,
            exclusions: this.#exclusions.value,
            bridgedNodes: current.bridgedNodes,
        };
    }
}
