import { type IpAllocation, type IpPool } from "@antrea/crd";
import { parseIp, parsePrefix, RangeSet, type Family } from "@antrea/ip";
import { Exclusions, poolsOf, readPodIps, readPool, statefulSetOf } from "@antrea/ipam";
import { type KubeObject, type Node, type Pod, type StatefulSet } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type World } from "../world.ts";

const podKind = kindOf("v1", "pods");
const nodeKind = kindOf("v1", "nodes");
const setKind = kindOf("apps/v1", "statefulsets");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");

/** What is not yet as it must be when all is quiet: leaks, reservations, Pods that wait in vain, and what pools say. */
export function unsettled(world: World): readonly string[] {
    const cluster = clusterOf(world);
    return [
        ...leaks(world, cluster),
        ...reservations(world, cluster),
        ...waiting(world, cluster),
        ...statuses(world, cluster),
        ...records(world),
    ];
}

interface Cluster {
    readonly pools: readonly IpPool[];
    readonly sets: readonly StatefulSet[];
    readonly nodes: readonly Node[];
    readonly usable: ReadonlyMap<string, RangeSet>;
    readonly free: ReadonlyMap<string, bigint>;
    readonly families: ReadonlyMap<string, Family>;
}

function clusterOf({ server: { store }, truth }: World): Cluster {
    const objects = <T extends KubeObject>(kind: ReturnType<typeof kindOf>): readonly T[] =>
        [...store.all(kind)].map(({ object }) => object as T);
    const pools = objects<IpPool>(poolKind);
    const nodes = objects<Node>(nodeKind);
    const read = pools.map(readPool);
    const addresses = nodes.flatMap(({ status }) => (status?.addresses ?? []).map(({ address }) => parseIp(address)));
    const podCidrs = nodes.flatMap(({ spec }) => (spec?.podCIDRs ?? []).map((text) => parsePrefix(text)));
    const exclusions = new Exclusions(
        { nodeAddresses: addresses, podCidrs, serviceCidrs: [parsePrefix("10.96.0.0/16")] },
        read,
    );
    const claimed = RangeSet.ofAddresses([...truth.claims.values()].map(({ spec }) => parseIp(spec.address)));
    const usable = new Map(read.map((pool) => [pool.name, exclusions.usable(pool)]));
    return {
        ...{ pools, nodes, usable, sets: objects<StatefulSet>(setKind) },
        free: new Map([...usable].map(([name, set]) => [name, set.subtract(claimed).size])),
        families: new Map(read.map(({ name, family }) => [name, family])),
    };
}

/** Every claim has an owner that uses or wants it. */
function* leaks({ truth, stations, server: { store } }: World, { pools, sets, nodes }: Cluster): Iterable<string> {
    const waitingPods = new Set(stations.flatMap(({ kubelet }) => kubelet.waiting));
    const isWaiting = (uid: string): boolean => waitingPods.has(uid);
    const isThere = new Set(pools.map(({ metadata }) => metadata?.name ?? ""));
    const lacksOther = (uid: string): boolean =>
        [...store.all(podKind)].some(
            ({ object: { metadata } }) =>
                metadata?.uid === uid &&
                (poolsOf(metadata.annotations, undefined)?.names ?? []).some((name) => !isThere.has(name)),
        );
    for (const [name, { spec }] of truth.claims) {
        if (spec.pod !== undefined) {
            const isUsed = truth.usersOf(name).some(({ podUid }) => podUid === spec.pod?.uid);
            // Kept for its Pod, which waits: for the address of the other family, or for a pool that was deleted.
            const lacksPool = pools.every(({ metadata }) => metadata?.name !== spec.pool);
            const isOfSet = spec.owner.kind === "StatefulSet" && sets.some((set) => wants(set, spec));
            const isTried = isWaiting(spec.pod.uid) && (isOfSet || lacksPool || lacksOther(spec.pod.uid));
            if (!isUsed && !isTried) yield `claim ${name} is Allocated and not used: ${JSON.stringify(spec)}`;
            continue;
        }
        const { kind, namespace, name: owner } = spec.owner;
        const isWanted =
            kind === "Node"
                ? nodes.some(({ metadata }) => metadata?.name === owner)
                : sets.some(({ metadata }) => metadata?.namespace === namespace && metadata?.name === owner) &&
                  sets.some((set) => wants(set, spec));
        if (!isWanted) yield `claim ${name} is Reserved and nobody wants it: ${JSON.stringify(spec)}`;
    }
}

function wants(set: StatefulSet, claim: IpAllocation["spec"]): boolean {
    const { metadata, spec } = set;
    const { start, end } = ordinalsOf(set);
    const { owner } = claim;
    if (metadata?.name !== owner.name || metadata?.deletionTimestamp !== undefined) return false;
    const named = poolsOf(spec?.template.metadata?.annotations, undefined)?.names ?? [];
    return owner.index !== undefined && owner.index >= start && owner.index < end && named.includes(claim.pool);
}

function ordinalsOf({ spec }: StatefulSet): { readonly start: number; readonly end: number } {
    const start = spec?.ordinals?.start ?? 0;
    return { start, end: start + (spec?.replicas ?? 1) };
}

/** Every ordinal has an address of each family, or there is none left. */
function* reservations({ truth }: World, { sets, families, free }: Cluster): Iterable<string> {
    for (const set of sets) {
        const { metadata, spec } = set;
        const annotations = spec?.template.metadata?.annotations;
        const names = poolsOf(annotations, undefined)?.names ?? [];
        if (
            names.length === 0 ||
            names.some((name) => !families.has(name)) ||
            metadata?.deletionTimestamp !== undefined
        )
            continue;
        const wanted = new Set(names.map((name) => families.get(name)));
        const isFull = [...wanted].some((family) =>
            names.filter((name) => families.get(name) === family).every((name) => (free.get(name) ?? 0n) === 0n),
        );
        const { start, end } = ordinalsOf(set);
        for (let ordinal = start; ordinal < end; ordinal += 1) {
            const held = [...truth.claims.values()].filter(
                ({ spec: { owner, pool } }) =>
                    owner.kind === "StatefulSet" &&
                    owner.name === metadata?.name &&
                    owner.index === ordinal &&
                    // A Pod that outlived an earlier set of the name may have one of another pool.
                    names.includes(pool),
            );
            const has = new Set(held.map(({ spec: { address } }) => parseIp(address).family));
            if (held.length > wanted.size) yield `ordinal ${ordinal} of ${metadata?.name} has ${held.length} claims`;
            if (has.size > 0 && has.size < wanted.size && !isHalfForGood(held, isFull))
                yield `ordinal ${ordinal} of ${metadata?.name} has half of its addresses`;
            if (has.size === 0 && !isFull)
                yield `ordinal ${ordinal} of ${metadata?.name} has no address, and there are free ones`;
        }
    }
}

/**
 * One family of an ordinal is kept although the other has none left, once a Pod has tried with it: libs/ipam takes it for
 * an address that was in use.
 */
function isHalfForGood(held: readonly IpAllocation[], isFull: boolean): boolean {
    return isFull && held.some(({ metadata }) => (metadata?.generation ?? 1) > 1);
}

/** A Pod waits only when there is a reason. */
function* waiting(world: World, { free, families, usable }: Cluster): Iterable<string> {
    const pods = new Map(
        [...world.server.store.all(podKind)].map(({ object }) => [object.metadata?.uid ?? "", object as Pod]),
    );
    for (const { kubelet, machine } of world.stations) {
        for (const uid of kubelet.waiting) {
            const pod = pods.get(uid);
            if (pod === undefined || pod.metadata?.deletionTimestamp !== undefined) {
                if (pod !== undefined) yield `Pod ${pod.metadata?.name} does not end on ${machine.name}`;
                continue;
            }
            const { annotations, name = "", ownerReferences = [] } = pod.metadata ?? {};
            const names = poolsOf(annotations, undefined)?.names ?? [];
            if (names.some((pool) => !families.has(pool))) continue;
            if (readPodIps(annotations?.["ipam.antrea.io/pod-ips"] ?? "").ips.length > 0) continue;
            // An ordinal without reservation is told above.
            if (statefulSetOf({ name, ownerReferences }) !== undefined) {
                const has = [...world.truth.claims.values()].filter(
                    ({ spec: { owner } }) => owner.kind === "StatefulSet" && `${owner.name}-${owner.index}` === name,
                );
                const wanted = new Set(names.map((pool) => families.get(pool)));
                // Outside the ranges of today its Pod cannot have it, and is told so.
                const isInside = ({ spec }: IpAllocation): boolean =>
                    usable.get(spec.pool)?.has(parseIp(spec.address)) === true;
                const isHeld =
                    has.length >= wanted.size && has.every((claim) => claim.spec.pod === undefined && isInside(claim));
                if (isHeld) yield `Pod ${name} waits on ${machine.name} although its address is reserved`;
                continue;
            }
            const isFull = [...new Set(names.map((pool) => families.get(pool)))].some((family) =>
                names.filter((pool) => families.get(pool) === family).every((pool) => (free.get(pool) ?? 0n) === 0n),
            );
            if (!isFull)
                yield `Pod ${name} waits on ${machine.name} although there are free addresses in ${names.join()}`;
        }
    }
}

/** The controller counts right. */
function* statuses({ truth }: World, { pools, usable, free }: Cluster): Iterable<string> {
    for (const { metadata, status } of pools) {
        const name = metadata?.name ?? "";
        const claimed = [...truth.claims.values()].filter(
            ({ spec }) => usable.get(name)?.has(parseIp(spec.address)) === true,
        );
        const used = claimed.filter(({ spec }) => spec.pod !== undefined).length;
        const right = {
            total: Number(usable.get(name)?.size ?? 0),
            used,
            reserved: claimed.length - used,
            free: Number(free.get(name) ?? 0),
        };
        const { total, used: told, reserved, free: left } = status?.usage ?? {};
        if (JSON.stringify({ total, used: told, reserved, free: left }) !== JSON.stringify(right)) {
            yield `IPPool ${name} says ${JSON.stringify(status?.usage)}, and it is ${JSON.stringify(right)}`;
        }
    }
}

/** No port and no flow stands for a container that is gone. */
function* records({ stations }: World): Iterable<string> {
    for (const { machine } of stations) {
        if (!machine.isOn) continue;
        for (const { name, externalIds } of machine.ports.values()) {
            const container = externalIds.get("container-id") ?? "";
            if (!machine.netns.has(`/run/netns/${container}`))
                yield `port ${name} of ${machine.name} is left of ${container}`;
        }
        for (const owner of machine.flows.keys()) {
            if (!machine.netns.has(`/run/netns/${owner.split("/")[1]}`))
                yield `flows of ${owner} are left on ${machine.name}`;
        }
    }
}
