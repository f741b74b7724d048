import { networksAnnotation } from "@antrea/networks";
import { networksOf } from "./objects.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

/** The Namespaces in which users create networks, and their names. */
export const networkNamespaces = ["default", "team-0"] as const;
export const networkNames = ["net-0", "net-1", "net-2"] as const;

type Annotations = Readonly<Record<string, string>>;

/** The annotation by which a Pod requests one to three networks; undefined if it requests none. */
function networksOfPod(cluster: SimulatedCluster, random: Random): Annotations | undefined {
    if (cluster.modes.attacher === "nobody" || random.chance(0.4)) return undefined;
    const all = networksOf(cluster).map(({ metadata }) => ({ name: metadata?.name, namespace: metadata?.namespace }));
    // One that does not exist, or not yet.
    const any = { name: random.pick(networkNames), namespace: random.pick(networkNamespaces) };
    const elements = Array.from({ length: 1 + random.below(3) }, (_, at) => ({
        ...((random.chance(0.05) ? undefined : random.pick(all)) ?? any),
        ...(random.chance(0.2) && { interface: `data${at}` }),
        ...(random.chance(0.03) && { ips: [`10.20.${random.below(2)}.${16 + random.below(10)}`] }),
    }));
    cluster.counters.count(`pod.networks.${elements.length}`);
    return { [networksAnnotation]: JSON.stringify(elements) };
}

/** These annotations and, often, those of networks. */
export function withNetworks(
    cluster: SimulatedCluster,
    random: Random,
    annotations?: Annotations,
): Annotations | undefined {
    const requested = networksOfPod(cluster, random);
    return requested === undefined ? annotations : { ...annotations, ...requested };
}
