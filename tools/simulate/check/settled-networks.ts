import { allocationName, type IpAllocation } from "@antrea/crd";
import { RangeSet } from "@antrea/ip";
import { type Pod } from "@antrea/kube";
import { statefulSetOf } from "@antrea/ipam";
import { type Network, type Selection } from "../cluster/network-objects.ts";
import { type SimulatedCluster } from "../simulated-cluster.ts";
import { type Station } from "../station.ts";
import { type ClusterObjects } from "./cluster-objects.ts";

/** Whether the Pod may wait because of the networks that it requests. */
export function mayWaitForNetworks({ modes }: SimulatedCluster, objects: ClusterObjects, pod: Pod): boolean {
    const { attacher, hasNetworks } = modes;
    const selections = objects.selectionsOf(pod.metadata?.annotations);
    if (selections.length === 0 || (attacher === "antrea" && !hasNetworks)) return false;
    const requested = selections.map((selection) => ({
        ...selection,
        is: objects.networks.get(selection.network),
    }));
    if (requested.some(({ is }) => is === undefined)) return true;
    const attached = requested.filter(({ is }) => attacher === "meta plugin" || is?.type === "antrea");
    return (
        attached.some(({ ip, is }) => ip !== undefined || (is !== undefined && cannotWork(is, hasNetworks, objects))) ||
        isShort(pod, attached, objects)
    );
}

function cannotWork({ type, vlan, pools }: Network, hasNetworks: boolean, objects: ClusterObjects): boolean {
    if (pools.some((pool) => !objects.isThere(pool))) return true;
    if (type !== "antrea") return false;
    const vlans = new Set(([4, 6] as const).flatMap((family) => objects.vlansOf(pools, family)));
    return !hasNetworks || (vlan === 0 && vlans.size > 1);
}

/**
 * There is not a free address for each interface, as IPPools may overlap, or those kept for the ordinal are in use. The address
 * of an ordinal's own interface is not looked for: it is reserved, or the Pod waits for that.
 */
function isShort(
    pod: Pod,
    selections: readonly (Selection & { readonly is: Network | undefined })[],
    objects: ClusterObjects,
): boolean {
    const { name = "", namespace = "", uid, ownerReferences = [] } = pod.metadata ?? {};
    const place = statefulSetOf({ name, ownerReferences });
    const wanted = place === undefined ? freeForOwnInterface(pod, objects) : [];
    let isHeld = false;
    for (const { ifName, is } of selections) {
        for (const pool of is?.pools ?? []) {
            const kept = [...objects.allocations.values()].filter(
                ({ spec: { owner, pool: of } }) =>
                    place !== undefined &&
                    of === pool &&
                    owner.kind === "StatefulSet" &&
                    owner.namespace === namespace &&
                    owner.name === place.name &&
                    owner.index === place.ordinal &&
                    owner.interface === ifName,
            );
            isHeld ||= kept.some(({ spec }) => spec.pod !== undefined && spec.pod.uid !== uid);
            if (!kept.some((allocation) => objects.isInside(allocation)))
                wanted.push(objects.pools.get(pool)?.free ?? RangeSet.empty);
        }
    }
    return isHeld || !canEachHaveOne(wanted);
}

/** Of each family the free addresses of the pool from which the Pod's own interface gets one: the first that has any. */
function freeForOwnInterface(pod: Pod, objects: ClusterObjects): RangeSet[] {
    const names = objects.poolsOfPod(pod);
    return [...objects.families(names)].map((family) => {
        const pools = names.flatMap((name) => objects.pools.get(name) ?? []);
        const free = pools.filter((one) => one.pool.family === family).map((one) => one.free);
        return free.find((addresses) => !addresses.isEmpty) ?? RangeSet.empty;
    });
}

/** Whether a different address can be taken from each of these sets. */
function canEachHaveOne(sets: readonly RangeSet[]): boolean {
    // Of each set as many addresses as there are sets are enough.
    const addresses = sets.map((set) =>
        Array.from({ length: Math.min(sets.length, Number(set.size)) }, (_, at) => allocationName(set.at(BigInt(at)))),
    );
    const takers = new Map<string, number>();
    /** Takes an address for this set, for which others may have to change theirs; none in `tried`. */
    const take = (taker: number, tried: Set<string>): boolean => {
        for (const address of addresses[taker] ?? []) {
            if (tried.has(address)) continue;
            tried.add(address);
            const other = takers.get(address);
            if (other !== undefined && !take(other, tried)) continue;
            takers.set(address, taker);
            return true;
        }
        return false;
    };
    return sets.every((_, taker) => take(taker, new Set()));
}

/** Whether a reserved address for an interface of an ordinal is still needed. */
export function isWantedOnInterface({ spec }: IpAllocation, objects: ClusterObjects): boolean {
    const { namespace, name, index = -1, interface: ifName = "" } = spec.owner;
    const set = objects.setOf(namespace, name);
    if (set === undefined || !objects.isOrdinalOf(set, index)) return false;
    const selections = objects.selectionsOf(set.spec?.template.metadata?.annotations);
    const isInUse = [...objects.allocations.values()].some(
        ({ spec: { owner, pod } }) =>
            pod !== undefined &&
            owner.namespace === namespace &&
            owner.name === name &&
            owner.index === index &&
            owner.interface === ifName,
    );
    // Of an ordinal whose Pod has other addresses it is a remainder.
    // Multus gives such names to networks of its own settings too.
    const isOfMultus = selections.length > 0 && /^net\d+$/.test(ifName);
    return (isOfMultus || selections.some((one) => one.ifName === ifName)) && !isInUse;
}

/** Each interface that an agent made is connected, unless another Pod has one of its addresses. */
export function* unconnected(
    stations: readonly Station[],
    isIsolated: (running: Station["kubelet"]["running"][number]) => boolean,
): Iterable<string> {
    for (const { kubelet, machine, agent } of stations) {
        for (const running of kubelet.running) {
            const { container, ifName, addresses } = running;
            const netns = machine.netns.get(`/run/netns/${container}`);
            if (ifName === "eth0" || netns?.ofOthers.has(ifName) === true || isIsolated(running)) continue;
            if (agent?.attachesNetworks !== true && addresses.length === 0) continue;
            const end = netns?.ends.get(ifName);
            const ports = [...machine.switches.values()].flatMap((one) => [...one.ports.keys()]);
            if (end === undefined) yield `container ${container} on ${machine.name} has lost its interface ${ifName}`;
            else if (machine.links.get(end.hostIfName)?.up !== true || !ports.includes(end.hostIfName))
                yield `interface ${ifName} of container ${container} on ${machine.name} is not connected`;
        }
    }
}

/** Ports of removed containers in the bridges for networks. */
export function* leftPorts({ machine }: Station): Iterable<string> {
    for (const [bridge, { ports }] of machine.switches) {
        for (const { name, externalIds } of ports.values()) {
            const container = externalIds["container-id"] ?? "";
            if (!machine.netns.has(`/run/netns/${container}`))
                yield `port ${name} of bridge ${bridge} of ${machine.name} is left of ${container}`;
        }
    }
}
