import { allocationName, podIpsAnnotation, type IpAllocation } from "@antrea/crd";
import { parseIp, type Family, type IpAddress } from "@antrea/ip";
import { isOutOfService, readPodIps, statefulSetOf } from "@antrea/ipam";
import { type Node, type Pod } from "@antrea/kube";
import { nodePrefixes } from "../cluster/controller.ts";
import { type Kubelet } from "../cluster/kubelet.ts";
import { mirroredHash } from "../cluster/mirror-pods.ts";
import { type SimulatedCluster } from "../simulated-cluster.ts";
import { type Station } from "../station.ts";
import { ClusterObjects, familyOf, ordinalsOf } from "./cluster-objects.ts";
import { type ForeignSubnets } from "./foreign-subnets.ts";
import { isWantedOnInterface, leftPorts, mayWaitForNetworks, unconnected } from "./settled-networks.ts";
import { type Truth } from "./truth.ts";

/**
 * What is wrong although all is quiet: leaks, reservations, Pods that wait without a reason, and the status of pools.
 */
export function unsettled(cluster: SimulatedCluster): readonly string[] {
    const objects = new ClusterObjects(cluster);
    const unbuilt = unbuiltNodes(cluster, objects);
    const built = cluster.stations.filter(({ machine }) => !unbuilt.has(machine.name));
    return [
        ...faults(cluster),
        ...leaks(cluster, objects, unbuilt),
        ...reservations(cluster, objects),
        ...waiting(cluster, objects),
        ...statuses(objects),
        ...subnets(cluster, objects),
        ...cluster.checks.gateways.unsettled((pool, ip) => objects.pools.get(pool.name)?.usable.has(ip) === true),
        ...records(built),
        ...traffic(built, cluster, objects),
        ...cluster.checks.subnetUsers.unsettled(built),
        ...setUps(built, cluster, objects),
        ...unconnected(built, (running) => isDisconnected(cluster, objects, running)),
        ...tokens(cluster),
    ];
}

/**
 * All faults on Nodes have ended; otherwise the checks below would fail because of a fault that the simulation left
 * active.
 */
function* faults({ stations, modes }: SimulatedCluster): Iterable<string> {
    for (const { agent, machine, isCut, isKubeletCut, isRefused } of stations) {
        const isSwitched = agent?.isKilled === false && agent.attachesNetworks !== modes.usesNetworks;
        if (isCut || isKubeletCut || isRefused || isSwitched)
            yield `the simulation did not end what it did to ${machine.name}`;
    }
}

/** Every allocation has an owner that uses or needs it. */
function* leaks(cluster: SimulatedCluster, objects: ClusterObjects, unbuilt: ReadonlySet<string>): Iterable<string> {
    const { truth, stations } = cluster;
    const waitingPods = new Set(stations.flatMap(({ kubelet }) => kubelet.waiting));
    const running = stations.flatMap(({ kubelet }) => kubelet.running);
    const isolated = new Set(
        running.filter((one) => isDisconnected(cluster, objects, one)).map(({ uid, ifName }) => `${uid}/${ifName}`),
    );
    const idleNodes = new Set(objects.nodes.filter((node) => !hasSubnet(node)).map(({ metadata }) => metadata?.name));
    const outOfService = new Set(objects.nodes.filter(isOutOfService).map(({ metadata }) => metadata?.name));
    // A Pod's addresses are not checked before its Node wires Pods and all its pools exist; those of another machine's
    // Pods of this name are not before this one has had a subnet.
    const isHeldUp = ({ uid, nodeName }: { readonly uid: string; readonly nodeName: string }): boolean => {
        if (unbuilt.has(nodeName)) return true;
        const pod = objects.pods.get(uid);
        if (pod === undefined) return false;
        // Kubernetes does not evict static Pods: they exist until the Node is deleted.
        if (mirroredHash(pod) === uid && outOfService.has(nodeName)) return true;
        if (!waitingPods.has(uid)) return false;
        if (mayWaitForNetworks(cluster, objects, pod)) return true;
        // Its pool may have lost the address while no webhook was configured.
        if (requestedIps(pod).length > 0) return true;
        return idleNodes.has(pod.spec?.nodeName) || objects.poolsOfPod(pod).some((name) => !objects.isThere(name));
    };
    for (const [name, allocation] of objects.allocations) {
        const { spec } = allocation;
        if (spec.pod !== undefined) {
            const isUsed = truth.usersOf(name).some(({ podUid }) => podUid === spec.pod?.uid);
            if (!isUsed && !isHeldUp(spec.pod) && !isolated.has(`${spec.pod.uid}/${spec.pod.interface}`))
                yield `allocation ${name} is Allocated and not used: ${text(allocation)}`;
        } else if (!isWanted(allocation, objects)) {
            yield `allocation ${name} is Reserved and nobody wants it: ${text(allocation)}`;
        }
    }
}

/**
 * Nodes without a subnet, with an event about it, whose agents have no recorded one, as the OVS database was lost:
 * they wait, and have configured nothing. `subnets` checks that no Node waits while a subnet is free.
 */
function unbuiltNodes({ stations }: SimulatedCluster, { nodes }: ClusterObjects): ReadonlySet<string> {
    const idle = new Set(nodes.filter((node) => !hasSubnet(node)).map(({ metadata }) => metadata?.name));
    const unbuilt = stations.filter(({ machine }) => idle.has(machine.name) && machine.remembered === undefined);
    return new Set(unbuilt.map(({ machine }) => machine.name));
}

function isWanted(allocation: IpAllocation, objects: ClusterObjects): boolean {
    const { kind, namespace, name, index } = allocation.spec.owner;
    if (kind === "Node") return objects.nodes.some(({ metadata }) => metadata?.name === name);
    if (kind === "Gateway") {
        const { value } = parseIp(allocation.spec.address);
        return [...objects.pools.values()].some(({ pool }) => pool.gateways.some(({ ip }) => ip.value === value));
    }
    if (allocation.spec.owner.interface !== undefined) return isWantedOnInterface(allocation, objects);
    const set = objects.setOf(namespace, name);
    if (set === undefined || !objects.isOrdinalOf(set, index ?? -1)) return false;
    const isListed = objects.poolsOfSet(set).includes(allocation.spec.pool);
    return isListed && (!objects.isThere(allocation.spec.pool) || objects.isInside(allocation));
}

/** Every ordinal has an address of each family, unless none is left. */
function* reservations({ checks: { sticky } }: SimulatedCluster, objects: ClusterObjects): Iterable<string> {
    for (const set of objects.sets) {
        const names = objects.poolsOfSet(set);
        const { name, deletionTimestamp } = set.metadata ?? {};
        if (names.length === 0 || names.some((pool) => !objects.isThere(pool)) || deletionTimestamp !== undefined)
            continue;
        const wanted = objects.families(names);
        const { start, end } = ordinalsOf(set);
        for (let ordinal = start; ordinal < end; ordinal += 1) {
            const held = objects.ofOrdinal(set, ordinal);
            const has = new Set([...held, ...objects.keptByOrdinal(set, ordinal)].map(familyOf));
            const which = `ordinal ${ordinal} of ${name}`;
            // A Pod keeps its addresses, also of a family that its recreated pools lack.
            const kept = held.filter(
                (allocation) => allocation.spec.pod === undefined || wanted.has(familyOf(allocation)),
            );
            if (kept.length > wanted.size) yield `${which} has ${kept.length} allocations`;
            const lacking = [...wanted].filter((family) => !has.has(family));
            if (lacking.length === 0) continue;
            if (!lacking.some((family) => objects.isFull(names, family)))
                yield `${which} lacks IPv${lacking.join(" and IPv")}, and there are free addresses`;
            // A Pod that outlived an earlier StatefulSet of the name, with fewer pools, keeps its own until it ends.
            else if (held.some((allocation) => allocation.spec.pod === undefined && !sticky.wasUsed(allocation)))
                yield `${which} has half of its addresses, which it never used`;
        }
    }
}

/** A Pod waits only for a reason. */
function* waiting(cluster: SimulatedCluster, objects: ClusterObjects): Iterable<string> {
    const { stations } = cluster;
    for (const { kubelet, machine } of stations) {
        const node = objects.nodes.find(({ metadata }) => metadata?.name === machine.name);
        // Its agent waits, and its Pods with it.
        if (node !== undefined && !hasSubnet(node)) continue;
        for (const uid of kubelet.waiting) {
            const pod = objects.pods.get(uid);
            if (pod === undefined) continue;
            const why =
                pod.metadata?.deletionTimestamp === undefined
                    ? noReason(cluster, objects, pod)
                    : "although it is to end";
            if (why !== undefined) yield `Pod ${pod.metadata?.name} waits on ${machine.name} ${why}`;
        }
    }
}

/** Why the Pod should not wait; undefined if it has to. */
function noReason(cluster: SimulatedCluster, objects: ClusterObjects, pod: Pod): string | undefined {
    const { isBridged } = cluster.modes;
    if (mayWaitForNetworks(cluster, objects, pod)) return undefined;
    const { name = "", ownerReferences = [] } = pod.metadata ?? {};
    const names = objects.poolsOfPod(pod);
    if (names.some((pool) => !objects.isThere(pool))) return undefined;
    if (requestedIps(pod).length > 0) return undefined;
    const families = [...objects.families(names)];
    // An interface can be in only one of two VLANs.
    const vlans = (family: Family): readonly number[] =>
        objects.vlansOf(names, family).filter((vlan) => isBridged || vlan !== 0);
    if (vlans(4).some((one) => vlans(6).some((other) => one !== other))) return undefined;
    const place = statefulSetOf({ name, ownerReferences });
    if (place === undefined) {
        const isFull = families.some((family) => objects.isFull(names, family));
        return isFull ? undefined : `although there are free addresses in ${names.join()}`;
    }
    // An ordinal without a reservation is reported separately.
    const set = objects.sets.find(({ metadata }) => metadata?.uid === place.uid);
    const held = set === undefined ? [] : objects.ofOrdinal(set, place.ordinal);
    const canBeHad = held.filter(
        (allocation) => allocation.spec.pod === undefined && names.includes(allocation.spec.pool),
    );
    const isHeld = families.every((family) => canBeHad.some((allocation) => familyOf(allocation) === family));
    return isHeld ? "although its addresses are reserved" : undefined;
}

function requestedIps({ metadata }: Pod): readonly unknown[] {
    return readPodIps(metadata?.annotations?.[podIpsAnnotation] ?? "").ips;
}

/** Nodes have subnets as long as any are free. */
function* subnets(cluster: SimulatedCluster, { nodes }: ClusterObjects): Iterable<string> {
    const without = nodes.filter((node) => !hasSubnet(node)).map(({ metadata }) => metadata?.name ?? "");
    if (without.length > 0 && nodePrefixes.some((prefix) => cluster.checks.subnets.isFree(prefix)))
        yield `${without.join()} have no subnet, and there are free ones`;
}

function hasSubnet({ spec }: Node): boolean {
    return (spec?.podCIDRs ?? []).length > 0;
}

/** The controller's counts are correct. */
function* statuses(objects: ClusterObjects): Iterable<string> {
    for (const [name, { object, usable, free }] of objects.pools) {
        const claimed = [...objects.allocations.values()].filter(({ spec }) => usable.has(parseIp(spec.address)));
        const used = claimed.filter(({ spec }) => spec.pod !== undefined).length;
        const right = { total: Number(usable.size), used, reserved: claimed.length - used, free: Number(free.size) };
        const { total, used: reported, reserved, free: left } = object.status?.usage ?? {};
        if (JSON.stringify({ total, used: reported, reserved, free: left }) !== JSON.stringify(right)) {
            yield `the status of IPPool ${name} has ${JSON.stringify(object.status?.usage)}, not ${JSON.stringify(right)}`;
        }
    }
}

/** No port and no flow exists for a removed container. */
function* records(stations: readonly Station[]): Iterable<string> {
    for (const station of stations) {
        const { machine } = station;
        if (!machine.isOn) continue;
        for (const { name, externalIds } of machine.ports.values()) {
            // Gateway and tunnel belong to no container.
            if (["gateway", "tunnel"].includes(externalIds.get("antrea-type") ?? "")) continue;
            const container = externalIds.get("container-id") ?? "";
            if (!machine.netns.has(`/run/netns/${container}`))
                yield `port ${name} of ${machine.name} is left of ${container}`;
        }
        yield* leftPorts(station);
        for (const owner of machine.flows.keys()) {
            // Flows of a VLAN belong to no container.
            if (owner.startsWith("pod/") && !machine.netns.has(`/run/netns/${owner.split("/")[1]}`))
                yield `flows of ${owner} are left on ${machine.name}`;
        }
    }
}

/** Every container is reachable at the addresses that its ADD returned. */
function* traffic(stations: readonly Station[], cluster: SimulatedCluster, objects: ClusterObjects): Iterable<string> {
    const { truth, checks } = cluster;
    const { foreignSubnets } = checks;
    for (const { kubelet, machine } of stations) {
        for (const running of kubelet.running) {
            if (isDisconnected(cluster, objects, running) || isAnothers(truth, foreignSubnets, running, machine.name))
                continue;
            const { container, ifName, addresses } = running;
            for (const address of addresses) {
                const users = truth.usersOf(allocationName(parseIp(address)));
                if (!users.some((user) => user.id === container && user.ifName === ifName))
                    yield `${ifName} of container ${container} on ${machine.name} has ${address} and no traffic`;
            }
        }
    }
}

/** Every agent with a valid token reports it as valid. */
function* tokens({ stations }: SimulatedCluster): Iterable<string> {
    for (const { machine, agent } of stations)
        if (agent?.isKilled === false && agent.tokenProblem !== undefined)
            yield `the agent of ${machine.name} reports that ${agent.tokenProblem}`;
}

/** Every Pod is configured as its pool specifies now, or has an event that it is not. */
function* setUps(stations: readonly Station[], cluster: SimulatedCluster, objects: ClusterObjects): Iterable<string> {
    const { truth, checks } = cluster;
    const { foreignSubnets, wirings } = checks;
    for (const { kubelet, machine } of stations) {
        for (const running of kubelet.running) {
            const container = machine.netns.get(`/run/netns/${running.container}`)?.container;
            const setUp = machine.setUpOf(running.container, running.ifName);
            if (container === undefined || setUp === undefined || isDisconnected(cluster, objects, running)) continue;
            if (!isAnothers(truth, foreignSubnets, running, machine.name)) yield* wirings.unsettled(container, setUp);
        }
    }
}

/** It has no traffic, as another has one of its addresses, or as the owner of one cannot be determined. */
function isDisconnected(
    { stations, truth, checks: { isolations } }: SimulatedCluster,
    { allocations, pools }: ClusterObjects,
    running: Kubelet["running"][number],
): boolean {
    if (isIsolated(truth, running)) return true;
    const path = `/run/netns/${running.container}`;
    const machine = stations.map((station) => station.machine).find(({ netns }) => netns.has(path));
    const container = machine?.netns.get(path)?.container;
    if (container === undefined || machine?.isIsolated(running.container, running.ifName) !== true) return false;
    const isFree = (ip: IpAddress): boolean =>
        !allocations.has(allocationName(ip)) &&
        ![...pools.values()].some(({ pool }) => pool.subnetOf(ip) !== undefined);
    return running.addresses.map(parseIp).some((ip) => isFree(ip) && isolations.mayStay(container, ip));
}

/**
 * One of its addresses was force-released and allocated or reserved for another, or for another interface of its Pod: none of
 * its addresses has flows.
 */
function isIsolated({ allocations }: Truth, { uid, ifName, addresses }: Kubelet["running"][number]): boolean {
    return addresses.some((address) => {
        const allocation = allocations.get(allocationName(parseIp(address)));
        return (
            allocation !== undefined && (allocation.spec.pod?.uid !== uid || allocation.spec.pod.interface !== ifName)
        );
    });
}

/**
 * One of its addresses has no allocation and is in another Node's subnet, as after its pool was force-deleted with
 * its allocations, and recreated when a Node had got the subnet: it has no flows, which ForeignSubnets checks, and an
 * event reports it.
 */
function isAnothers(
    { allocations }: Truth,
    foreignSubnets: ForeignSubnets,
    { addresses }: Kubelet["running"][number],
    node: string,
): boolean {
    return addresses.some(
        (address) =>
            !allocations.has(allocationName(parseIp(address))) && foreignSubnets.holderOf(address, node) !== undefined,
    );
}

function text({ spec }: IpAllocation): string {
    return JSON.stringify(spec);
}
