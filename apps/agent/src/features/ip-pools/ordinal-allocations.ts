import { sleep, type Clock } from "@antrea/async";
import { ipAllocations, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { compareOfOrdinal } from "@antrea/ipam";
import { type ApiClient } from "@antrea/kube";
import { type AllocationWriter } from "./allocation-writer.ts";
import { allocationIp, interfaceOfOwner, isForOrdinal, mayTake, objectName, type Holder } from "./allocations.ts";
import { addressOf } from "./claimed-address.ts";
import { IpPoolError } from "./errors.ts";
import { type IpamMetrics } from "./metrics.ts";
import { retryUntilAnswered } from "./requests.ts";
import { type Demand } from "./demand.ts";
import { type ClaimedAddress, type SetPlace } from "./types.ts";

/** Dependencies of OrdinalAllocations. */
export interface OrdinalAllocationsComponents {
    readonly api: Pick<ApiClient, "pages">;
    readonly clock: Clock;
    readonly writer: Pick<AllocationWriter, "find" | "free" | "take">;
    readonly metrics: Pick<IpamMetrics, "retry">;
}

/** How long the ADD of an ordinal waits for an earlier Pod of it, and how often it asks. */
const waitMs = 20_000;
const askAgainMs = 1_000;
const listLimitMs = 10_000;

/** The interface of an ordinal's Pod that addresses are claimed for. */
export interface OrdinalHolder {
    readonly place: SetPlace;
    readonly holder: Holder;
}

/**
 * The addresses of a StatefulSet's ordinals on interfaces of networks. Unlike those of the Pod network, which the
 * controller reserves, an agent claims them in the set's name, since only who attaches the interfaces knows them; later
 * Pods of the ordinal take them, on any Node.
 */
export class OrdinalAllocations {
    readonly #components: OrdinalAllocationsComponents;

    constructor(components: OrdinalAllocationsComponents) {
        this.#components = components;
    }

    /**
     * Takes the addresses that are kept for this interface of the ordinal, one in a pool of each demand, in their order;
     * undefined where there is none, so that one can be claimed with `ownerOf`. While another Pod has one, waits for up to
     * 20 s, then rejects with IpPoolError `NOT_RESERVED`, or `HELD_ON_OTHER_NODE` if that Pod is on another Node; some may
     * be taken then. Rejects with KubeError, or the signal's reason on abort, else as AllocationWriter does.
     */
    async take(
        demands: readonly Demand[],
        ordinal: OrdinalHolder,
        signal: AbortSignal,
    ): Promise<readonly (ClaimedAddress | undefined)[]> {
        if (demands.length === 0) return [];
        const until = this.#components.clock.monotonic() + waitMs;
        const taken: (ClaimedAddress | undefined)[] = [];
        let kept = await this.#list(ordinal, signal);
        let listedAt = this.#components.clock.monotonic();
        for (const demand of demands) {
            // What was listed before a wait for another address is outdated.
            if (this.#components.clock.monotonic() - listedAt >= askAgainMs) {
                kept = await this.#list(ordinal, signal);
                listedAt = this.#components.clock.monotonic();
            }
            taken.push(await this.#takeOf(demand, bestOf(kept, demand), ordinal, until, signal));
        }
        return taken;
    }

    /**
     * After an allocation with `ownerOf`: of two Nodes that claimed for one ordinal at the same moment, the later gives its address
     * back and takes the other's. Resolves with the address to use; rejects as `take`.
     */
    async settled(
        demand: Demand,
        fresh: ClaimedAddress,
        ordinal: OrdinalHolder,
        signal: AbortSignal,
    ): Promise<ClaimedAddress> {
        const all = await this.#list(ordinal, signal);
        const best = bestOf(all, demand);
        const own = all.find((one) => one.spec.address === formatIp(fresh.ip));
        if (best === undefined || own === undefined || best === own) return fresh;
        const isSame = (current: IpAllocation): boolean => current.metadata?.uid === own.metadata?.uid;
        await this.#components.writer.free(own, isSame, signal);
        const until = this.#components.clock.monotonic() + waitMs;
        return (await this.#takeOf(demand, best, ordinal, until, signal)) ?? fresh;
    }

    async #takeOf(
        demand: Demand,
        kept: IpAllocation | undefined,
        ordinal: OrdinalHolder,
        until: number,
        signal: AbortSignal,
    ): Promise<ClaimedAddress | undefined> {
        const { clock, writer } = this.#components;
        const { holder } = ordinal;
        for (let current = kept; current !== undefined;) {
            const { pool: name } = current.spec;
            const version = demand.pools.find(({ pool }) => pool.name === name)?.version;
            const taken = mayTake(current, holder) ? await writer.take(current, holder, signal, version) : undefined;
            if (taken !== undefined) return addressOf(taken, demand.pools);
            if (clock.monotonic() >= until) throw stillHeld(current, ordinal);
            await sleep(askAgainMs, signal, clock);
            // Only when it is no longer the ordinal's, all are listed again: many Pods may wait.
            const live = await writer.find(allocationIp(current), signal);
            current =
                live !== undefined && isOf(live, ordinal) ? live : bestOf(await this.#list(ordinal, signal), demand);
        }
        return undefined;
    }

    /** The allocations of this interface of the ordinal. */
    #list(ordinal: OrdinalHolder, signal: AbortSignal): Promise<readonly IpAllocation[]> {
        const { api, clock, metrics } = this.#components;
        const { place, holder } = ordinal;
        const list = async (): Promise<readonly IpAllocation[]> => {
            const query = {
                fieldSelector: `spec.owner.name=${place.name},spec.owner.namespace=${holder.pod.namespace}`,
                signal: AbortSignal.timeout(listLimitMs),
            };
            const found: IpAllocation[] = [];
            for await (const { items } of api.pages(ipAllocations, query)) {
                found.push(...items.filter((one) => isOf(one, ordinal)));
            }
            return found;
        };
        return retryUntilAnswered(list, { signal, clock, onRepeat: () => metrics.retry() });
    }
}

function isOf(allocation: IpAllocation, { place, holder }: OrdinalHolder): boolean {
    return isForOrdinal(allocation, holder.pod.namespace, place, interfaceOfOwner(holder));
}

/** The allocation that the demand is for; of several the one in use, else that which every agent chooses. */
function bestOf(all: readonly IpAllocation[], { pools, fixed }: Demand): IpAllocation | undefined {
    const [first, ...others] = all.filter(
        (one) => (fixed === undefined || one.spec.address === formatIp(fixed)) && addressOf(one, pools) !== undefined,
    );
    return first && others.reduce((one, other) => (isBefore(other, one) ? other : one), first);
}

function isBefore(one: IpAllocation, other: IpAllocation): boolean {
    const order = compareOfOrdinal(one, other);
    return order < 0 || (order === 0 && objectName(one) < objectName(other));
}

/** The owner of a new allocation for this interface of the ordinal. Pure function. */
export function ownerOf({ place, holder }: OrdinalHolder): AllocationOwner {
    return {
        kind: "StatefulSet",
        namespace: holder.pod.namespace,
        name: place.name,
        ...(place.uid === undefined ? {} : { uid: place.uid }),
        index: place.ordinal,
        interface: holder.ifName,
    };
}

function stillHeld({ spec }: IpAllocation, { place, holder }: OrdinalHolder): IpPoolError {
    const { address, pool, pod } = spec;
    const set = `StatefulSet ${holder.pod.namespace}/${place.name}`;
    const what = `address ${address} of IPPool ${pool}, kept for interface ${holder.ifName} of ordinal ${place.ordinal} of ${set}`;
    if (pod === undefined) {
        return new IpPoolError(
            "NOT_RESERVED",
            `${what}, is written by others again and again; the next try may succeed`,
        );
    }
    const who = `${what}, is still held by the earlier Pod ${pod.namespace}/${pod.name} with UID ${pod.uid}`;
    if (pod.nodeName === holder.nodeName) {
        return new IpPoolError(
            "NOT_RESERVED",
            `${who} on this Node; it comes free when kubelet has removed the container of that Pod`,
        );
    }
    return new IpPoolError(
        "HELD_ON_OTHER_NODE",
        `${who} on Node ${pod.nodeName}; it comes free when that Node has removed the container. If the Node will not return, delete the Node object, or taint it node.kubernetes.io/out-of-service`,
    );
}
