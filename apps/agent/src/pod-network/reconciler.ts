import { messageOf } from "@antrea/errors";
import { formatIp, type IpAddress } from "@antrea/ip";
import type { Link, Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import { releasedAlias } from "./link.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import type { PodInterface, PodNetwork } from "./pod-network.ts";
import { fromAlias, recordKey } from "./record.ts";
import { rebuild, type KnownPod, type StoredPort } from "./rebuild.ts";
import type { Prefix } from "@antrea/ip";

export interface ReconcilerComponents {
    readonly network: PodNetwork;
    readonly netlink: Netlink;
    readonly subnet: NodeSubnet;
    readonly ports: { ports(): readonly StoredPort[]; deletePort(name: string, signal?: AbortSignal): Promise<void> };
    /** The Pods of this Node, read live. */
    readonly pods: (signal: AbortSignal) => Promise<readonly KnownPod[]>;
    readonly logger: Logger;
}

export interface ReconcilerOptions {
    readonly bootId: string;
    readonly podPrefixes: readonly Prefix[];
}

/**
 * Keeps what is wired in step with what lives. The host end of a veth pair exists exactly as long as the Pod's network
 * namespace: it is the sign of life, whatever the API server says of the Pod.
 */
export class PodReconciler {
    readonly #components: ReconcilerComponents;
    readonly #options: ReconcilerOptions;
    readonly #logger: Logger;
    /** Addresses held for Pods whose wiring is not to be seen. */
    #held: readonly { readonly ip: IpAddress; readonly podUid: string }[] = [];
    #sweepCandidates = new Set<number>();

    constructor(components: ReconcilerComponents, options: ReconcilerOptions) {
        this.#components = components;
        this.#options = options;
        this.#logger = components.logger;
    }

    /** At start, before any ADD is served: rebuilds records and addresses, drops what stands for nothing. */
    async rebuild(signal: AbortSignal): Promise<void> {
        const { network, netlink, subnet, ports, pods } = this.#components;
        const rebuilt = rebuild({
            ports: ports.ports(),
            links: await netlink.links(),
            pods: await pods(signal),
            bootId: this.#options.bootId,
            podPrefixes: this.#options.podPrefixes,
        });
        for (const { port, why } of rebuilt.dropped) {
            this.#logger.warn("a Pod port is dropped", { port, why });
            await ports.deletePort(port, signal);
        }
        for (const { record } of rebuilt.kept) {
            for (const { ip } of record.addresses) {
                subnet.take(ip, recordKey(record.containerId, record.ifName));
                if (subnet.contains(ip)) continue;
                this.#logger.warn("a Pod has an address outside the podCIDRs of this Node; it keeps it until it ends", {
                    pod: `${record.podNamespace}/${record.podName}`,
                    address: formatIp(ip),
                });
            }
        }
        for (const { record, ofPort } of rebuilt.kept) {
            network.adopt(record, ofPort !== undefined && ofPort > 0 ? ofPort : network.ofPorts.take());
        }
        this.#held = rebuilt.held;
        for (const { ip, podUid } of rebuilt.held) subnet.take(ip, `pod/${podUid}`);
        this.#logger.info("Pod interfaces rebuilt", {
            interfaces: rebuilt.kept.length,
            dropped: rebuilt.dropped.length,
            heldAddresses: rebuilt.held.length,
        });
    }

    /** Puts port and flows of all known interfaces in place; one that fails does not keep the others from theirs. */
    async restoreAll(signal: AbortSignal): Promise<void> {
        const { network } = this.#components;
        const links = new Set((await this.#components.netlink.links()).map((link) => link.name));
        await Promise.all(
            network.interfaces().map((known) =>
                this.#quietly(known, "could not restore a Pod interface", () =>
                    // Without its link OVS could not open the port; `reconcile` removes such an interface.
                    links.has(known.record.hostIfName)
                        ? this.#current(known, (current) => network.restore(current, signal))
                        : Promise.resolve(),
                ),
            ),
        );
    }

    /** One round: interfaces whose namespace ended go; lost ports come back; leftovers and held addresses are freed. */
    async reconcile(signal: AbortSignal): Promise<void> {
        const { network, netlink, ports } = this.#components;
        const links = await netlink.links();
        const linkNames = new Set(links.map((link) => link.name));
        const portsByName = new Map(ports.ports().map((port) => [port.name, port]));
        for (const known of network.interfaces()) {
            const name = known.record.hostIfName;
            if (!linkNames.has(name)) {
                await this.#quietly(known, "could not remove the interface of an ended namespace", () =>
                    this.#removeIfEnded(known),
                );
            } else if (portsByName.get(name)?.ofPort !== known.ofPort) {
                await this.#quietly(known, "could not restore a Pod interface", () =>
                    this.#current(known, (current) => network.restore(current, signal)),
                );
            }
        }
        await this.#dropOrphanPorts([...portsByName.values()], signal);
        await this.#sweepLinks(links);
        await this.#freeHeld(signal);
    }

    /** Runs the work under the container's lock, unless the interface went meanwhile. */
    #current(known: PodInterface, work: (current: PodInterface) => Promise<void>): Promise<void> {
        const { network } = this.#components;
        const { containerId, ifName } = known.record;
        return network.exclusively(containerId, async () => {
            const current = network.find(containerId, ifName);
            if (current !== undefined) await work(current);
        });
    }

    #removeIfEnded(known: PodInterface): Promise<void> {
        return this.#current(known, async (current) => {
            // Looked at again inside the lock: an ADD may have been making the link.
            if ((await this.#components.netlink.link(current.record.hostIfName)) === undefined) {
                await this.#components.network.remove(current);
            }
        });
    }

    async #dropOrphanPorts(ports: readonly StoredPort[], signal: AbortSignal): Promise<void> {
        const { network } = this.#components;
        for (const port of ports) {
            if (port.externalIds.get("antrea-type") !== "container") continue;
            const containerId = port.externalIds.get("container-id") ?? "";
            const ifName = port.externalIds.get("if-dev") ?? "eth0";
            await network.exclusively(containerId, async () => {
                if (network.find(containerId, ifName)?.record.hostIfName === port.name) return;
                this.#logger.warn("a Pod port without a record is dropped", {
                    port: port.name,
                    container: containerId,
                });
                await this.#components.ports.deletePort(port.name, signal);
            });
        }
    }

    /** Deletes host ends of ours that have no record, once they were seen so in two rounds: DEL leaves them to the namespace's end. */
    async #sweepLinks(links: readonly Link[]): Promise<void> {
        const { network, netlink } = this.#components;
        const known = new Set(network.interfaces().map((one) => one.record.hostIfName));
        const leftovers = links.filter(
            (link) =>
                link.kind === "veth" &&
                !known.has(link.name) &&
                (link.alias === releasedAlias || fromAlias(link.alias) !== undefined),
        );
        for (const link of leftovers) {
            if (!this.#sweepCandidates.has(link.index)) continue;
            // An ADD may have taken the name since the list was made.
            if (network.interfaces().some((one) => one.record.hostIfName === link.name)) continue;
            await netlink.deleteLink(link.index);
            this.#logger.info("leftover veth pair deleted", { link: link.name });
        }
        this.#sweepCandidates = new Set(leftovers.map((link) => link.index));
    }

    async #freeHeld(signal: AbortSignal): Promise<void> {
        if (this.#held.length === 0) return;
        const alive = new Set((await this.#components.pods(signal)).map((pod) => pod.uid));
        for (const { ip, podUid } of this.#held)
            if (!alive.has(podUid)) this.#components.subnet.release(ip, `pod/${podUid}`);
        this.#held = this.#held.filter(({ podUid }) => alive.has(podUid));
    }

    async #quietly(known: PodInterface, message: string, work: () => Promise<void>): Promise<void> {
        try {
            await work();
        } catch (error) {
            this.#logger.warn(message, { link: known.record.hostIfName, reason: messageOf(error) });
        }
    }
}
