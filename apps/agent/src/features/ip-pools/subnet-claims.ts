import { allocationName, ipAllocations, type IpAllocation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { holderText, isForPod, namesContainer, type ClaimUser } from "./claims.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type PodEvents } from "./pod-events.ts";
import { askLimitMs, lockLimitMs, within } from "./requests.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { podOf } from "./types.ts";
import { attachmentKey, isSameAttachment, type PodAttachment, podText } from "../../platform/pod-interfaces/index.ts";
import { type InterfaceActions } from "./wiring.ts";

/** An interface of this Node with addresses of its podCIDRs, as its record says. */
export interface SubnetWired extends PodAttachment {
    readonly addresses: readonly IpAddress[];
}

/** What is wired on this Node with addresses of its podCIDRs, and how to deal with it. */
export interface SubnetWiring extends InterfaceActions {
    interfaces(): readonly SubnetWired[];
}

export interface SubnetClaimsComponents {
    /** Undefined while IPPools are switched off. */
    readonly claims:
        | {
              readonly api: Pick<ApiClient, "find">;
              /** The claim of an address of this Node's podCIDRs, as far as the watch has delivered it. */
              readonly of: (ip: IpAddress) => ClaimUser | undefined;
          }
        | undefined;
    /** Gives interfaces the names of their Pods, as far as they are known. */
    readonly withNames: (wired: readonly SubnetWired[]) => readonly SubnetWired[];
    readonly holders: Pick<SubnetHolders, "heldElsewhere" | "isKnown">;
    readonly events: Pick<PodEvents, "claimedFromSubnet" | "reservedFromSubnet" | "anothersSubnet">;
    readonly metrics: Pick<IpamMetrics, "heldElsewhere">;
    readonly wiring: SubnetWiring;
    readonly logger: Logger;
}

/**
 * Finds claims of addresses that Pods of this Node have from its podCIDRs, where no claim protects them: made before the
 * Node had the podCIDR, by an agent that hears of it late, or by force. The claim is the lock of the address, and its Pod may
 * run on a Node that knows of no other user; so the interface in the podCIDR is isolated, for as long as a Pod of another
 * has the claim. What is only reserved is used by nobody: that is reported.
 *
 * Finds also Pods that run on with an address of an earlier podCIDR of this Node, when another Node has that podCIDR by now:
 * they are isolated for as long as it has. While IPPools are switched off this is all that is looked for, and only what was
 * isolated since the start is connected again: what was before may be a claim's.
 */
export class SubnetClaims {
    readonly #components: SubnetClaimsComponents;
    readonly #logger: Logger;
    /** What was reported, once: interface, address, UID of the claim, whether a Pod has it; in the log, and by an event. */
    #reported = new Set<string>();
    /** Interfaces that were connected before this start of the agent isolated them. */
    readonly #isolatedHere = new Set<string>();

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
        const present = new Set(wiring.interfaces().map(attachmentKey));
        for (const key of this.#isolatedHere) if (!present.has(key)) this.#isolatedHere.delete(key);
        for (const wired of wiring.interfaces()) {
            if (signal.aborted) return;
            if (!wiring.isIsolated(wired) && this.#suspectsOf(wired).length === 0) continue;
            try {
                const mend = (): Promise<void> => this.#mend(wired, before, signal);
                await wiring.exclusively(wired.containerId, mend, within(signal, lockLimitMs));
            } catch (error) {
                failure = { error };
                for (const key of before) if (key.startsWith(`${attachmentKey(wired)} `)) this.#reported.add(key);
                this.#logger.warn(
                    "address in use without an allocation may be in another Node's podCIDR; checking again at the next reconcile",
                    {
                        pod: podText(wired),
                        reason: messageOf(error),
                    },
                );
            }
        }
        if (failure !== undefined) throw failure.error;
    }

    async #mend(attachment: SubnetWired, before: ReadonlySet<string>, signal: AbortSignal): Promise<void> {
        const { holders, wiring, withNames } = this.#components;
        const wired = withNames(wiring.interfaces()).find((one) => isSameAttachment(one, attachment));
        // The reconcile of interfaces removes one that ended.
        if (wired === undefined || !(await wiring.linkExists(wired))) return;
        const asked = wiring.isIsolated(wired) ? wired.addresses : this.#suspectsOf(wired);
        const live = await this.#claimsOf(asked, signal);
        const others = live.filter((claim) => isOfAnother(claim, wired));
        // What a pool gave it is its own, wherever it lies.
        const owned = new Set(live.filter((claim) => !isOfAnother(claim, wired)).map(({ spec }) => spec.address));
        const held = holders.heldElsewhere(wired.addresses).filter(({ ip }) => !owned.has(formatIp(ip)));
        if (held.length > 0 || others.some(({ spec }) => spec.pod !== undefined)) {
            if (!wiring.isIsolated(wired)) this.#isolatedHere.add(attachmentKey(wired));
            await wiring.isolate(wired);
        } else if (wiring.isIsolated(wired) && this.#maySayFree(wired)) {
            await wiring.reconnect(wired);
            this.#isolatedHere.delete(attachmentKey(wired));
            this.#logger.info("isolation of a Pod interface ended: its address has no other user", {
                pod: podText(wired),
            });
        }
        for (const claim of others) this.#report(wired, claim, before);
        for (const { ip, node } of held) this.#reportHeld(wired, formatIp(ip), node, before);
    }

    /** Live: after a restart the watch may not have delivered the claims yet; and what it delivers may be late. */
    async #claimsOf(ips: readonly IpAddress[], signal: AbortSignal): Promise<readonly IpAllocation[]> {
        const { claims } = this.#components;
        if (claims === undefined) return [];
        const find = (ip: IpAddress): Promise<IpAllocation | undefined> =>
            claims.api.find(ipAllocations, { name: allocationName(ip) }, { signal, timeoutMs: askLimitMs });
        return (await Promise.all(ips.map(find))).filter((claim) => claim !== undefined);
    }

    /** Whether all is known for which the interface can have been isolated. */
    #maySayFree(wired: SubnetWired): boolean {
        const { claims, holders } = this.#components;
        return holders.isKnown && (claims !== undefined || this.#isolatedHere.has(attachmentKey(wired)));
    }

    /** Its addresses that are claimed for others, by what the watch has delivered, or of another Node's podCIDR. */
    #suspectsOf(wired: SubnetWired): readonly IpAddress[] {
        const { claims, holders } = this.#components;
        const claimed = wired.addresses.filter((ip) => {
            const claim = claims?.of(ip);
            return claim !== undefined && isOfAnother(claim, wired);
        });
        return [...claimed, ...holders.heldElsewhere(wired.addresses).map(({ ip }) => ip)];
    }

    #reportHeld(wired: SubnetWired, address: string, node: string, before: ReadonlySet<string>): void {
        const { events, metrics } = this.#components;
        const key = `${attachmentKey(wired)} ${address} in ${node}`;
        const first = (): void => {
            metrics.heldElsewhere();
            this.#logger.error("Pod interface isolated: its address is in the podCIDR of another Node", {
                pod: podText(wired),
                address,
                node,
            });
        };
        this.#once(key, before, { first, event: () => events.anothersSubnet(podOf(wired), address, node) });
    }

    #report(wired: SubnetWired, claim: IpAllocation, before: ReadonlySet<string>): void {
        const { events, metrics } = this.#components;
        const { address, pool, pod: user } = claim.spec;
        const key = `${attachmentKey(wired)} ${address} ${claim.metadata?.uid} ${user !== undefined}`;
        const holder = holderText(claim);
        const pod = podOf(wired);
        const fields = { pod: podText(wired), address, pool, holder };
        if (user === undefined) {
            const first = (): void =>
                this.#logger.warn("an address in use in this Node's subnet is reserved in an IPPool", fields);
            this.#once(key, before, { first, event: () => events.reservedFromSubnet(pod, address, pool, holder) });
            return;
        }
        const first = (): void => {
            metrics.heldElsewhere();
            this.#logger.error(
                "Pod interface isolated: its address of this Node's subnet is allocated from an IPPool",
                fields,
            );
        };
        this.#once(key, before, { first, event: () => events.claimedFromSubnet(pod, address, pool, holder) });
    }

    /** In the log at once, and by an event as soon as the Pod has a name. */
    #once(
        key: string,
        before: ReadonlySet<string>,
        { first, event }: { readonly first: () => void; readonly event: () => boolean },
    ): void {
        this.#reported.add(key);
        if (!before.has(key)) first();
        const told = `${key} event`;
        if (before.has(told) || event()) this.#reported.add(told);
    }
}

function isOfAnother(claim: ClaimUser, wired: SubnetWired): boolean {
    return !namesContainer(claim, wired) && !isForPod(claim, wired.podUid, wired.ifName);
}
