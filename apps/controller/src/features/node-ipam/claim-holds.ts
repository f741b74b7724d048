import { formatPrefix, rangeOf } from "@antrea/ip";
import { isKubeError, pods, type ApiClient, type KubeError } from "@antrea/kube";
import { uidsOf, type Claim } from "../../platform/allocations/index.ts";
import { type PoolCache } from "../../platform/pool-cache/index.ts";
import { type CidrAllocator } from "./cidr-allocator.ts";

export interface ClaimHoldsComponents {
    readonly api: Pick<ApiClient, "list">;
    readonly pools: Pick<PoolCache, "covering">;
    readonly book: Pick<CidrAllocator, "reserve" | "subnetOf">;
}

/** What claims of addresses outside every pool hold no more, all of them of one Node. */
export interface ReleasedClaims {
    readonly node: string;
    /** Of Pods that are not on the Node. */
    readonly ghosts: readonly Claim[];
    /** Of Pods that are, in more subnets than claims of one Node hold. */
    readonly excess: readonly Claim[];
}

/** One look at the claims of all Nodes. */
export interface ReleaseResult {
    readonly released: readonly ReleasedClaims[];
    /** Nodes of which the Pods cannot be listed now: their claims hold what they held. */
    readonly failed: readonly { readonly node: string; readonly error: KubeError }[];
}

/** How many subnets the claims of one Node hold of which no pool has the addresses. */
export const maxSubnetsOfNode = 16;
const timeoutMs = 10_000;
/** Nodes that want subnets wait meanwhile. */
const listsAtOnce = 8;

/**
 * Holds the subnets that claims of Pods and StatefulSets have addresses of. Where a pool has them too it holds them by
 * itself. A claim that no pool covers is of a pool that is gone, or was never one: every agent can create such claims for
 * its own Node. So when subnets are wanted it counts only with a Pod that is there, and in a few subnets per Node. One that
 * holds nothing any more still keeps its address from Pods: the agent whose subnet has it leaves it alone.
 */
export class ClaimHolds {
    readonly #components: ClaimHoldsComponents;
    readonly #held = new Map<string, Claim>();

    constructor(components: ClaimHoldsComponents) {
        this.#components = components;
    }

    changed(before: Claim | undefined, after: Claim | undefined): void {
        const claim = after ?? before;
        if (claim === undefined) return;
        const { name } = claim.metadata;
        // Gateways and addresses of Nodes are held as long as a pool has them, and by that pool.
        const holds = after !== undefined && after.owner.kind !== "Gateway" && after.owner.kind !== "Node";
        const isSame = before?.pod?.uid === after?.pod?.uid;
        if (before !== undefined && holds && isSame) {
            // What was released stays so.
            if (this.#held.has(name)) this.#held.set(name, after);
            return;
        }
        const inCluster = this.#components.book.reserve(keyOf(name), holds ? [rangeOf(after.ip)] : []);
        if (holds && inCluster) this.#held.set(name, after);
        else this.#held.delete(name);
    }

    /** Claims that hold a subnet although no pool has their address. */
    get strays(): readonly Claim[] {
        const { pools } = this.#components;
        return [...this.#held.values()].filter(({ ip }) => pools.covering(ip).length === 0);
    }

    /** Gives up what strays hold without cause, by what the API server says of Pods now. */
    async release(signal: AbortSignal): Promise<ReleaseResult> {
        const byNode = [
            ...Map.groupBy(
                this.strays.filter(({ pod }) => pod !== undefined),
                ({ pod }) => pod?.nodeName ?? "",
            ),
        ];
        const released: ReleasedClaims[] = [];
        const failed: { readonly node: string; readonly error: KubeError }[] = [];
        for (let at = 0; at < byNode.length; at += listsAtOnce) {
            const looks = byNode.slice(at, at + listsAtOnce).map(async ([node, claims]) => {
                try {
                    released.push(await this.#releaseOf(node, claims, signal));
                } catch (error) {
                    if (signal.aborted || !isKubeError(error)) throw error;
                    failed.push({ node, error });
                }
            });
            await Promise.all(looks);
        }
        return { released: released.filter(({ ghosts, excess }) => ghosts.length + excess.length > 0), failed };
    }

    async #releaseOf(node: string, claims: readonly Claim[], signal: AbortSignal): Promise<ReleasedClaims> {
        const fieldSelector = `spec.nodeName=${node}`;
        const { items } = await this.#components.api.list(pods, { fieldSelector, signal, timeoutMs });
        const present = new Set(items.flatMap(uidsOf));
        // The Pod was there before its claim; one whose claim changed meanwhile is judged the next time.
        const known = claims.filter((claim) => this.#held.get(claim.metadata.name) === claim);
        const ghosts = known.filter(({ pod }) => !present.has(pod?.uid ?? ""));
        const excess = this.#excess(known.filter(({ pod }) => present.has(pod?.uid ?? "")));
        for (const { metadata } of [...ghosts, ...excess]) {
            this.#components.book.reserve(keyOf(metadata.name), []);
            this.#held.delete(metadata.name);
        }
        return { node, ghosts, excess };
    }

    /** Those outside the subnets of the oldest claims. */
    #excess(claims: readonly Claim[]): readonly Claim[] {
        const kept = new Set<string>();
        return [...claims].sort(byAge).filter(({ ip }) => {
            const subnet = this.#components.book.subnetOf(ip);
            if (subnet === undefined) return false;
            const text = formatPrefix(subnet);
            if (kept.size < maxSubnetsOfNode) kept.add(text);
            return !kept.has(text);
        });
    }
}

function keyOf(name: string): string {
    return `claim ${name}`;
}

function byAge(a: Claim, b: Claim): number {
    return a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0;
}
