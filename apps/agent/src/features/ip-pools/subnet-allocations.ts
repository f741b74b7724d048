import { allocationName, ipAllocations, type IpAllocation } from "@antrea/crd";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import { type ApiClient } from "@antrea/kube";
import { type Logger } from "@antrea/runtime";
import { holderText, isForPod, namesContainer, type AllocationUser } from "./allocations.ts";
import { type IpamMetrics } from "./metrics.ts";
import { type PodEvents } from "./pod-events.ts";
import { askLimitMs, lockLimitMs, within } from "./requests.ts";
import { type SubnetHolders } from "./subnet-holders.ts";
import { podOf } from "./types.ts";
import { attachmentKey, isSameAttachment, type PodAttachment, podText } from "../../platform/pod-interfaces/index.ts";
import { type InterfaceActions } from "./wiring.ts";

/** An interface of this Node with addresses of its podCIDRs, from its record. */
export interface SubnetWired extends PodAttachment {
    readonly addresses: readonly IpAddress[];
}

/** The interfaces with podCIDR addresses on this Node, none that is being removed, and the actions on them. */
export interface SubnetWiring extends InterfaceActions {
    /** The current ones, read at each call. */
    interfaces(): readonly SubnetWired[];
}

/** Dependencies of SubnetAllocations. */
export interface SubnetAllocationsComponents {
    /** Undefined with AntreaIPAM disabled. */
    readonly allocations:
        | {
              readonly api: Pick<ApiClient, "find">;
              /** The allocation of an address within this Node's podCIDRs, as far as the watch has delivered it. */
              readonly of: (ip: IpAddress) => AllocationUser | undefined;
          }
        | undefined;
    /** Fills in the Pod names of interfaces, as far as known. */
    readonly withNames: (wired: readonly SubnetWired[]) => readonly SubnetWired[];
    readonly holders: Pick<SubnetHolders, "heldElsewhere" | "isKnown">;
    readonly events: Pick<PodEvents, "claimedFromSubnet" | "reservedFromSubnet" | "anothersSubnet">;
    readonly metrics: Pick<IpamMetrics, "heldElsewhere">;
    readonly wiring: SubnetWiring;
    readonly logger: Logger;
}

/**
 * Finds allocations of podCIDR addresses that Pods of this Node use without an allocation: made before the Node had the
 * podCIDR, by an agent with a stale view, or manually. The allocation is the lock of the address, and its Pod may run
 * on a Node that knows of no other user; so the interface in the podCIDR is isolated for as long as another Pod has the
 * allocation. A reservation without a Pod is only reported.
 *
 * Also finds Pods with an address of an earlier podCIDR of this Node that another Node has now: they are isolated for
 * as long as it has it. With AntreaIPAM disabled only this is checked, and only interfaces isolated since startup are
 * reconnected: those isolated before may be so because of an allocation.
 */
export class SubnetAllocations {
    readonly #components: SubnetAllocationsComponents;
    readonly #logger: Logger;
    /**
     * Reported conditions, each once in the log and once as an event: interface, address, UID of the allocation,
     * whether a Pod has it.
     */
    #reported = new Set<string>();
    /** Interfaces that were connected until this run of the agent isolated them. */
    readonly #isolatedHere = new Set<string>();

    constructor(components: SubnetAllocationsComponents) {
        this.#components = components;
        this.#logger = components.logger;
    }

    /** Number of isolated interfaces. */
    get isolated(): number {
        const { wiring } = this.#components;
        return wiring.interfaces().filter((wired) => wiring.isIsolated(wired)).length;
    }

    /**
     * Runs one check of all interfaces; checks must not overlap. Failures are logged, and the last one rejects it at
     * the end: retry then. Ends early if the signal aborts.
     */
    async check(signal: AbortSignal): Promise<void> {
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
        // The reconciler of interfaces removes one whose namespace ended.
        if (wired === undefined || !(await wiring.linkExists(wired))) return;
        const asked = wiring.isIsolated(wired) ? wired.addresses : this.#suspectsOf(wired);
        const live = await this.#allocationsOf(asked, signal);
        const others = live.filter((allocation) => isOfAnother(allocation, wired));
        // An address from a pool belongs to the interface, also within the podCIDR.
        const owned = new Set(
            live.filter((allocation) => !isOfAnother(allocation, wired)).map(({ spec }) => spec.address),
        );
        const held = holders.heldElsewhere(wired.addresses).filter(({ ip }) => !owned.has(formatIp(ip)));
        if (held.length > 0 || others.some(({ spec }) => spec.pod !== undefined)) {
            if (!wiring.isIsolated(wired)) this.#isolatedHere.add(attachmentKey(wired));
            await wiring.isolate(wired);
        } else if (wiring.isIsolated(wired) && this.#mayReconnect(wired)) {
            await wiring.reconnect(wired);
            this.#isolatedHere.delete(attachmentKey(wired));
            this.#logger.info("isolation of a Pod interface ended: its address has no other user", {
                pod: podText(wired),
            });
        }
        for (const allocation of others) this.#report(wired, allocation, before);
        for (const { ip, node } of held) this.#reportHeld(wired, formatIp(ip), node, before);
    }

    /** Read live: after a restart the watch may not have delivered the allocations yet, and its events may be late. */
    async #allocationsOf(ips: readonly IpAddress[], signal: AbortSignal): Promise<readonly IpAllocation[]> {
        const { allocations } = this.#components;
        if (allocations === undefined) return [];
        const find = (ip: IpAddress): Promise<IpAllocation | undefined> =>
            allocations.api.find(ipAllocations, { name: allocationName(ip) }, { signal, timeoutMs: askLimitMs });
        return (await Promise.all(ips.map(find))).filter((allocation) => allocation !== undefined);
    }

    /** Whether all possible reasons for isolating the interface are known. */
    #mayReconnect(wired: SubnetWired): boolean {
        const { allocations, holders } = this.#components;
        return holders.isKnown && (allocations !== undefined || this.#isolatedHere.has(attachmentKey(wired)));
    }

    /** Addresses of the interface allocated to others, according to the watch, or within another Node's podCIDR. */
    #suspectsOf(wired: SubnetWired): readonly IpAddress[] {
        const { allocations, holders } = this.#components;
        const claimed = wired.addresses.filter((ip) => {
            const allocation = allocations?.of(ip);
            return allocation !== undefined && isOfAnother(allocation, wired);
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

    #report(wired: SubnetWired, allocation: IpAllocation, before: ReadonlySet<string>): void {
        const { events, metrics } = this.#components;
        const { address, pool, pod: user } = allocation.spec;
        const key = `${attachmentKey(wired)} ${address} ${allocation.metadata?.uid} ${user !== undefined}`;
        const holder = holderText(allocation);
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

    /** Logs at once, and records an event as soon as the Pod has a name. */
    #once(
        key: string,
        before: ReadonlySet<string>,
        { first, event }: { readonly first: () => void; readonly event: () => boolean },
    ): void {
        this.#reported.add(key);
        if (!before.has(key)) first();
        const eventKey = `${key} event`;
        if (before.has(eventKey) || event()) this.#reported.add(eventKey);
    }
}

function isOfAnother(allocation: AllocationUser, wired: SubnetWired): boolean {
    return !namesContainer(allocation, wired) && !isForPod(allocation, wired.podUid, wired.ifName);
}
