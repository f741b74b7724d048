import { sleep, type Clock } from "@antrea/async";
import { ipAllocations, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { compareOfOrdinal } from "@antrea/ipam";
import { type ApiClient } from "@antrea/kube";
import { type Demand } from "./address-claims.ts";
import { type AllocationWriter } from "./allocation-writer.ts";
import { interfaceOfOwner, isForOrdinal, mayTake, type Holder } from "./allocations.ts";
import { addressOf } from "./claimed-address.ts";
import { IpPoolError } from "./errors.ts";
import { type ClaimedAddress, type SetPlace } from "./types.ts";

/** Dependencies of OrdinalAllocations. */
export interface OrdinalAllocationsComponents {
    readonly api: Pick<ApiClient, "pages">;
    readonly clock: Clock;
    readonly writer: Pick<AllocationWriter, "take">;
}

/** How long the ADD of an ordinal waits for an earlier Pod of it, and how often it asks. */
const waitMs = 20_000;
const askAgainMs = 500;
const listLimitMs = 10_000;

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
     * Takes the address that is kept for this interface of the ordinal in a pool of the demand; undefined if there is
     * none, so that one can be claimed with `ownerOf`. While another Pod has it, waits for up to 20 s, then rejects with
     * IpPoolError `NOT_RESERVED`, or `HELD_ON_OTHER_NODE` if that Pod is on another Node. Rejects with KubeError, or the
     * signal's reason on abort, else as AllocationWriter does.
     */
    async take(
        demand: Demand,
        place: SetPlace,
        holder: Holder,
        signal: AbortSignal,
    ): Promise<ClaimedAddress | undefined> {
        const { clock, writer } = this.#components;
        const until = clock.monotonic() + waitMs;
        for (;;) {
            const kept = await this.#find(demand, place, holder, signal);
            if (kept === undefined) return undefined;
            const version = demand.pools.find(({ pool }) => pool.name === kept.spec.pool)?.version;
            const taken = mayTake(kept, holder) ? await writer.take(kept, holder, signal, version) : undefined;
            if (taken !== undefined) return addressOf(taken, demand.pools);
            if (clock.monotonic() >= until) throw stillHeld(kept, place, holder);
            await sleep(askAgainMs, signal, clock);
        }
    }

    /** The allocation of this interface of the ordinal that the demand is for; of several the one in use. */
    async #find(
        { pools, fixed }: Demand,
        place: SetPlace,
        holder: Holder,
        signal: AbortSignal,
    ): Promise<IpAllocation | undefined> {
        const query = {
            fieldSelector: `spec.owner.name=${place.name},spec.owner.namespace=${holder.pod.namespace}`,
            signal: AbortSignal.any([signal, AbortSignal.timeout(listLimitMs)]),
        };
        const found: IpAllocation[] = [];
        for await (const { items } of this.#components.api.pages(ipAllocations, query)) {
            found.push(
                ...items.filter(
                    (one) =>
                        isForOrdinal(one, holder.pod.namespace, place, interfaceOfOwner(holder)) &&
                        (fixed === undefined || one.spec.address === formatIp(fixed)) &&
                        addressOf(one, pools) !== undefined,
                ),
            );
        }
        const [first, ...others] = found;
        return first && others.reduce((one, other) => (compareOfOrdinal(one, other) <= 0 ? one : other), first);
    }
}

/** The owner of a new allocation for this interface of the ordinal. Pure function. */
export function ownerOf(place: SetPlace, holder: Holder): AllocationOwner {
    return {
        kind: "StatefulSet",
        namespace: holder.pod.namespace,
        name: place.name,
        ...(place.uid === undefined ? {} : { uid: place.uid }),
        index: place.ordinal,
        interface: holder.ifName,
    };
}

function stillHeld({ spec }: IpAllocation, place: SetPlace, holder: Holder): IpPoolError {
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
