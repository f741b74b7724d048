import { type Clock, orAborted } from "@antrea/async";
import { ipAllocations, type AllocationPod, type IpAllocation } from "@antrea/crd";
import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type AllocationWriter } from "./allocation-writer.ts";
import { allocationIp, isForOrdinal, type Holder } from "./allocations.ts";
import { IpPoolError } from "./errors.ts";
import { type GoneNodes } from "./gone-nodes.ts";
import { type OwnAllocations } from "./own-allocations.ts";
import { poolDeleted } from "./refusals.ts";
import { type SetPlace } from "./types.ts";

/** Dependencies of ReservationHolders. */
export interface ReservationHoldersComponents {
    readonly api: Pick<ApiClient, "pages">;
    readonly clock: Clock;
    readonly own: Pick<OwnAllocations, "ofOrdinal">;
    readonly writer: Pick<AllocationWriter, "find">;
    readonly nodes: Pick<GoneNodes, "stateOf">;
}

/** A family without an address for the ordinal. */
export interface MissingAddress {
    readonly place: SetPlace;
    readonly family: Family;
    /** Names of the pools of that family. */
    readonly pools: readonly string[];
    /** All of them are being deleted: no address will be reserved. */
    readonly isDeleting: boolean;
    /** The fixed address that the ordinal must have; undefined if any address of the pools will do. */
    readonly fixed: IpAddress | undefined;
}

const maxSeen = 256;
/** How long an ordinal whose allocation is not in use is not queried again. */
const missedMs = 60_000;
/** How long one list is shared by all callers. */
const sharedMs = 1_000;
const listLimitMs = 10_000;
/** How long antrea-controller waits after the deletion of a Node before it frees its addresses. */
const goneMs = 300_000;

/**
 * Determines why the Pod of an ordinal does not get its address, and which Pod still holds it. Remembers the address of
 * an ordinal, and for 1 min that its allocation is not in use, so that waiting Pods make few requests.
 */
export class ReservationHolders {
    readonly #components: ReservationHoldersComponents;
    /** Last known addresses of ordinals, so that a waiting Pod does not list the allocations each time. */
    readonly #seen = new Map<string, IpAddress>();
    /** Ordinals whose allocation is not in use, with the time of that observation. */
    readonly #missed = new Map<string, number>();
    /** Recent lists by StatefulSet name, oldest first: many Pods of one set start to wait together. */
    readonly #lists = new Map<
        string,
        { readonly at: number; readonly allocations: Promise<readonly IpAllocation[]> }
    >();

    constructor(components: ReservationHoldersComponents) {
        this.#components = components;
    }

    /**
     * Resolves with the error for the missing address, whose message has the reason and the next step: NOT_RESERVED,
     * HELD_ON_OTHER_NODE or POOL_DELETED. Rejects with KubeError or the signal's reason if the API server does not
     * answer.
     */
    async explain(missing: MissingAddress, holder: Holder, signal: AbortSignal): Promise<IpPoolError> {
        const { place, pools, fixed } = missing;
        const { namespace } = holder.pod;
        const set = `StatefulSet ${namespace}/${place.name}`;
        const held = (await this.#held(missing, namespace, signal))?.spec;
        if (held?.pod === undefined && missing.isDeleting) return poolDeleted(pools);
        if (held?.pod === undefined) {
            const kind = pools.length === 1 ? "IPPool" : "IPPools";
            const address = fixed === undefined ? "no address" : `address ${formatIp(fixed)} is not and no other`;
            return new IpPoolError(
                "NOT_RESERVED",
                `${address} of ${kind} ${pools.join(", ")} is reserved yet for ordinal ${place.ordinal} of ${set}; see the events of the StatefulSet, and whether antrea-controller is up`,
            );
        }
        const { address, pool, pod } = held;
        const who = `Pod ${pod.namespace}/${pod.name} with UID ${pod.uid}`;
        const what = `address ${address} of IPPool ${pool}, kept for ordinal ${place.ordinal} of ${set}, is still held by the earlier ${who}`;
        if (pod.nodeName === holder.nodeName) {
            return new IpPoolError(
                "NOT_RESERVED",
                `${what} on this Node; it comes free when kubelet has removed the container of that Pod. If it does not within minutes, see the logs of kubelet and of antrea-agent on Node ${pod.nodeName}`,
            );
        }
        return new IpPoolError("HELD_ON_OTHER_NODE", `${what} on ${this.#nodeText(pod)}`);
    }

    /** Describes the Node, and when and how the address becomes free there. */
    #nodeText({ nodeName }: AllocationPod): string {
        const state = this.#components.nodes.stateOf(nodeName);
        const ifNot = "see the log of antrea-controller if it does not";
        if (state.kind === "out-of-service") {
            return `Node ${nodeName}, which is out of service; antrea-controller frees it within seconds: ${ifNot}`;
        }
        if (state.kind === "gone") {
            return state.at === undefined
                ? `Node ${nodeName}, which no longer exists; antrea-controller releases it 5 minutes after the Node was deleted: ${ifNot}`
                : `Node ${nodeName}, which was deleted at ${timeText(state.at)}; antrea-controller frees it at about ${timeText(state.at + goneMs)}: ${ifNot}`;
        }
        return (
            `Node ${nodeName}; it comes free when that Node has removed the container. ` +
            `If the Node will not return, delete the Node object, or taint it node.kubernetes.io/out-of-service`
        );
    }

    /** The ordinal's allocation if another Pod holds it. */
    async #held(missing: MissingAddress, namespace: string, signal: AbortSignal): Promise<IpAllocation | undefined> {
        const { own, writer, clock } = this.#components;
        const { place, family } = missing;
        const here = own.ofOrdinal(namespace, place).find((allocation) => allocationIp(allocation).family === family);
        if (here !== undefined) return here;
        const key = `${namespace}/${place.name}/${place.ordinal}/${family}`;
        const seen = this.#seen.get(key);
        const again = seen && (await writer.find(seen, signal));
        if (again?.spec.pod !== undefined && isForOrdinal(again, namespace, place)) return again;
        this.#seen.delete(key);
        if (clock.monotonic() - (this.#missed.get(key) ?? -Infinity) < missedMs) return undefined;
        const allocations = await orAborted(this.#list(place.name), signal);
        const found = allocations.find(
            (allocation) => missing.pools.includes(allocation.spec.pool) && isForOrdinal(allocation, namespace, place),
        );
        if (found !== undefined) remember(this.#seen, key, allocationIp(found));
        else remember(this.#missed, key, clock.monotonic());
        return found;
    }

    /** Lists only allocations of StatefulSets with that name: a pool may have thousands of others. */
    #list(set: string): Promise<readonly IpAllocation[]> {
        const now = this.#components.clock.monotonic();
        for (const [name, { at }] of this.#lists) {
            if (now - at < sharedMs) break;
            this.#lists.delete(name);
        }
        const last = this.#lists.get(set);
        if (last !== undefined) return last.allocations;
        const read = async (): Promise<readonly IpAllocation[]> => {
            const allocations: IpAllocation[] = [];
            // Shared by all waiters: no single caller may abort it.
            const signal = AbortSignal.timeout(listLimitMs);
            const query = { fieldSelector: `spec.owner.name=${set},spec.state=Allocated`, signal };
            for await (const { items } of this.#components.api.pages(ipAllocations, query)) allocations.push(...items);
            return allocations;
        };
        const allocations = read();
        this.#lists.set(set, { at: now, allocations });
        // A failure is reported to current waiters only, not to later callers.
        allocations.catch(() => this.#lists.delete(set));
        return allocations;
    }
}

function timeText(ms: number): string {
    return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}

/** Inserts as the newest entry and keeps at most `maxSeen`. */
function remember<T>(memory: Map<string, T>, key: string, value: T): void {
    memory.delete(key);
    memory.set(key, value);
    if (memory.size > maxSeen) memory.delete(memory.keys().next().value ?? "");
}
