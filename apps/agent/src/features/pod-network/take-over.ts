import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress, type Prefix } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { HeldAddresses } from "./held-addresses.ts";
import type { KnownPods } from "./known-pods.ts";
import { type StoredPorts } from "./leftovers.ts";
import { releaseLinkOf } from "./release-link.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import { podOfPort } from "./parts.ts";
import type { PodNetwork } from "./pod-network.ts";
import { rebuild, undecided, type Rebuilt } from "./rebuild.ts";
import { attachmentKey, isPoolRecord, type PodRecord, podText } from "../../platform/pod-interfaces/index.ts";

/** The allocations for the interfaces of this Node. */
export interface RecordAllocations {
    /** Resolves when the allocations are synced; rejects if the signal aborts first. */
    synced(signal: AbortSignal): Promise<void>;
    /** Whether each pool address of a record is allocated to it or its Pod. */
    cover(record: PodRecord): boolean;
}

/** Dependencies of TakeOver. */
export interface TakeOverComponents {
    readonly network: Pick<PodNetwork, "adopt" | "ofPorts">;
    readonly netlink: Netlink;
    readonly subnet: Pick<NodeSubnet, "take" | "contains">;
    /** The pool that an address of this Node is allocated from; undefined while the allocations are not synced. */
    readonly poolOf: (ip: IpAddress) => string | undefined;
    /** The allocations of this Node; undefined without IPPools. */
    readonly allocations: RecordAllocations | undefined;
    readonly ports: StoredPorts;
    readonly knownPods: KnownPods;
    readonly held: HeldAddresses;
    readonly logger: Logger;
}

/** Settings of TakeOver. */
export interface TakeOverOptions {
    /** /proc/sys/kernel/random/boot_id. */
    readonly bootId: string;
    readonly podPrefixes: readonly Prefix[];
}

/** How long to wait for the allocations of interfaces that OVS lost, once the API server has answered. */
const allocationsSoonMs = 3_000;

/**
 * Takes over the Pod interfaces that an earlier start of the agent has wired: adopts valid ones and keeps their
 * addresses in use, deletes other Pod ports of this agent, and isolates interfaces lost by OVS without an allocation.
 * `run` is called once.
 */
export class TakeOver {
    readonly #components: TakeOverComponents;
    readonly #options: TakeOverOptions;
    readonly #logger: Logger;

    constructor(components: TakeOverComponents, options: TakeOverOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
    }

    /**
     * Called once, before any ADD is served; works without the API server. Rejects if the links cannot be read, a port
     * cannot be deleted or the signal aborts; an interface that cannot be adopted is logged.
     */
    async run(signal: AbortSignal): Promise<void> {
        const { held, knownPods, netlink, poolOf, ports } = this.#components;
        const found = rebuild({
            ...this.#options,
            poolOf,
            ports: ports.ports(),
            links: await netlink.links(),
            pods: (await knownPods.soon(signal)) ?? [],
        });
        const rebuilt = { ...found, kept: await this.#isolateUnclaimed(found.kept, signal) };
        await this.#drop(rebuilt, signal);
        this.#takeAddresses(rebuilt.kept);
        this.#adopt(rebuilt.kept);
        held.hold(rebuilt.held);
        this.#logger.info("Pod interfaces rebuilt", {
            interfaces: rebuilt.kept.length,
            dropped: rebuilt.dropped.length,
        });
    }

    async #drop(rebuilt: Rebuilt, signal: AbortSignal): Promise<void> {
        const kept = new Set(rebuilt.kept.map(({ record }) => record.hostIfName));
        for (const { port, why, level } of rebuilt.dropped) {
            this.#logger[level]("a Pod port is dropped", { port: port.name, ...podOfPort(port), why });
            if (!kept.has(port.name)) await releaseLinkOf(port, this.#components);
            await this.#components.ports.deletePort(port.name, signal);
        }
    }

    #takeAddresses(kept: Rebuilt["kept"]): void {
        const { subnet } = this.#components;
        for (const { record } of kept) {
            for (const { ip, pool } of record.addresses) {
                subnet.take(ip, attachmentKey(record));
                if (pool !== undefined || subnet.contains(ip)) continue;
                this.#logger.warn("a Pod has an address outside the podCIDRs of this Node; it keeps it until it ends", {
                    pod: podText(record),
                    address: formatIp(ip),
                });
            }
        }
    }

    #adopt(kept: Rebuilt["kept"]): void {
        const { network } = this.#components;
        // All numbers in use must be known before a new one is chosen.
        for (const { ofPort } of kept) if (ofPort !== undefined && ofPort > 0) network.ofPorts.note(ofPort);
        for (const { record, ofPort, isUndecided } of kept) {
            try {
                const number = ofPort !== undefined && ofPort > 0 ? ofPort : network.ofPorts.take();
                network.adopt(record, number, { isUndecided });
            } catch (error) {
                // Its address stays in use: no second owner may get it.
                const reason = messageOf(error);
                this.#logger.warn("a Pod interface cannot be taken over", { port: record.hostIfName, reason });
            }
        }
    }

    /**
     * Isolates interfaces lost by OVS whose pool address is no longer allocated to them, until allocations are
     * reconciled. The others keep their traffic, as do all while the API server is unavailable.
     */
    async #isolateUnclaimed(kept: Rebuilt["kept"], signal: AbortSignal): Promise<Rebuilt["kept"]> {
        const { allocations, knownPods } = this.#components;
        const isLost = ({ record, ofPort }: Rebuilt["kept"][number]): boolean =>
            ofPort === undefined && isPoolRecord(record) && record.isolated !== true;
        if (allocations === undefined || !knownPods.hasAnswered || !kept.some(isLost)) return kept;
        try {
            await allocations.synced(AbortSignal.any([signal, AbortSignal.timeout(allocationsSoonMs)]));
        } catch (error) {
            signal.throwIfAborted();
            this.#logger.warn("the allocations of this Node cannot be read now", { reason: messageOf(error) });
            return kept;
        }
        return kept.map((one) => {
            if (!isLost(one) || allocations.cover(one.record)) return one;
            const { containerId, podNamespace, podName, addresses } = one.record;
            this.#logger.warn(
                "a Pod interface that OVS lost is isolated until the reconcile of allocations: it has no allocation",
                {
                    pod: `${podNamespace}/${podName}`,
                    container: containerId,
                    addresses: addresses.map(({ ip }) => formatIp(ip)),
                },
            );
            return undecided(one);
        });
    }
}
