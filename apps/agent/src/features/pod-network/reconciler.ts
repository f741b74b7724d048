import { systemClock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { formatIp } from "@antrea/ip";
import { type Link } from "@antrea/netlink";
import { type Logger } from "@antrea/runtime";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import { newSandboxStep } from "../../platform/pod-object.ts";
import { BusyContainers } from "./busy-containers.ts";
import { named, type KnownPod } from "./found-records.ts";
import { HeldAddresses } from "./held-addresses.ts";
import type { FurtherInterfaces } from "./further-interfaces.ts";
import type { HostRoutes } from "./host-routes.ts";
import { KnownPods, type KnownPodsComponents } from "./known-pods.ts";
import { Leftovers } from "./leftovers.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import type { PodNetwork } from "./pod-network.ts";
import { TakeOver, type TakeOverComponents, type TakeOverOptions } from "./take-over.ts";
import { UnwiredPods, type UnwiredPod } from "./unwired.ts";
import type { PodInterface } from "../../platform/pod-interfaces/index.ts";

/** Dependencies of PodReconciler; its clock is also for timeouts of container locks. */
export interface ReconcilerComponents
    extends KnownPodsComponents, Omit<TakeOverComponents, "held" | "knownPods" | "network" | "subnet"> {
    readonly network: PodNetwork;
    readonly subnet: NodeSubnet;
    readonly hostRoutes: HostRoutes;
    /** Called for each Pod that runs without an interface. */
    readonly reportUnwired?: (unwired: UnwiredPod) => void;
}

/**
 * Reconciles the wired interfaces with the running containers. The host end of a veth pair exists exactly as long as
 * the Pod's network namespace, so it shows whether the Pod runs, regardless of the API server. Order: `rebuild`,
 * `restoreAll`, then `reconcile` repeatedly, one at a time; `holdKnownAddresses` before any ADD is served.
 */
export class PodReconciler {
    readonly #components: ReconcilerComponents;
    readonly #logger: Logger;
    readonly #knownPods: KnownPods;
    readonly #held: HeldAddresses;
    readonly #takeOver: TakeOver;
    readonly #leftovers: Leftovers;
    readonly #unwired = new UnwiredPods();
    readonly #busy: BusyContainers;

    constructor(components: ReconcilerComponents, options: TakeOverOptions) {
        this.#components = components;
        this.#logger = components.logger;
        this.#busy = new BusyContainers({ ...components, clock: components.clock ?? systemClock });
        this.#knownPods = new KnownPods(components);
        this.#held = new HeldAddresses(components);
        this.#takeOver = new TakeOver({ ...components, knownPods: this.#knownPods, held: this.#held }, options);
        this.#leftovers = new Leftovers({ ...components, busy: this.#busy });
    }

    /** Why the agent is not ready: an interface could not be repaired for a minute because its container is busy. */
    get problem(): string | undefined {
        return this.#busy.problem;
    }

    /**
     * At startup, before any ADD is served: rebuilds the records and drops invalid ports; rejects as TakeOver's `run`.
     * Running Pods get traffic without the API server: names known only by a link stay empty until `holdKnownAddresses`
     * gets an answer.
     */
    async rebuild(signal: AbortSignal): Promise<void> {
        const { netlink, network } = this.#components;
        await this.#takeOver.run(signal);
        await network.further?.upkeep.rebuild(await netlink.links(), signal);
    }

    /**
     * At startup, after `rebuild` and before any ADD is served: holds the addresses that Pods of this Node have
     * according to the API server without any wiring. Retries until answered, unless `rebuild` got an answer already;
     * rejects only if the signal aborts.
     */
    async holdKnownAddresses(signal: AbortSignal): Promise<void> {
        if (this.#knownPods.hasAnswered) return;
        const pods = await this.#knownPods.atLast(signal);
        this.#held.holdUnused(pods);
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
     * Restores port and flows of all known interfaces; a failure of one is logged and does not affect the others.
     * Rejects only if the links cannot be read.
     */
    async restoreAll(signal: AbortSignal): Promise<void> {
        const { network } = this.#components;
        const links = new Set((await this.#components.netlink.links()).map((link) => link.name));
        const { further } = network;
        await Promise.all([
            ...(further?.containers() ?? []).map(async (containerId) => {
                try {
                    await this.#busy.run(
                        containerId,
                        () => further?.restore(containerId, signal) ?? Promise.resolve(),
                        signal,
                    );
                } catch (error) {
                    const reason = messageOf(error);
                    this.#logger.warn("could not restore further Pod interfaces", { container: containerId, reason });
                }
            }),
            ...network.interfaces().map((known) =>
                this.#quietly(known, "could not restore a Pod interface", () =>
                    // Without its link OVS could not open the port; `reconcile` removes such an interface.
                    links.has(known.record.hostIfName)
                        ? this.#current(known, (current) => network.restore(current, signal), signal)
                        : Promise.resolve(),
                ),
            ),
        ]);
    }

    /**
     * Runs one round: removes interfaces whose namespace ended, restores lost ports, frees leftovers and held
     * addresses. A failure of one interface is logged. Rejects if links, host routes, leftovers or Pods cannot be read
     * or changed, which ends the round, or at its end with PodNetworkError `BUSY` if a container lock was not
     * available: retry soon.
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
        await this.#components.hostRoutes.reconcile(network.reachable().map(({ record }) => record));
        const failure = await this.#reconcileFurther(linksByName, signal);
        await this.#leftovers.dropPorts(signal);
        await this.#leftovers.sweepLinks(links, signal);
        await this.#freeHeld(signal);
        // The bridge may not be there again yet: the next round comes soon then.
        if (failure !== undefined) throw failure;
    }

    /**
     * The interfaces on other networks: those that are left when their container is gone, and what was lost. Resolves with the
     * first failure, which must not keep the Pod network from its upkeep.
     */
    async #reconcileFurther(links: ReadonlyMap<string, Link>, signal: AbortSignal): Promise<Error | undefined> {
        const { network } = this.#components;
        const { further } = network;
        if (further === undefined) return undefined;
        further.upkeep.complete();
        const failures: unknown[] = [];
        type Ports = ReturnType<typeof further.upkeep.portsByName>;
        const needOf = (id: string, found: Ports): "remove" | "restore" | undefined =>
            further.upkeep.need(id, { links, ports: found }, network.hasContainer(id));
        const ports = further.upkeep.portsByName();
        for (const containerId of further.containers()) {
            if (needOf(containerId, ports) === undefined) continue;
            const work = async (): Promise<void> => {
                // Others have worked on the container until now.
                const need = needOf(containerId, further.upkeep.portsByName());
                if (need === "restore") await further.restore(containerId, signal);
                // An ADD under way holds the lock; a living Pod keeps what its own interface shows to be alive.
                else if (need === "remove") await further.remove(containerId, "keep");
            };
            try {
                await this.#busy.run(containerId, work, signal);
            } catch (error) {
                failures.push(error);
                this.#logger.warn("further interfaces of a container are not restored", {
                    container: containerId,
                    reason: messageOf(error),
                });
            }
        }
        for (const containerId of further.upkeep.unknownContainers()) {
            if (network.isAdding(containerId)) continue;
            try {
                await this.#busy.run(containerId, () => further.upkeep.dropPorts(containerId, signal), signal);
            } catch (error) {
                failures.push(error);
            }
        }
        await this.#ensureServiceRoutes(further, signal);
        signal.throwIfAborted();
        return failures.find((one) => one instanceof Error);
    }

    /** A failure is logged only: such a Pod has changed its own routes or addresses, and the next round tries again. */
    async #ensureServiceRoutes(further: FurtherInterfaces, signal: AbortSignal): Promise<void> {
        const due = new Set(further.serviceRoutes.due(further.containers()));
        const known = this.#components.network.interfaces().filter(({ record }) => due.has(record.containerId));
        for (const one of known) {
            await this.#quietly(one, "routes to the Service CIDRs of a Pod are not set", () =>
                this.#current(one, ({ record }) => further.serviceRoutes.ensure(record), signal),
            );
        }
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

    async #freeHeld(signal: AbortSignal): Promise<void> {
        if (this.#held.list().length === 0) return;
        const pods = await this.#knownPods.inRound(signal);
        this.#held.freeAllBut(pods);
        this.#reportUnwired(pods);
        await this.#nameAll(pods, signal);
    }

    #reportUnwired(pods: readonly KnownPod[]): void {
        const { network, reportUnwired } = this.#components;
        const records = network.interfaces().map(({ record }) => record);
        for (const unwired of this.#unwired.check(this.#held.list(), pods, records)) {
            const { namespace, name, staticUid } = unwired.pod;
            const next = newSandboxStep(staticUid !== undefined, "delete it");
            const addresses = unwired.ips.map(formatIp);
            this.#logger.warn(`Pod is running without an interface of this plugin; ${next}, so that it is recreated`, {
                pod: `${namespace}/${name}`,
                addresses,
            });
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
