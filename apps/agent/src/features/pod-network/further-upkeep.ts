import { sameIp } from "@antrea/ip";
import type { Link } from "@antrea/netlink";
import type { StoredPort } from "./found-records.ts";
import { releaseLinkOf } from "./release-link.ts";
import { podLinkGroup } from "../../platform/kernel-ids.ts";
import { isFunction } from "./function-wiring.ts";
import {
    noPorts,
    type FurtherInterfacesComponents,
    type FurtherInterfacesOptions,
    type NetworkPort,
    type NetworkPorts,
} from "./further-types.ts";
import {
    fromNetworkAlias,
    fromNetworkIds,
    toNetworkAlias,
    type NetworkInterface,
    type NetworkRecord,
    type NetworkRecordAddress,
} from "../../platform/pod-interfaces/index.ts";

/** Dependencies of FurtherUpkeep. */
export interface FurtherUpkeepComponents extends Pick<
    FurtherInterfacesComponents,
    "logger" | "netlink" | "podInterfaces" | "pools" | "table"
> {
    readonly ports: NetworkPorts;
}

/** What a round of the reconcile has found on the Node, by name. */
export interface FoundOnNode {
    readonly links: ReadonlyMap<string, Link>;
    /** See `FurtherUpkeep.portsByName`. */
    readonly ports: ReadonlyMap<string, NetworkPort>;
}

/** Finds what earlier starts, crashes and Open vSwitch have left of the interfaces on other networks. */
export class FurtherUpkeep {
    readonly #components: FurtherUpkeepComponents;
    readonly #options: Pick<FurtherInterfacesOptions, "bootId">;

    constructor(components: FurtherUpkeepComponents, options: Pick<FurtherInterfacesOptions, "bootId">) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * At startup, after the interfaces on the Pod network and before any ADD is served: adopts the interfaces that an
     * earlier start has wired, from the ports of the bridge or, if the database was lost, from the links, and virtual
     * functions from the records of the former; deletes ports without a valid record. Rejects with OvsdbError if a port
     * cannot be deleted.
     */
    async rebuild(links: readonly Link[], signal: AbortSignal): Promise<void> {
        const { logger, podInterfaces, ports, table } = this.#components;
        const { bootId } = this.#options;
        for (const { record } of podInterfaces.list()) for (const one of record.functions ?? []) table.put(one);
        const dropped: string[] = [];
        for (const port of ports.ports()) {
            const record = fromNetworkIds(port.name, port.externalIds);
            if (record !== undefined && record !== "unfinished" && (record.bootId === "" || record.bootId === bootId)) {
                table.put(record);
            } else dropped.push(port.name);
        }
        const known = new Set(this.#components.table.list().map(({ record }) => record.hostIfName));
        const unknown = ports === noPorts ? [] : links.filter(({ name }) => !known.has(name));
        for (const link of unknown) {
            const record = this.#fromLink(link);
            if (record !== undefined) table.put(record);
        }
        if (dropped.length > 0) {
            logger.warn("ports of further interfaces without a valid record are dropped", { ports: dropped });
            for (const port of ports.ports())
                if (dropped.includes(port.name)) await releaseLinkOf(port, this.#components);
            await ports.deletePorts(dropped, signal);
        }
        if (this.#components.table.list().length > 0)
            logger.info("further Pod interfaces rebuilt", { interfaces: this.#components.table.list().length });
    }

    /** The ports of Pods by name, for all containers of a round: a Node has thousands. */
    portsByName(): ReadonlyMap<string, NetworkPort> {
        return new Map(this.#components.ports.ports().map((port) => [port.name, port]));
    }

    /**
     * What the container needs in a round of the reconcile: "remove" if all links are gone, and with them its network
     * namespace, as its interface on the Pod network is too; "restore" if a port or link differs, or the removal of an
     * interface is not complete; undefined if all is right. An alias that differs is that of an earlier agent.
     */
    need(containerId: string, { links, ports }: FoundOnNode, isAlive: boolean): "remove" | "restore" | undefined {
        const all = this.#components.table.ofContainer(containerId);
        const present = all.filter(({ record }) => !isFunction(record) && links.has(record.hostIfName));
        if (present.length === 0 && !isAlive) return "remove";
        if (all.some(({ leaving }) => leaving !== undefined)) return "restore";
        const isRight = ({ record }: NetworkInterface): boolean => {
            const { hostIfName, isolated, vlan } = record;
            const [link, port] = [links.get(hostIfName), ports.get(hostIfName)];
            return (
                (port?.ofPort ?? -1) > 0 &&
                port?.vlan === vlan &&
                link?.up === (isolated !== true) &&
                link.group === podLinkGroup &&
                link.alias === toNetworkAlias(record)
            );
        };
        return present.every(isRight) ? undefined : "restore";
    }

    /** Completes records that were rebuilt before the allocations of this Node, or the names of its Pods, were known. */
    complete(): void {
        const { podInterfaces, pools, table } = this.#components;
        const own = new Map(podInterfaces.list().map(({ record }) => [record.containerId, record]));
        for (const { record } of table.list()) {
            const found = own.get(record.containerId);
            const { podNamespace, podName, podUid } = record.podName === "" && found !== undefined ? found : record;
            const isKnown = record.addresses.length > 0 && record.addresses.every(({ pool }) => pool !== "");
            const allocated = isKnown ? [] : (pools?.addressesFor(record) ?? []);
            if (podName === record.podName && allocated.length === 0) continue;
            const addresses = withAllocated(record.addresses, allocated);
            const network = record.network === "" ? (pools?.networkOf(record) ?? "") : record.network;
            table.put({ ...record, podNamespace, podName, podUid, addresses, network });
        }
    }

    /** The containers of ports of Pods without a record; "" for ports that name none. */
    unknownContainers(): readonly string[] {
        return [...new Set(this.#unknownPorts().map(containerOf))];
    }

    /** Deletes the ports of a container without a record; called under its lock. Rejects with OvsdbError. */
    async dropPorts(containerId: string, signal: AbortSignal): Promise<void> {
        const { ports } = this.#components;
        const stale = this.#unknownPorts().filter((port) => containerOf(port) === containerId);
        if (stale.length === 0) return;
        this.#components.logger.warn("ports of further interfaces without a record are dropped", {
            ports: stale.map(({ name }) => name),
        });
        for (const port of stale) await releaseLinkOf(port, this.#components);
        await ports.deletePorts(
            stale.map(({ name }) => name),
            signal,
        );
    }

    #unknownPorts(): readonly StoredPort[] {
        const { ports, table } = this.#components;
        const known = new Set(table.list().map(({ record }) => record.hostIfName));
        return ports.ports().filter(({ name }) => !known.has(name));
    }

    #fromLink(link: Link): NetworkRecord | undefined {
        const alias = fromNetworkAlias(link.alias);
        const { bootId } = this.#options;
        if (alias === undefined || !bootId.startsWith(alias.bootId)) return undefined;
        const addresses = withAllocated(alias.addresses, this.#components.pools?.addressesFor(alias) ?? []);
        const network = this.#components.pools?.networkOf(alias) ?? "";
        const unknown = { podNamespace: "", podName: "", network, netns: "" };
        return { ...unknown, ...alias, bootId, hostIfName: link.name, addresses };
    }
}

function containerOf({ externalIds }: StoredPort): string {
    return externalIds.get("container-id") ?? "";
}

/** The addresses of a record that was rebuilt from its link, with the settings of those that are allocated, and these besides. */
function withAllocated(
    known: readonly NetworkRecordAddress[],
    allocated: readonly NetworkRecordAddress[],
): readonly NetworkRecordAddress[] {
    const allocatedAs = ({ ip }: NetworkRecordAddress): NetworkRecordAddress | undefined =>
        allocated.find((one) => sameIp(one.ip, ip));
    const more = allocated.filter(({ ip }) => !known.some((one) => sameIp(one.ip, ip)));
    return [...known.map((one) => allocatedAs(one) ?? one), ...more];
}
