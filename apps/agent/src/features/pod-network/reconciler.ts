import { Backoff, sleep, systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link, Netlink } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import { BusyContainers } from "./busy-containers.ts";
import type { HostRoutes } from "./host-routes.ts";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import { releasePodLink } from "./link.ts";
import { heldOwner, type NodeSubnet } from "./node-subnet.ts";
import type { PodNetwork } from "./pod-network.ts";
import { podOfPort } from "./parts.ts";
import {
    heldAddresses,
    named,
    rebuild,
    undecided,
    type HeldAddress,
    type KnownPod,
    type Rebuilt,
    type StoredPort,
} from "./rebuild.ts";
import { UnwiredPods, type UnwiredPod } from "./unwired.ts";
import {
    attachmentKey,
    containerOfAlias,
    isPoolRecord,
    type PodInterface,
    type PodRecord,
    podText,
} from "../../platform/pod-interfaces/index.ts";

/** Dependencies of PodReconciler. */
export interface ReconcilerComponents {
    readonly network: PodNetwork;
    readonly netlink: Netlink;
    readonly subnet: NodeSubnet;
    readonly hostRoutes: HostRoutes;
    /** The pool that an address of this Node is allocated from; undefined while the allocations are not synced. */
    readonly poolOf: (ip: IpAddress) => string | undefined;
    /** The allocations of this Node; undefined without IPPools. */
    readonly claims: RecordClaims | undefined;
    readonly ports: { ports(): readonly StoredPort[]; deletePort(name: string, signal?: AbortSignal): Promise<void> };
    /** Reads the Pods of this Node from the API server. */
    readonly pods: (signal: AbortSignal) => Promise<readonly KnownPod[]>;
    /** Called for each Pod that runs without an interface. */
    readonly reportUnwired?: (unwired: UnwiredPod) => void;
    /** For timeouts of container locks. Default: the system clock. */
    readonly clock?: Clock;
    readonly logger: Logger;
}

/** The allocations for the interfaces of this Node. */
export interface RecordClaims {
    /** Resolves when the allocations are synced; rejects if the signal aborts first. */
    synced(signal: AbortSignal): Promise<void>;
    /** Whether each pool address of a record is allocated to it or its Pod. */
    cover(record: PodRecord): boolean;
}

/** Settings of PodReconciler. */
export interface ReconcilerOptions {
    readonly bootId: string;
    readonly podPrefixes: readonly Prefix[];
}

/** How long the rebuild waits for the API server: Pod names are optional, traffic is not. */
const podsSoonMs = 3_000;
/** How long to wait for the allocations of interfaces that OVS lost, once the API server has answered. */
const claimsSoonMs = 3_000;
/** How long OVS may take to remove an orphaned port while the lock of its container is held. */
const orphanLimitMs = 5_000;
/** How long a round waits for the Pods for which addresses are held. */
const podsLimitMs = 5_000;

/**
 * Reconciles the wired interfaces with the running containers. The host end of a veth pair exists exactly as long as
 * the Pod's network namespace, so it shows whether the Pod runs, regardless of the API server.
 */
export class PodReconciler {
    readonly #components: ReconcilerComponents;
    readonly #options: ReconcilerOptions;
    readonly #logger: Logger;
    /** Addresses held for Pods without visible wiring. */
    #held: readonly HeldAddress[] = [];
    /** Whether the Pods of this Node are known from the API server. */
    #podsKnown = false;
    #sweepCandidates = new Set<number>();
    readonly #unwired = new UnwiredPods();
    readonly #busy: BusyContainers;

    constructor(components: ReconcilerComponents, options: ReconcilerOptions) {
        this.#components = components;
        this.#busy = new BusyContainers({ ...components, clock: components.clock ?? systemClock });
        this.#options = options;
        this.#logger = components.logger;
    }

    /** Why the agent is not ready: an interface could not be repaired for a minute because its container is busy. */
    get problem(): string | undefined {
        return this.#busy.problem;
    }

    /**
     * At startup, before any ADD is served: rebuilds the records and drops invalid ports. Running Pods get traffic
     * without the API server: names known only by a link stay empty until `holdKnownAddresses` gets an answer.
     */
    async rebuild(signal: AbortSignal): Promise<void> {
        const { network, netlink, subnet, ports } = this.#components;
        const found = rebuild({
            ports: ports.ports(),
            links: await netlink.links(),
            pods: (await this.#podsSoon(signal)) ?? [],
            bootId: this.#options.bootId,
            podPrefixes: this.#options.podPrefixes,
            poolOf: this.#components.poolOf,
        });
        const rebuilt = { ...found, kept: await this.#isolateUnclaimed(found.kept, signal) };
        const kept = new Set(rebuilt.kept.map(({ record }) => record.hostIfName));
        for (const { port, why, level } of rebuilt.dropped) {
            this.#logger[level]("a Pod port is dropped", { port: port.name, ...podOfPort(port), why });
            if (!kept.has(port.name)) await this.#releaseLink(port);
            await ports.deletePort(port.name, signal);
        }
        for (const { record } of rebuilt.kept) {
            for (const { ip, pool } of record.addresses) {
                subnet.take(ip, attachmentKey(record));
                if (pool !== undefined || subnet.contains(ip)) continue;
                this.#logger.warn("a Pod has an address outside the podCIDRs of this Node; it keeps it until it ends", {
                    pod: podText(record),
                    address: formatIp(ip),
                });
            }
        }
        // All numbers in use must be known before a new one is chosen.
        for (const { ofPort } of rebuilt.kept) if (ofPort !== undefined && ofPort > 0) network.ofPorts.note(ofPort);
        for (const { record, ofPort, isUndecided } of rebuilt.kept) {
            try {
                const number = ofPort !== undefined && ofPort > 0 ? ofPort : network.ofPorts.take();
                network.adopt(record, number, { isUndecided });
            } catch (error) {
                // Its address stays in use: no second owner may get it.
                const reason = messageOf(error);
                this.#logger.warn("a Pod interface cannot be taken over", { port: record.hostIfName, reason });
            }
        }
        this.#hold(rebuilt.held);
        this.#logger.info("Pod interfaces rebuilt", {
            interfaces: rebuilt.kept.length,
            dropped: rebuilt.dropped.length,
        });
    }

    /**
     * At startup, after `rebuild` and before any ADD is served: holds the addresses that Pods of this Node have
     * according to the API server without any wiring. Retries until answered, unless `rebuild` got an answer already.
     */
    async holdKnownAddresses(signal: AbortSignal): Promise<void> {
        if (this.#podsKnown) return;
        const { subnet } = this.#components;
        const pods = await this.#podsAtLast(signal);
        this.#hold(heldAddresses(pods).filter(({ ip }) => subnet.contains(ip) && subnet.ownerOf(ip) === undefined));
        await this.#nameAll(pods, signal);
    }

    /** Completes records that were rebuilt without Pod names. OVSDB gets the names when the record is next written. */
    async #nameAll(pods: readonly KnownPod[], signal: AbortSignal): Promise<void> {
        const { network } = this.#components;
        const unnamed = network.interfaces().filter(({ record }) => named(record, pods) !== record);
        const name = async ({ record }: PodInterface): Promise<void> => network.rename(named(record, pods));
        await Promise.all(unnamed.map((known) => this.#current(known, name, signal)));
    }

    /**
     * Isolates interfaces lost by OVS whose pool address is no longer allocated to them, until allocations are
     * reconciled. The others keep their traffic, as do all while the API server is unavailable.
     */
    async #isolateUnclaimed(kept: Rebuilt["kept"], signal: AbortSignal): Promise<Rebuilt["kept"]> {
        const { claims } = this.#components;
        const isLost = ({ record, ofPort }: Rebuilt["kept"][number]): boolean =>
            ofPort === undefined && isPoolRecord(record) && record.isolated !== true;
        if (claims === undefined || !this.#podsKnown || !kept.some(isLost)) return kept;
        try {
            await claims.synced(AbortSignal.any([signal, AbortSignal.timeout(claimsSoonMs)]));
        } catch (error) {
            signal.throwIfAborted();
            this.#logger.warn("the allocations of this Node cannot be read now", { reason: messageOf(error) });
            return kept;
        }
        return kept.map((one) => {
            if (!isLost(one) || claims.cover(one.record)) return one;
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

    #hold(held: readonly HeldAddress[]): void {
        this.#held = held;
        for (const { ip, podUid } of held) this.#components.subnet.take(ip, heldOwner(podUid));
        if (held.length > 0) this.#logger.info("addresses of Pods held", { addresses: held.length });
    }

    async #podsSoon(signal: AbortSignal): Promise<readonly KnownPod[] | undefined> {
        try {
            const pods = await this.#components.pods(AbortSignal.any([signal, AbortSignal.timeout(podsSoonMs)]));
            this.#podsKnown = true;
            return pods;
        } catch (error) {
            signal.throwIfAborted();
            this.#logger.warn("the Pods of this Node cannot be read now", { reason: messageOf(error) });
            return undefined;
        }
    }

    async #podsAtLast(signal: AbortSignal): Promise<readonly KnownPod[]> {
        const backoff = new Backoff({ initialMs: 500, maxMs: 10_000 });
        for (;;) {
            try {
                return await this.#components.pods(signal);
            } catch (error) {
                signal.throwIfAborted();
                this.#logger.warn("Pods are not connected until the Pods of this Node can be read", {
                    reason: messageOf(error),
                });
                await sleep(backoff.next(), signal, this.#components.clock);
            }
        }
    }

    /** Restores port and flows of all known interfaces; a failure of one does not affect the others. */
    async restoreAll(signal: AbortSignal): Promise<void> {
        const { network } = this.#components;
        const links = new Set((await this.#components.netlink.links()).map((link) => link.name));
        await Promise.all(
            network.interfaces().map((known) =>
                this.#quietly(known, "could not restore a Pod interface", () =>
                    // Without its link OVS could not open the port; `reconcile` removes such an interface.
                    links.has(known.record.hostIfName)
                        ? this.#current(known, (current) => network.restore(current, signal), signal)
                        : Promise.resolve(),
                ),
            ),
        );
    }

    /**
     * Runs one round: removes interfaces whose namespace ended, restores lost ports, frees leftovers and held
     * addresses. Rejects at its end with PodNetworkError `BUSY` if a container lock was not available: retry soon.
     */
    reconcile(signal: AbortSignal): Promise<void> {
        return this.#busy.round(() => this.#reconcile(signal));
    }

    async #reconcile(signal: AbortSignal): Promise<void> {
        const { network, netlink, ports } = this.#components;
        const links = await netlink.links();
        const linksByName = new Map(links.map((link) => [link.name, link]));
        const portsByName = new Map(ports.ports().map((port) => [port.name, port]));
        await Promise.all(
            network.interfaces().map((known) => {
                const name = known.record.hostIfName;
                const link = linksByName.get(name);
                if (network.isLeaving(known) || link === undefined) {
                    return this.#quietly(known, "could not remove a Pod interface", () =>
                        this.#removeIfEnded(known, signal),
                    );
                }
                const isRight = link.up && link.mtu === network.mtu && link.group === podLinkGroup;
                if (isRight && portsByName.get(name)?.ofPort === known.ofPort) return Promise.resolve();
                return this.#quietly(known, "could not restore a Pod interface", () =>
                    this.#current(known, (current) => network.restore(current, signal), signal),
                );
            }),
        );
        const connected = network.interfaces().filter((known) => !network.isIsolated(known));
        await this.#components.hostRoutes.reconcile(connected.map(({ record }) => record));
        await this.#dropOrphanPorts(signal);
        await this.#sweepLinks(links, signal);
        await this.#freeHeld(signal);
    }

    /** Runs the work under the container's lock, unless that is not available or the interface was removed. */
    #current(
        known: PodInterface,
        work: (current: PodInterface) => Promise<unknown>,
        signal: AbortSignal,
    ): Promise<void> {
        const { containerId, ifName } = known.record;
        const begin = async (): Promise<void> => {
            const current = this.#components.network.find(containerId, ifName);
            if (current !== undefined) await work(current);
        };
        return this.#busy.run(containerId, begin, signal);
    }

    #removeIfEnded(known: PodInterface, signal: AbortSignal): Promise<void> {
        const remove = async (current: PodInterface): Promise<void> => {
            const { network, netlink } = this.#components;
            // Checked again inside the lock: an ADD may have been creating the link.
            if (network.isLeaving(current) || (await netlink.link(current.record.hostIfName)) === undefined) {
                // The allocation is kept for the Pod's next sandbox; without one it is freed by the reconciler of
                // allocations.
                await network.remove(current, "keep");
            }
        };
        return this.#current(known, remove, signal);
    }

    async #dropOrphanPorts(signal: AbortSignal): Promise<void> {
        const { network, netlink, ports } = this.#components;
        const isThere = (name: string): boolean => ports.ports().some((port) => port.name === name);
        // Read now, without the ports that this round has removed.
        for (const port of ports.ports()) {
            if (port.externalIds.get("antrea-type") !== "container") continue;
            const containerId = port.externalIds.get("container-id") ?? "";
            const ifName = port.externalIds.get("if-dev") ?? "eth0";
            const isKnown = (): boolean => network.find(containerId, ifName)?.record.hostIfName === port.name;
            // An ADD has a port before it has a record.
            if (isKnown() || network.isAdding(containerId)) continue;
            const drop = async (): Promise<void> => {
                if (isKnown() || !isThere(port.name)) return;
                // A port without a link remains after a restart of the Node or the end of a sandbox.
                const level = (await netlink.link(port.name)) === undefined ? "info" : "warn";
                this.#logger[level]("a Pod port without a record is dropped", {
                    port: port.name,
                    ...podOfPort(port),
                    container: containerId,
                });
                await this.#releaseLink(port);
                await ports.deletePort(port.name, AbortSignal.any([signal, AbortSignal.timeout(orphanLimitMs)]));
            };
            await this.#busy.run(containerId, drop, signal);
        }
    }

    /** Deletes host ends of ours that had no record in two rounds: DEL leaves them to the end of the namespace. */
    async #sweepLinks(links: readonly Link[], signal: AbortSignal): Promise<void> {
        const { network, netlink } = this.#components;
        const known = new Set(network.interfaces().map((one) => one.record.hostIfName));
        const leftovers = links.filter(
            (link) => link.kind === "veth" && !known.has(link.name) && containerOfAlias(link.alias) !== undefined,
        );
        for (const link of leftovers.filter(({ index }) => this.#sweepCandidates.has(index))) {
            const sweep = async (): Promise<void> => {
                if (network.interfaces().some((one) => one.record.hostIfName === link.name)) return;
                await netlink.deleteLink(link.index);
                this.#logger.info("leftover veth pair deleted", { link: link.name });
            };
            // Under the lock of its container: an ADD in progress has a link before it has a record.
            await this.#busy.run(containerOfAlias(link.alias) ?? "", sweep, signal);
        }
        this.#sweepCandidates = new Set(leftovers.map((link) => link.index));
    }

    /** Releases the link of a dropped port. */
    async #releaseLink({ name: hostIfName, externalIds }: StoredPort): Promise<void> {
        const containerId = externalIds.get("container-id") ?? "";
        if (containerId === "") return;
        try {
            await releasePodLink(this.#components.netlink, { hostIfName, containerId });
        } catch (error) {
            // It may be disappearing with its namespace.
            this.#logger.warn("link of a removed Pod port cannot be deleted", {
                link: hostIfName,
                reason: messageOf(error),
            });
        }
    }

    async #freeHeld(signal: AbortSignal): Promise<void> {
        if (this.#held.length === 0) return;
        // While this waits for an unavailable API server, no lost port is restored.
        const pods = await this.#components.pods(AbortSignal.any([signal, AbortSignal.timeout(podsLimitMs)]));
        const stillHeld = new Set(heldAddresses(pods).map(({ ip, podUid }) => `${podUid} ${formatIp(ip)}`));
        this.#held = this.#held.filter(({ ip, podUid }) => {
            if (stillHeld.has(`${podUid} ${formatIp(ip)}`)) return true;
            this.#components.subnet.release(ip, heldOwner(podUid));
            return false;
        });
        this.#reportUnwired(pods);
        await this.#nameAll(pods, signal);
    }

    #reportUnwired(pods: readonly KnownPod[]): void {
        const { network, reportUnwired } = this.#components;
        const records = network.interfaces().map(({ record }) => record);
        for (const unwired of this.#unwired.look(this.#held, pods, records)) {
            const { namespace, name } = unwired.pod;
            const addresses = unwired.ips.map(formatIp);
            this.#logger.warn(
                "Pod is running without an interface of this plugin; delete it, so that it is recreated",
                {
                    pod: `${namespace}/${name}`,
                    addresses,
                },
            );
            reportUnwired?.(unwired);
        }
    }

    async #quietly(known: PodInterface, message: string, work: () => Promise<void>): Promise<void> {
        try {
            await work();
        } catch (error) {
            this.#logger.warn(message, { link: known.record.hostIfName, reason: messageOf(error) });
        }
    }
}
