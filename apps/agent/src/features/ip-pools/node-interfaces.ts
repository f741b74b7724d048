import { sameIp } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import {
    isPoolRecord,
    type Attachment,
    type InterfaceControl,
    type NetworkInterfaceView,
    type NetworkRecord,
    type PodInterfaceView,
    type PodRecord,
} from "../../platform/pod-interfaces/index.ts";
import type { SubnetInterface } from "./ignored-annotations.ts";
import type { SubnetWired, SubnetWiring } from "./subnet-allocations.ts";
import type { InterfaceActions, PoolInterface, Wiring } from "./wiring.ts";

/** Dependencies of the wiring adapters. */
export interface NodeInterfacesComponents {
    readonly podInterfaces: PodInterfaceView;
    /** The interfaces on other networks than the Pod network; default: none. */
    readonly networks?: NetworkInterfaceView | undefined;
    readonly control: InterfaceControl;
    readonly netlink: Pick<Netlink, "link">;
}

/**
 * The interfaces of this Node with addresses of IPPools, as the reconciler of allocations uses them, including those
 * being removed. A live view: each call reads the current records.
 */
export function poolWiring(components: NodeInterfacesComponents): Wiring {
    const { podInterfaces, networks, control } = components;
    return {
        interfaces: () => [
            ...podInterfaces
                .list()
                // Includes those being removed: their allocations are in use until the port and flows are gone.
                .filter(({ record }) => isPoolRecord(record))
                .map(({ record }) => poolInterfaceOf(record)),
            ...(networks?.list() ?? []).flatMap(({ record }) => networkInterfaceOf(record)),
        ],
        find: (attachment) => {
            const own = podInterfaces.get(attachment)?.record;
            if (own !== undefined) return isPoolRecord(own) ? poolInterfaceOf(own) : undefined;
            const other = networks?.get(attachment)?.record;
            return other && networkInterfaceOf(other)[0];
        },
        isWired: (podUid, ifName) =>
            podUid !== "" &&
            [
                ...podInterfaces.list(),
                // One that was rebuilt before the allocations were known has none of its addresses yet.
                ...(networks?.list() ?? []).filter(({ record }) => record.addresses.length > 0),
            ].some(({ record }) => record.podUid === podUid && record.ifName === ifName),
        hasContainer: (containerId) => hasContainer(podInterfaces, containerId),
        otherContainerSince: (podUid, containerId) => {
            if (podUid === "") return undefined;
            const others = podInterfaces
                .list()
                .filter(
                    ({ record, addedAt }) =>
                        record.podUid === podUid &&
                        record.containerId !== containerId &&
                        Number.isFinite(addedAt) &&
                        !podInterfaces.isLeaving(record),
                );
            return others.length === 0 ? undefined : Math.min(...others.map(({ addedAt }) => addedAt));
        },
        isAdding: (containerIdOrPodUid) => control.isAdding(containerIdOrPodUid),
        isUndecided: (wired) => podInterfaces.isUndecided(wired),
        isConnected: (ip) =>
            podInterfaces.isConnected(ip) ||
            (networks?.list() ?? []).some(
                ({ record, leaving }) =>
                    leaving === undefined &&
                    record.isolated !== true &&
                    record.addresses.some((one) => one.pool !== undefined && sameIp(one.ip, ip)),
            ),
        ...isolation(components),
    };
}

/** Whether the container has an interface of this Node that is not being removed. */
export function hasContainer(
    podInterfaces: Pick<PodInterfaceView, "list" | "isLeaving">,
    containerId: string,
): boolean {
    return podInterfaces
        .list()
        .some(({ record }) => record.containerId === containerId && !podInterfaces.isLeaving(record));
}

/** Whether this agent made the interface, or is making or removing it; eth0 of a container is always its own. */
export function isOwnInterface(podInterfaces: Pick<PodInterfaceView, "get">, attachment: Attachment): boolean {
    return attachment.ifName === "eth0" || podInterfaces.get(attachment) !== undefined;
}

/**
 * The interfaces of this Node with addresses of its podCIDRs, as the check of allocations within these uses them,
 * without those being removed. A live view: each call reads the current records.
 */
export function subnetWiring(components: NodeInterfacesComponents): SubnetWiring {
    const { podInterfaces } = components;
    return {
        interfaces: () =>
            podInterfaces
                .list()
                .filter(({ record }) => !isPoolRecord(record) && !podInterfaces.isLeaving(record))
                .map(({ record }) => subnetWiredOf(record)),
        ...isolation(components),
    };
}

function isolation({ podInterfaces, networks, control, netlink }: NodeInterfacesComponents): InterfaceActions {
    return {
        exclusively: (containerId, work, signal) => control.exclusively(containerId, work, signal),
        linkExists: async (wired) => {
            const known = podInterfaces.get(wired) ?? networks?.get(wired);
            if (known === undefined) return false;
            const { containerId, hostIfName } = known.record;
            // A virtual function has no end on the Node: it is there while the container's own interface is.
            const names =
                hostIfName === ""
                    ? podInterfaces.ofContainer(containerId).map(({ record }) => record.hostIfName)
                    : [hostIfName];
            const links = await Promise.all(names.map((name) => netlink.link(name)));
            return links.some((link) => link !== undefined);
        },
        isIsolated: (wired) => podInterfaces.isIsolated(wired) || networks?.get(wired)?.record.isolated === true,
        isolate: async (wired) => {
            const known = podInterfaces.get(wired);
            // Also if it is isolated already: an earlier attempt may have failed halfway.
            if (known !== undefined) await control.isolate(known);
            const other = networks?.get(wired);
            if (other !== undefined) await control.setNetworkIsolated?.(other.record, true);
        },
        reconnect: async (wired) => {
            const known = podInterfaces.get(wired);
            if (known?.record.isolated === true) await control.reconnect(known);
            const other = networks?.get(wired);
            if (other?.record.isolated === true) await control.setNetworkIsolated?.(other.record, false);
        },
    };
}

/**
 * The current interfaces with addresses of the Node's podCIDRs whose ADD has completed, also before this start of the
 * agent.
 */
export function subnetInterfaces(podInterfaces: Pick<PodInterfaceView, "list">): readonly SubnetInterface[] {
    return podInterfaces
        .list()
        .filter(({ record, addedAt }) => !isPoolRecord(record) && Number.isFinite(addedAt))
        .map(({ record: { containerId, ifName, podNamespace, podName, podUid }, addedAt }) => ({
            containerId,
            ifName,
            podNamespace,
            podName,
            podUid,
            isRebuilt: addedAt === 0,
        }));
}

/** The current isolated interfaces, whatever the source of their addresses, without those being removed. */
export function isolatedInterfaces(
    podInterfaces: Pick<PodInterfaceView, "list" | "isIsolated" | "isLeaving">,
): readonly SubnetWired[] {
    return podInterfaces
        .list()
        .filter(({ record }) => podInterfaces.isIsolated(record) && !podInterfaces.isLeaving(record))
        .map(({ record }) => subnetWiredOf(record));
}

function subnetWiredOf({ containerId, ifName, podNamespace, podName, podUid, addresses }: PodRecord): SubnetWired {
    return { containerId, ifName, podNamespace, podName, podUid, addresses: addresses.map(({ ip }) => ip) };
}

/**
 * In the allocation of an interface whose network nothing names any more: as the name of every network that this agent
 * attaches, and of no CNI network, it has a "/".
 */
const unknownNetwork = "unknown/unknown";

/** Those of its addresses that are allocated; none for an interface without. */
function networkInterfaceOf(record: NetworkRecord): readonly PoolInterface[] {
    const { containerId, ifName, podNamespace, podName, podUid } = record;
    const network = record.network === "" ? unknownNetwork : record.network;
    const addresses = record.addresses.flatMap(({ pool, ...address }) =>
        pool === undefined ? [] : [{ ...address, pool }],
    );
    if (addresses.length === 0) return [];
    return [{ containerId, ifName, podNamespace, podName, podUid, vlan: undefined, network, addresses }];
}

function poolInterfaceOf(record: PodRecord): PoolInterface {
    const { containerId, ifName, podNamespace, podName, podUid, addresses, vlan } = record;
    return {
        containerId,
        ifName,
        podNamespace,
        podName,
        podUid,
        vlan,
        addresses: addresses.map(({ pool = "", ...address }) => ({ ...address, pool })),
    };
}
