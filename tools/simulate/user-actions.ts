import { forceDeleteAnnotation, podIpsAnnotation, poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { type KubeObject } from "@antrea/kube";
import { kindOf } from "./api/server.ts";
import { isOfAnotherPlugin } from "./check/truth.ts";
import { withNetworks } from "./network-requests.ts";
import { deploymentsOf, podsOf, poolsOf, setsOf } from "./objects.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";
import { type Station } from "./station.ts";

/** What users do with workloads and allocations; pools.ts and tenants.ts have pools and Namespaces. */

const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");

/** The first names no pools. */
export const namespaces = ["default", "team-0", "team-1"] as const;

/** Sends a user's request. Undefined: it was rejected. */
export function send(
    cluster: SimulatedCluster,
    method: "POST" | "PATCH" | "DELETE",
    path: string,
    body?: unknown,
): Promise<unknown> {
    return cluster.request({ method, path, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

async function scale(
    cluster: SimulatedCluster,
    workload: KubeObject | undefined,
    plural: string,
    replicas: number,
): Promise<void> {
    if (workload !== undefined) await send(cluster, "PATCH", pathOf(workload, plural), { spec: { replicas } });
}

/** What Pods and StatefulSets request: mostly one pool, often one of each family, sometimes several or none. */
export function poolAnnotations(
    cluster: SimulatedCluster,
    random: Random,
): Readonly<Record<string, string>> | undefined {
    const pools = poolsOf(cluster);
    if (random.chance(0.08)) return undefined;
    const one = random.pick(pools);
    const other = random.chance(0.4) ? random.pick(pools) : undefined;
    const names = [one, other].flatMap((pool) => pool?.metadata?.name ?? []);
    return {
        [poolsAnnotation]: names.length === 0 ? "pool-0" : [...new Set(names)].join(","),
    };
}

function fixedIn(
    cluster: SimulatedCluster,
    random: Random,
    annotations: Readonly<Record<string, string>>,
): string | undefined {
    const pool = poolsOf(cluster).find(({ metadata }) => metadata?.name === annotations[poolsAnnotation]);
    const range = random.pick(pool?.spec.ipRanges ?? []);
    return random.chance(0.5) ? range?.start : range?.end;
}

/** Creates one to four Pods. */
export async function createPods(cluster: SimulatedCluster, random: Random): Promise<void> {
    for (let left = 1 + random.below(4); left > 0; left -= 1) {
        await createPod(cluster, random, {
            namespace: namespaceOf(random),
            name: `web-${random.below(12)}`,
        });
    }
}

interface Name {
    readonly namespace: string;
    readonly name: string;
}

function namespaceOf(random: Random): string {
    return random.pick(namespaces) ?? "";
}

/** `pool`: the one that it names; default any. */
export async function createPod(
    cluster: SimulatedCluster,
    random: Random,
    { namespace, name }: Name,
    pool?: string,
): Promise<void> {
    const nodeName = cluster.workloads.schedule();
    if (nodeName === undefined) return;
    const annotations =
        pool === undefined ? annotationsOf(cluster, random, namespace, "pod") : { [poolsAnnotation]: pool };
    const metadata = { name, namespace, ...(annotations && { annotations }) };
    const body = {
        apiVersion: "v1",
        kind: "Pod",
        metadata,
        spec: { nodeName, containers: [] },
    };
    await send(cluster, "POST", `/api/v1/namespaces/${namespace}/pods`, body);
}

/** Pools by its own annotation, or often by the Namespace's; occasionally a requested address. */
function annotationsOf(
    cluster: SimulatedCluster,
    random: Random,
    namespace: string,
    kind: "pod" | "deployment",
): Readonly<Record<string, string>> | undefined {
    const isInherited = namespace !== "default" && random.chance(0.7);
    if (isInherited) cluster.counters.count(`${kind}.ofNamespace`);
    const annotations = isInherited ? undefined : poolAnnotations(cluster, random);
    const fixed = annotations !== undefined && random.chance(0.15) ? fixedIn(cluster, random, annotations) : undefined;
    if (fixed === undefined) return withNetworks(cluster, random, annotations);
    cluster.counters.count(`${kind}.fixed`);
    return withNetworks(cluster, random, { ...annotations, [podIpsAnnotation]: fixed });
}

/** Deletes one to three Pods. */
export async function deletePods(
    cluster: SimulatedCluster,
    random: Random,
    gracePeriodSeconds: number | undefined,
): Promise<void> {
    for (let left = 1 + random.below(3); left > 0; left -= 1) {
        const pod = random.pick(podsOf(cluster));
        if (pod !== undefined) await send(cluster, "DELETE", pathOf(pod, "pods"), { gracePeriodSeconds });
    }
}

/** Recreates a Pod immediately under the same name: another Pod. */
export async function recreatePod(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pod = random.pick(podsOf(cluster).filter(({ metadata }) => metadata?.name?.startsWith("web-")));
    const { name = "", namespace = "" } = pod?.metadata ?? {};
    if (pod === undefined) return;
    await send(cluster, "DELETE", pathOf(pod, "pods"), { gracePeriodSeconds: 0 });
    await createPod(cluster, random, { namespace, name });
}

function templateOf(name: string, annotations: Readonly<Record<string, string>> | undefined): unknown {
    return {
        metadata: { labels: { app: name }, ...(annotations && { annotations }) },
        spec: { containers: [] },
    };
}

interface Workload {
    readonly namespace: string;
    readonly name: string;
    /** Of its Pods. */
    readonly annotations: Readonly<Record<string, string>> | undefined;
    readonly spec: object;
}

async function createWorkload(
    cluster: SimulatedCluster,
    kind: "Deployment" | "StatefulSet",
    { namespace, name, annotations, spec }: Workload,
): Promise<void> {
    const body = {
        apiVersion: "apps/v1",
        kind,
        metadata: { name, namespace },
        spec: { ...spec, selector: { matchLabels: { app: name } }, template: templateOf(name, annotations) },
    };
    await send(cluster, "POST", `/apis/apps/v1/namespaces/${namespace}/${kind.toLowerCase()}s`, body);
}

/** Creates a Deployment. */
export async function createDeployment(cluster: SimulatedCluster, random: Random): Promise<void> {
    const [name, namespace] = [`dep-${random.below(3)}`, namespaceOf(random)];
    const annotations = annotationsOf(cluster, random, namespace, "deployment");
    const replicas = annotations?.[podIpsAnnotation] === undefined ? random.below(4) : 1;
    const spec = { replicas, strategy: { type: "Recreate" } };
    await createWorkload(cluster, "Deployment", { namespace, name, annotations, spec });
}

/** Scales a Deployment. */
export async function scaleDeployment(cluster: SimulatedCluster, random: Random): Promise<void> {
    await scale(cluster, random.pick(deploymentsOf(cluster)), "deployments", random.below(5));
}

/** Deletes a Deployment. */
export async function deleteDeployment(cluster: SimulatedCluster, random: Random): Promise<void> {
    const deployment = random.pick(deploymentsOf(cluster));
    if (deployment !== undefined) await send(cluster, "DELETE", pathOf(deployment, "deployments"));
}

/** Creates a StatefulSet. */
export async function createSet(
    cluster: SimulatedCluster,
    random: Random,
    namespace: string = random.chance(0.7) ? "default" : namespaceOf(random),
): Promise<void> {
    const name = `set-${random.below(3)}`;
    const isInherited = namespace !== "default" && random.chance(0.7);
    if (isInherited) cluster.counters.count("set.ofNamespace");
    const annotations = withNetworks(cluster, random, isInherited ? undefined : poolAnnotations(cluster, random));
    const spec = {
        replicas: random.below(5),
        serviceName: name,
        ...(random.chance(0.3) && { ordinals: { start: random.below(3) } }),
    };
    await createWorkload(cluster, "StatefulSet", { namespace, name, annotations, spec });
}

/** Scales a StatefulSet. */
export async function scaleSet(cluster: SimulatedCluster, random: Random): Promise<void> {
    await scale(cluster, random.pick(setsOf(cluster)), "statefulsets", random.below(6));
}

/** Deletes a StatefulSet with this propagation policy. */
export async function deleteSet(cluster: SimulatedCluster, random: Random, propagationPolicy: string): Promise<void> {
    const set = random.pick(setsOf(cluster));
    const body = { propagationPolicy };
    if (set !== undefined) await send(cluster, "DELETE", pathOf(set, "statefulsets"), body);
}

/** A user writes an IPAllocation, so that earlier readers have a stale version. */
export async function touchAllocation(cluster: SimulatedCluster, random: Random): Promise<void> {
    const allocation = random.pick([...cluster.server.store.all(allocationKind)])?.object.metadata?.name;
    const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${allocation}`;
    const body = { metadata: { annotations: { note: random.hex(4) } } };
    if (allocation !== undefined) await send(cluster, "PATCH", path, body);
}

/**
 * A user force-deletes the allocation of an address that a Pod uses: often because its agent is unavailable, and
 * often to assign the address to another Pod.
 */
export async function forceDeleteAllocation(cluster: SimulatedCluster, random: Random): Promise<void> {
    const allocations = [...cluster.server.store.all(allocationKind)].map(({ object }) => object as IpAllocation);
    const isPreferred = random.chance(0.5) ? isOfVlanInterface : isInUse;
    const allocation = random.pick(allocations.filter(isPreferred)) ?? random.pick(allocations.filter(isInUse));
    if (allocation === undefined) return;
    const station = cluster.station(allocation.spec.pod?.nodeName ?? "");
    const isAgentAway = station !== undefined && random.chance(0.5);
    if (isAgentAway) {
        cluster.counters.count("allocation.forced.agentAway");
        restartAgent(cluster, station, { afterMs: 0, awayMs: random.between(5_000, 60_000) });
        // Again after it has learned of the allocation.
        restartAgent(cluster, station, { afterMs: random.between(65_000, 150_000), awayMs: 2_000 });
    }
    await deleteByForce(cluster, allocation);
    // What the agent then knows of these addresses is in the alias of the link.
    if (isAgentAway && isOfVlanInterface(allocation)) {
        cluster.counters.count("allocation.forced.databaseLost");
        station.machine.loseDatabase();
        station.machine.loseFlows();
    }
    if (random.chance(0.7)) await askFor(cluster, random, [allocation]);
}

function isInUse({ spec }: IpAllocation): boolean {
    return spec.pod !== undefined;
}

function isOfVlanInterface(allocation: IpAllocation): boolean {
    return allocation.spec.pod?.network !== undefined && !isOfAnotherPlugin(allocation);
}

/** Deletes an allocation regardless of its user. */
export async function deleteByForce(cluster: SimulatedCluster, allocation: IpAllocation): Promise<void> {
    const { name } = allocation.metadata ?? {};
    if (name === undefined) return;
    const path = `/apis/crd.antrea.io/v1alpha1/ipallocations/${name}`;
    await send(cluster, "PATCH", path, { metadata: { annotations: { [forceDeleteAnnotation]: "true" } } });
    const containers = cluster.stations.flatMap(({ machine }) =>
        [...machine.netns.values()].map((one) => one.container),
    );
    const users = containers.filter(({ podUid }) => podUid === allocation.spec.pod?.uid);
    if (isOfAnotherPlugin(allocation)) for (const { id } of users) cluster.truth.excuse(name, id, "cannot be isolated");
    else cluster.checks.forcedAllocations.deleted(name, users);
    cluster.checks.forced(allocation.spec.address);
    await send(cluster, "DELETE", path);
}

/** Creates Pods that request these addresses. */
export async function askFor(
    cluster: SimulatedCluster,
    random: Random,
    allocations: readonly IpAllocation[],
): Promise<void> {
    for (const { spec } of allocations) {
        const nodeName = cluster.workloads.schedule();
        if (nodeName === undefined) return;
        const metadata = {
            name: `web-${random.below(12)}`,
            namespace: "default",
            annotations: { [poolsAnnotation]: spec.pool, [podIpsAnnotation]: spec.address },
        };
        const body = { apiVersion: "v1", kind: "Pod", metadata, spec: { nodeName, containers: [] } };
        await send(cluster, "POST", "/api/v1/namespaces/default/pods", body);
    }
}

/** Kills an agent after a delay and restarts it after another, in milliseconds. */
export function restartAgent(
    cluster: SimulatedCluster,
    station: Station,
    { afterMs, awayMs }: { readonly afterMs: number; readonly awayMs: number },
): void {
    cluster.time.after(afterMs, () => {
        cluster.killAgent(station);
        cluster.time.after(awayMs, () => cluster.startAgent(station));
    });
}

function pathOf({ metadata }: KubeObject, plural: string): string {
    const api = plural === "pods" ? "/api/v1" : "/apis/apps/v1";
    return `${api}/namespaces/${metadata?.namespace}/${plural}/${metadata?.name}`;
}
