import { allocationName, ipAllocations, type IpAllocation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { type IpAddress } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { holderText, isForPod, namesContainer, type ClaimUser } from "./claims.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type PodEvents } from "./pod-events.ts";
import { type Attachment } from "./types.ts";

/** An interface of this Node with addresses of its podCIDRs, as its record says. */
export interface SubnetWired extends Attachment {
    readonly podNamespace: string;
    readonly podName: string;
    readonly podUid: string;
    readonly addresses: readonly IpAddress[];
}

/** What is wired on this Node with addresses of its podCIDRs, and how to deal with it. */
export interface SubnetWiring {
    interfaces(): readonly SubnetWired[];
    /** Whether the container's network namespace lives. */
    linkExists(wired: SubnetWired): Promise<boolean>;
    /** Serial work on one container, as ADD and DEL do it. */
    exclusively<T>(containerId: string, work: () => Promise<T>): Promise<T>;
    /** Whether the interface is isolated; an agent that starts again knows it too. */
    isIsolated(wired: SubnetWired): boolean;
    /** Ends the traffic of the interface; again is no harm, and completes what failed before. */
    isolate(wired: SubnetWired): Promise<void>;
    /** Undoes `isolate`; nothing happens to an interface that is not isolated. */
    reconnect(wired: SubnetWired): Promise<void>;
}

export interface SubnetClaimsComponents {
    readonly api: Pick<ApiClient, "find">;
    readonly events: Pick<PodEvents, "claimedFromSubnet" | "reservedFromSubnet">;
    readonly metrics: Pick<IpamMetrics, "heldElsewhere">;
    readonly wiring: SubnetWiring;
    /** The claim of an address of this Node's podCIDRs, as far as the watch has delivered it. */
    readonly claimOf: (ip: IpAddress) => ClaimUser | undefined;
    readonly logger: Logger;
}

/** A container's DEL waits for the lock meanwhile. */
const askLimitMs = 3_000;

/**
 * Finds claims of addresses that Pods of this Node have from its podCIDRs, where no claim protects them: made before the
 * Node had the podCIDR, by an agent that hears of it late, or by force. The claim is the lock of the address, and its Pod may
 * run on a Node that knows of no other user; so the interface in the podCIDR is isolated, for as long as a Pod of another
 * has the claim. What is only reserved is used by nobody: that is reported.
 */
export class SubnetClaims {
    readonly #components: SubnetClaimsComponents;
    readonly #logger: Logger;
    /** What was reported, once: interface, address, UID of the claim, whether a Pod has it. */
    #reported = new Set<string>();

    constructor(components: SubnetClaimsComponents) {
        this.#components = components;
        this.#logger = components.logger;
    }

    /** Interfaces that are isolated. */
    get isolated(): number {
        const { wiring } = this.#components;
        return wiring.interfaces().filter((wired) => wiring.isIsolated(wired)).length;
    }

    /** One look. Rejects with what failed of it last, when all else is done: to be repeated then. */
    async look(signal: AbortSignal): Promise<void> {
        const { wiring } = this.#components;
        const before = this.#reported;
        this.#reported = new Set();
        let failure: { readonly error: unknown } | undefined;
        for (const wired of wiring.interfaces()) {
            if (signal.aborted) return;
            if (!wiring.isIsolated(wired) && this.#claimedOf(wired).length === 0) continue;
            try {
                await wiring.exclusively(wired.containerId, () => this.#mend(wired, before, signal));
            } catch (error) {
                failure = { error };
                for (const key of before) if (key.startsWith(`${keyOf(wired)} `)) this.#reported.add(key);
                this.#logger.warn("a claim of an address in use in this Node's subnet is left to the next look", {
                    pod: podText(wired),
                    reason: messageOf(error),
                });
            }
        }
        if (failure !== undefined) throw failure.error;
    }

    async #mend({ containerId, ifName }: SubnetWired, before: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
        const { api, wiring } = this.#components;
        const wired = wiring.interfaces().find((one) => one.containerId === containerId && one.ifName === ifName);
        // The reconcile of interfaces removes one that ended.
        if (wired === undefined || !(await wiring.linkExists(wired))) return;
        // After a restart the watch may not have delivered the claims yet; and what it delivers may be late.
        const asked = wiring.isIsolated(wired) ? wired.addresses : this.#claimedOf(wired);
        const find = (ip: IpAddress): Promise<IpAllocation | undefined> =>
            api.find(ipAllocations, { name: allocationName(ip) }, { signal, timeoutMs: askLimitMs });
        const live = await Promise.all(asked.map(find));
        const others = live.filter((claim) => claim !== undefined).filter((claim) => isOfAnother(claim, wired));
        if (others.some(({ spec }) => spec.pod !== undefined)) await wiring.isolate(wired);
        else if (wiring.isIsolated(wired)) {
            await wiring.reconnect(wired);
            this.#logger.info("a Pod interface is connected again: its address is not claimed any more", {
                pod: podText(wired),
            });
        }
        for (const claim of others) this.#report(wired, claim, before);
    }

    /** Its addresses that are claimed for others, by what the watch has delivered. */
    #claimedOf(wired: SubnetWired): readonly IpAddress[] {
        return wired.addresses.filter((ip) => {
            const claim = this.#components.claimOf(ip);
            return claim !== undefined && isOfAnother(claim, wired);
        });
    }

    #report(wired: SubnetWired, claim: IpAllocation, before: ReadonlySet<string>): void {
        const { events, metrics } = this.#components;
        const { address, pool, pod: user } = claim.spec;
        const key = `${keyOf(wired)} ${address} ${claim.metadata?.uid} ${user !== undefined}`;
        this.#reported.add(key);
        if (before.has(key)) return;
        const pod = { namespace: wired.podNamespace, name: wired.podName, uid: wired.podUid };
        const holder = holderText(claim);
        const fields = { pod: podText(wired), address, pool, holder };
        if (user === undefined) {
            events.reservedFromSubnet(pod, address, pool, holder);
            this.#logger.warn("an address in use in this Node's subnet is reserved in an IPPool", fields);
            return;
        }
        metrics.heldElsewhere();
        events.claimedFromSubnet(pod, address, pool, holder);
        this.#logger.error("a Pod interface is isolated: its address of this Node's subnet is claimed", fields);
    }
}

function isOfAnother(claim: ClaimUser, wired: SubnetWired): boolean {
    return !namesContainer(claim, wired) && !isForPod(claim, wired.podUid, wired.ifName);
}

function keyOf({ containerId, ifName }: Attachment): string {
    return `${containerId}/${ifName}`;
}

function podText({ podNamespace, podName }: SubnetWired): string {
    return `${podNamespace}/${podName}`;
}
