import { poolsAnnotation } from "@antrea/crd";
import { kindOf } from "./api/server.ts";
import { createSet, createPod, namespaces, send, poolAnnotations } from "./user-actions.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

/** What users do with Namespaces. */

const namespaceKind = kindOf("v1", "namespaces");
const pollMs = 500;

/** Sets, changes or removes the pools of a Namespace, at most one per family. */
export async function annotateNamespace(cluster: SimulatedCluster, random: Random): Promise<void> {
    const name = random.pick(namespaces.slice(1)) ?? "";
    const selected = random.chance(0.2) ? null : (poolAnnotations(cluster, random)?.[poolsAnnotation] ?? null);
    const body = { metadata: { annotations: { [poolsAnnotation]: selected } } };
    await send(cluster, "PATCH", `/api/v1/namespaces/${name}`, body);
}

/** Deletes a Namespace with its content and recreates it, with other pools or none. */
export async function replaceNamespace(cluster: SimulatedCluster, random: Random): Promise<void> {
    const name = random.pick(namespaces.slice(1)) ?? "";
    if (cluster.server.store.get(namespaceKind, name) === undefined) return;
    const pods = [...cluster.server.store.all(kindOf("v1", "pods"))].some(
        ({ object }) => object.metadata?.namespace === name,
    );
    await send(cluster, "DELETE", `/api/v1/namespaces/${name}`);
    const annotations = random.chance(0.3) ? undefined : poolAnnotations(cluster, random);
    const restMs = random.chance(0.7) ? 0 : random.between(0, 30_000);
    const again = async (): Promise<void> => {
        const isThere = cluster.server.store.get(namespaceKind, name) !== undefined;
        if (isThere) return void cluster.time.after(pollMs, () => void again());
        await cluster.time.sleep(restMs);
        cluster.counters.count(pods ? "namespace.replacedInUse" : "namespace.replaced");
        const metadata = { name, ...(annotations && { annotations }) };
        await send(cluster, "POST", "/api/v1/namespaces", { metadata });
        for (let left = random.below(4); left > 0; left -= 1)
            await createPod(cluster, random, { namespace: name, name: `web-${random.below(12)}` });
        if (random.chance(0.5)) await createSet(cluster, random, name);
    };
    await again();
}
