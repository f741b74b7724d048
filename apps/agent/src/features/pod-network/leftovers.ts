import type { Link, Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import type { BusyContainers } from "./busy-containers.ts";
import type { StoredPort } from "./found-records.ts";
import { releaseLinkOf } from "./release-link.ts";
import { podOfPort } from "./parts.ts";
import type { PodNetwork } from "./pod-network.ts";
import { containerOfAlias, fromNetworkAlias } from "../../platform/pod-interfaces/index.ts";

/** The ports of the bridge with their records, as read from OVSDB. */
export interface StoredPorts {
    /** The ports as last read by the database session; current at each call. */
    ports(): readonly StoredPort[];
    /** Succeeds if the port is gone already. */
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
}

/** Dependencies of Leftovers. */
export interface LeftoversComponents {
    readonly network: Pick<PodNetwork, "find" | "further" | "hasContainer" | "interfaces" | "isAdding">;
    readonly netlink: Netlink;
    readonly ports: StoredPorts;
    readonly busy: Pick<BusyContainers, "run">;
    readonly logger: Logger;
}

/** How long OVS may take to remove an orphaned port while the lock of its container is held. */
const orphanLimitMs = 5_000;

/**
 * Removes ports and links of this agent without a record: of a restart of the Node, or of an ADD or DEL that failed.
 * Busy containers are skipped, see BusyContainers. Methods reject with the first failure; the next round continues.
 */
export class Leftovers {
    readonly #components: LeftoversComponents;
    readonly #logger: Logger;
    #sweepCandidates = new Set<number>();

    constructor(components: LeftoversComponents) {
        this.#components = components;
        this.#logger = components.logger;
    }

    /** Drops ports of Pods without a record and without an ADD in progress. */
    async dropPorts(signal: AbortSignal): Promise<void> {
        const { busy, network, netlink, ports } = this.#components;
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
                await releaseLinkOf(port, this.#components);
                await ports.deletePort(port.name, AbortSignal.any([signal, AbortSignal.timeout(orphanLimitMs)]));
            };
            await busy.run(containerId, drop, signal);
        }
    }

    /**
     * Deletes host ends of ours that had no record in two rounds: DEL leaves them to the end of the namespace.
     *
     * @param links all links of the Node, read in this round
     */
    async sweepLinks(links: readonly Link[], signal: AbortSignal): Promise<void> {
        const { busy, network, netlink } = this.#components;
        const names = (): readonly string[] =>
            [...network.interfaces(), ...(network.further?.list() ?? [])].map(({ record }) => record.hostIfName);
        const known = new Set(names());
        // Without feature gate and bridge nothing maintains these, and their Pods run on with them.
        const isKept = ({ alias }: Link): boolean =>
            network.further?.hasBridge !== true &&
            fromNetworkAlias(alias) !== undefined &&
            network.hasContainer(containerOfAlias(alias) ?? "");
        const leftovers = links.filter(
            (link) =>
                link.kind === "veth" &&
                !known.has(link.name) &&
                containerOfAlias(link.alias) !== undefined &&
                !isKept(link),
        );
        for (const link of leftovers.filter(({ index }) => this.#sweepCandidates.has(index))) {
            const sweep = async (): Promise<void> => {
                if (names().includes(link.name)) return;
                await netlink.deleteLink(link.index);
                this.#logger.info("leftover veth pair deleted", { link: link.name });
            };
            // Under the lock of its container: an ADD in progress has a link before it has a record.
            await busy.run(containerOfAlias(link.alias) ?? "", sweep, signal);
        }
        this.#sweepCandidates = new Set(leftovers.map((link) => link.index));
    }
}
