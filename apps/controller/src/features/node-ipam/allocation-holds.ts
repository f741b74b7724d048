import { formatPrefix, rangeOf } from "@antrea/ip";
import { isKubeError, podIdentity, podLookup, pods, type ApiClient, type KubeError } from "@antrea/kube";
import { type Allocation } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { type CidrAllocator } from "./cidr-allocator.ts";

/** Dependencies of AllocationHolds, which changes the exclusions of `allocator` whose owner begins with "allocation ". */
export interface AllocationHoldsComponents {
    readonly api: Pick<ApiClient, "list">;
    readonly pools: Pick<PoolCache, "covering">;
    readonly allocator: Pick<CidrAllocator, "reserve" | "subnetOf">;
}

/** Allocations of the Node of this name, outside every pool, that no longer hold a subnet. */
export interface ReleasedAllocations {
    readonly node: string;
    /** Of Pods that do not exist on the Node. */
    readonly ghosts: readonly Allocation[];
    /** Of existing Pods, in more subnets than the allocations of one Node may hold. */
    readonly excess: readonly Allocation[];
}

/** The result of `AllocationHolds.release`, for all Nodes. */
export interface ReleaseResult {
    /** Nodes with at least one released allocation. */
    readonly released: readonly ReleasedAllocations[];
    /** Nodes whose Pods could not be listed: their allocations keep their holds. */
    readonly failed: readonly { readonly node: string; readonly error: KubeError }[];
}

/**
 * Maximum number of subnets that the allocations of one Node hold outside of pools; those of its oldest allocations.
 */
export const maxSubnetsOfNode = 16;
const timeoutMs = 10_000;
/** Nodes that need subnets wait meanwhile. */
const listsAtOnce = 8;

/**
 * Holds the subnets that contain addresses allocated to Pods and StatefulSets. An address in a pool is also held by
 * that pool. An allocation outside every pool belongs to a deleted pool, or never had one: every agent can create
 * such allocations for its own Node. So when subnets are needed it counts only if its Pod exists, and only for a few
 * subnets per Node. One that holds no subnet still blocks its address: the agent that owns the subnet does not assign
 * it.
 */
export class AllocationHolds {
    readonly #components: AllocationHoldsComponents;
    readonly #held = new Map<string, Allocation>();

    constructor(components: AllocationHoldsComponents) {
        this.#components = components;
    }

    /**
     * Updates the holds for a changed allocation (`before` undefined: new, `after` undefined: deleted). A hold that was
     * released is restored only for another Pod.
     */
    changed(before: Allocation | undefined, after: Allocation | undefined): void {
        const allocation = after ?? before;
        if (allocation === undefined) return;
        const { name } = allocation.metadata;
        // Gateways and Node addresses are held by the pool, as long as it has them.
        const holds = after !== undefined && after.owner.kind !== "Gateway" && after.owner.kind !== "Node";
        const isSame = before?.pod?.uid === after?.pod?.uid;
        if (before !== undefined && holds && isSame) {
            // A released hold is not restored.
            if (this.#held.has(name)) this.#held.set(name, after);
            return;
        }
        const inCluster = this.#components.allocator.reserve(keyOf(name), holds ? [rangeOf(after.ip)] : []);
        if (holds && inCluster) this.#held.set(name, after);
        else this.#held.delete(name);
    }

    /** Allocations that hold a subnet although no pool contains their address. */
    get strays(): readonly Allocation[] {
        const { pools } = this.#components;
        return [...this.#held.values()].filter(({ ip }) => pools.covering(ip).length === 0);
    }

    /**
     * Drops the holds of strays that are not justified by the Pods that the API server has now; those without a Pod
     * stay. Lists the Pods of eight Nodes at once, each within 10 s. Rejects if the signal aborts; other errors of the
     * API server are in the result.
     */
    async release(signal: AbortSignal): Promise<ReleaseResult> {
        const byNode = [
            ...Map.groupBy(
                this.strays.filter(({ pod }) => pod !== undefined),
                ({ pod }) => pod?.nodeName ?? "",
            ),
        ];
        const released: ReleasedAllocations[] = [];
        const failed: { readonly node: string; readonly error: KubeError }[] = [];
        for (let at = 0; at < byNode.length; at += listsAtOnce) {
            const releases = byNode.slice(at, at + listsAtOnce).map(async ([node, allocations]) => {
                try {
                    released.push(await this.#releaseOf(node, allocations, signal));
                } catch (error) {
                    if (signal.aborted || !isKubeError(error)) throw error;
                    failed.push({ node, error });
                }
            });
            await Promise.all(releases);
        }
        return { released: released.filter(({ ghosts, excess }) => ghosts.length + excess.length > 0), failed };
    }

    async #releaseOf(
        node: string,
        allocations: readonly Allocation[],
        signal: AbortSignal,
    ): Promise<ReleasedAllocations> {
        const fieldSelector = `spec.nodeName=${node}`;
        const { items } = await this.#components.api.list(pods, { fieldSelector, signal, timeoutMs });
        const listed = podLookup(items.map(podIdentity));
        const isPresent = ({ pod }: Allocation): boolean => pod !== undefined && listed(pod) !== undefined;
        // A Pod exists before its allocation; an allocation that changed meanwhile is checked next time.
        const known = allocations.filter((allocation) => this.#held.get(allocation.metadata.name) === allocation);
        const ghosts = known.filter((allocation) => !isPresent(allocation));
        const excess = this.#excess(known.filter(isPresent));
        for (const { metadata } of [...ghosts, ...excess]) {
            this.#components.allocator.reserve(keyOf(metadata.name), []);
            this.#held.delete(metadata.name);
        }
        return { node, ghosts, excess };
    }

    /** The allocations outside the subnets of the oldest ones. */
    #excess(allocations: readonly Allocation[]): readonly Allocation[] {
        const kept = new Set<string>();
        return [...allocations].sort(byAge).filter(({ ip }) => {
            const subnet = this.#components.allocator.subnetOf(ip);
            if (subnet === undefined) return false;
            const text = formatPrefix(subnet);
            if (kept.size < maxSubnetsOfNode) kept.add(text);
            return !kept.has(text);
        });
    }
}

function keyOf(name: string): string {
    return `allocation ${name}`;
}

function byAge(a: Allocation, b: Allocation): number {
    return a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0;
}
