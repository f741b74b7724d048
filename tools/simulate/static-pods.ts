import { namespaces, poolAnnotations } from "./user-actions.ts";
import { withNetworks } from "./network-requests.ts";
import { stationOf } from "./fault-actions.ts";
import { type Manifest } from "./cluster/mirror-pods.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

/** What users do with static Pod manifests on the disks of Nodes. */

const neverShare = 0.1;
const lateShare = 0.3;

function manifestOf(
    cluster: SimulatedCluster,
    random: Random,
    { namespace, name }: Pick<Manifest, "namespace" | "name">,
): Manifest {
    const { counters, time } = cluster;
    const isNever = random.chance(neverShare);
    const isLate = !isNever && random.chance(lateShare);
    if (isNever) counters.count("static.mirrorNever");
    if (isLate) counters.count("static.mirrorLate");
    const isPlain = random.chance(0.3) || (namespace !== "default" && random.chance(0.7));
    return {
        namespace,
        name,
        hash: random.hex(32),
        annotations: withNetworks(cluster, random, isPlain ? undefined : poolAnnotations(cluster, random)),
        mirrorAt: isNever ? Infinity : time.now + (isLate ? random.between(5_000, 120_000) : 0),
    };
}

/** Writes a manifest. */
export function placeManifest(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    if (station === undefined) return;
    const name = `static-${random.below(3)}-${station.machine.name}`;
    const namespace = random.pick(namespaces) ?? "";
    if (station.kubelet.manifests.has(`${namespace}/${name}`)) return;
    cluster.counters.count("static.placed");
    station.kubelet.place(manifestOf(cluster, random, { namespace, name }));
}

/** The same name with other contents: another Pod for CNI, and a replaced object for the API server. */
export function changeManifest(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    const manifest = random.pick([...(station?.kubelet.manifests.values() ?? [])]);
    if (station === undefined || manifest === undefined) return;
    cluster.counters.count("static.changed");
    station.kubelet.place(manifestOf(cluster, random, manifest));
}

/** Removes a manifest. */
export function removeManifest(cluster: SimulatedCluster, random: Random): void {
    const station = stationOf(cluster, random);
    const key = random.pick([...(station?.kubelet.manifests.keys() ?? [])]);
    if (station === undefined || key === undefined) return;
    cluster.counters.count("static.removed");
    station.kubelet.remove(key);
}
