import { type Clock, orAborted } from "@antrea/async";
import { ipAllocations, type AllocationPod, type IpAllocation } from "@antrea/crd";
import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type ClaimWriter } from "./claim-writer.ts";
import { claimIp, isForOrdinal, type Holder } from "./claims.ts";
import { IpPoolError } from "./errors.ts";
import { type GoneNodes } from "./gone-nodes.ts";
import { type OwnClaims } from "./own-claims.ts";
import { poolDeleted } from "./refusals.ts";
import { type SetPlace } from "./types.ts";

export interface ReservationHoldersComponents {
    readonly api: Pick<ApiClient, "pages">;
    readonly clock: Clock;
    readonly own: Pick<OwnClaims, "ofOrdinal">;
    readonly writer: Pick<ClaimWriter, "find">;
    readonly nodes: Pick<GoneNodes, "stateOf">;
}

/** The address of one family that an ordinal lacks. */
export interface MissingAddress {
    readonly place: SetPlace;
    readonly family: Family;
    /** Names of the pools of that family. */
    readonly pools: readonly string[];
    /** All of them are being deleted: no address will be reserved. */
    readonly isDeleting: boolean;
    /** The fixed address that the ordinal must have. */
    readonly fixed: IpAddress | undefined;
}

const maxSeen = 256;
/** So long an ordinal whose claim nobody has is not asked for again. */
const missedMs = 60_000;
/** So long one list serves all who ask. */
const sharedMs = 1_000;
const listLimitMs = 10_000;
/** What antrea-controller waits after a Node was deleted before it takes addresses from it. */
const goneMs = 300_000;

/** Finds out why the Pod of an ordinal does not get its address: who has it still. */
export class ReservationHolders {
    readonly #components: ReservationHoldersComponents;
    /** Where the claims of ordinals were found last, so that a Pod that waits for long does not list them each time. */
    readonly #seen = new Map<string, IpAddress>();
    /** Ordinals of which no claim is in use, and since when that is known. */
    readonly #missed = new Map<string, number>();
    /** The last lists, by the name of the StatefulSets, the oldest first: many Pods of one begin to wait at once. */
    readonly #lists = new Map<string, { readonly at: number; readonly claims: Promise<readonly IpAllocation[]> }>();

    constructor(components: ReservationHoldersComponents) {
        this.#components = components;
    }

    /** Why the address is missing, with the next step: NOT_RESERVED, HELD_ON_OTHER_NODE or POOL_DELETED. */
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

    /** The Node, and when and by what the address comes free there. */
    #nodeText({ nodeName }: AllocationPod): string {
        const state = this.#components.nodes.stateOf(nodeName);
        const ifNot = "see the log of antrea-controller if it does not";
        if (state.kind === "out-of-service") {
            return `Node ${nodeName}, which is out of service; antrea-controller frees it within seconds: ${ifNot}`;
        }
        if (state.kind === "gone") {
            return state.at === undefined
                ? `Node ${nodeName}, which does not exist any more; antrea-controller frees it when the Node has been gone for 5 minutes: ${ifNot}`
                : `Node ${nodeName}, which was deleted at ${timeText(state.at)}; antrea-controller frees it at about ${timeText(state.at + goneMs)}: ${ifNot}`;
        }
        return (
            `Node ${nodeName}; it comes free when that Node has removed the container. ` +
            `If the Node is gone for good, delete the Node object, or taint it node.kubernetes.io/out-of-service`
        );
    }

    /** The ordinal's claim in the hands of another Pod. */
    async #held(missing: MissingAddress, namespace: string, signal: AbortSignal): Promise<IpAllocation | undefined> {
        const { own, writer, clock } = this.#components;
        const { place, family } = missing;
        const here = own.ofOrdinal(namespace, place).find((claim) => claimIp(claim).family === family);
        if (here !== undefined) return here;
        const key = `${namespace}/${place.name}/${place.ordinal}/${family}`;
        const seen = this.#seen.get(key);
        const again = seen && (await writer.find(seen, signal));
        if (again?.spec.pod !== undefined && isForOrdinal(again, namespace, place)) return again;
        this.#seen.delete(key);
        if (clock.monotonic() - (this.#missed.get(key) ?? -Infinity) < missedMs) return undefined;
        const claims = await orAborted(this.#list(place.name), signal);
        const found = claims.find(
            (claim) => missing.pools.includes(claim.spec.pool) && isForOrdinal(claim, namespace, place),
        );
        if (found !== undefined) remember(this.#seen, key, claimIp(found));
        else remember(this.#missed, key, clock.monotonic());
        return found;
    }

    /** Asks for the claims of StatefulSets of that name only: a pool may have many thousand others. */
    #list(set: string): Promise<readonly IpAllocation[]> {
        const now = this.#components.clock.monotonic();
        for (const [name, { at }] of this.#lists) {
            if (now - at < sharedMs) break;
            this.#lists.delete(name);
        }
        const last = this.#lists.get(set);
        if (last !== undefined) return last.claims;
        const read = async (): Promise<readonly IpAllocation[]> => {
            const claims: IpAllocation[] = [];
            // Of all who wait for it nobody may stop it for the others.
            const signal = AbortSignal.timeout(listLimitMs);
            const query = { fieldSelector: `spec.owner.name=${set},spec.state=Allocated`, signal };
            for await (const { items } of this.#components.api.pages(ipAllocations, query)) claims.push(...items);
            return claims;
        };
        const claims = read();
        this.#lists.set(set, { at: now, claims });
        // A failure is for those who wait for it, not for those who come later.
        claims.catch(() => this.#lists.delete(set));
        return claims;
    }
}

function timeText(ms: number): string {
    return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}

/** The newest last, and not more than `maxSeen`. */
function remember<T>(memory: Map<string, T>, key: string, value: T): void {
    memory.delete(key);
    memory.set(key, value);
    if (memory.size > maxSeen) memory.delete(memory.keys().next().value ?? "");
}
