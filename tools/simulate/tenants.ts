import { poolsAnnotation } from "@antrea/crd";
import { kindOf } from "./api/server.ts";
import { createSet, createPod, namespaces, send, wishes } from "./people.ts";
import { type Random } from "./time/random.ts";
import { type World } from "./world.ts";

/** What users do with Namespaces. */

const namespaceKind = kindOf("v1", "namespaces");
const lookMs = 500;

/** Sets, changes or removes the pools of a Namespace, at most one per family. */
export async function annotateNamespace(world: World, random: Random): Promise<void> {
    const name = random.pick(namespaces.slice(1)) ?? "";
    const wish = random.chance(0.2) ? null : (wishes(world, random)?.[poolsAnnotation] ?? null);
    const body = { metadata: { annotations: { [poolsAnnotation]: wish } } };
    await send(world, "PATCH", `/api/v1/namespaces/${name}`, body);
}

/** Deletes a Namespace with its content and recreates it, with other pools or none. */
export async function replaceNamespace(world: World, random: Random): Promise<void> {
    const name = random.pick(namespaces.slice(1)) ?? "";
    if (world.server.store.get(namespaceKind, name) === undefined) return;
    const pods = [...world.server.store.all(kindOf("v1", "pods"))].some(
        ({ object }) => object.metadata?.namespace === name,
    );
    await send(world, "DELETE", `/api/v1/namespaces/${name}`);
    const wish = random.chance(0.3) ? undefined : wishes(world, random);
    const restMs = random.chance(0.7) ? 0 : random.between(0, 30_000);
    const again = async (): Promise<void> => {
        const isThere = world.server.store.get(namespaceKind, name) !== undefined;
        if (isThere) return void world.time.after(lookMs, () => void again());
        await world.time.sleep(restMs);
        world.counters.count(pods ? "namespace.replacedInUse" : "namespace.replaced");
        const metadata = { name, ...(wish && { annotations: wish }) };
        await send(world, "POST", "/api/v1/namespaces", { metadata });
        for (let left = random.below(4); left > 0; left -= 1)
            await createPod(world, random, { namespace: name, name: `web-${random.below(12)}` });
        if (random.chance(0.5)) await createSet(world, random, name);
    };
    await again();
}
