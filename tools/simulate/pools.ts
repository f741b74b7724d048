import { type IpPool, type IpRangeSpec } from "@antrea/crd";
import { noWatchFaults } from "./api/faults.ts";
import { poolsOf } from "./objects.ts";
import { createPod, deleteByForce, send } from "./user-actions.ts";
import { type Random } from "./time/random.ts";
import { type SimulatedCluster } from "./simulated-cluster.ts";

/** What users do with pools. */

/** Where the addresses of clusterCidr begin. */
export const inCluster = "10.50.";
/** The API path of IPPools. */
export const poolsPath = "/apis/crd.antrea.io/v1alpha2/ippools";

/** Pools are created in few subnets, so that they overlap; occasionally while the webhook is disabled. */
export async function createPool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const name = `pool-${random.below(6)}`;
    const isV6 = random.chance(0.35);
    const range = rangeOf(cluster, random, isV6);
    if (range.vlan !== undefined) cluster.counters.count("pool.vlan");
    const isJudged = random.chance(0.8);
    cluster.hasWebhooks = isJudged;
    const made = await makePool(cluster, name, isV6, range);
    cluster.hasWebhooks = true;
    if (!made) return;
    if (!isJudged) cluster.counters.count("pool.unjudged");
    if (range.start?.startsWith(inCluster) === true) cluster.counters.count("pool.inClusterCidr");
}

/** Before anything runs: creates a pool with some addresses of the prefix for Node subnets. */
export async function poolInCluster(cluster: SimulatedCluster, random: Random): Promise<void> {
    cluster.hasWebhooks = false;
    await makePool(cluster, "pool-5", false, { ...range(random, `${inCluster}${random.below(4)}.`), prefixLength: 24 });
    cluster.hasWebhooks = true;
}

/** Creates a pool with one range; false if it was rejected. */
export async function makePool(
    cluster: SimulatedCluster,
    name: string,
    isV6: boolean,
    ipRange: IpRangeSpec,
): Promise<boolean> {
    const spec = { ipVersion: isV6 ? 6 : 4, ipRanges: [ipRange] };
    const body = { apiVersion: "crd.antrea.io/v1alpha2", kind: "IPPool", metadata: { name }, spec };
    return (await send(cluster, "POST", poolsPath, body)) !== undefined;
}

function rangeOf(cluster: SimulatedCluster, random: Random, isV6: boolean): IpRangeSpec {
    const used = random.chance(0.15) ? usedAddress(cluster, random, isV6) : undefined;
    const subnet = random.below(3);
    const isInCluster = !isV6 && random.chance(0.2);
    const any = isV6 ? `fd00:10:${subnet}::` : `${isInCluster ? inCluster : "10.10."}${subnet}.`;
    const prefix = used?.replace(/[^.:]+$/, "") ?? any;
    const vlan = random.chance(0.25) ? { vlan: 1 + random.below(2) } : {};
    if (used !== undefined) cluster.counters.count("pool.gatewayInUse");
    const gateway = used ?? gatewayOf(cluster, random, prefix);
    return { ...range(random, prefix), gateway, prefixLength: isV6 ? 64 : 24, ...vlan };
}

function usedAddress(cluster: SimulatedCluster, random: Random, isV6: boolean): string | undefined {
    const used = [...cluster.truth.allocations.values()].filter(({ spec }) => spec.pod !== undefined);
    return random.pick(used.filter(({ spec }) => spec.address.includes(":") === isV6))?.spec.address;
}

/** Some addresses with this prefix; the gateway is the first one. */
function range(
    random: Random,
    prefix: string,
): { readonly start: string; readonly end: string; readonly gateway: string } {
    const first = 2 + random.below(20);
    return { start: text(prefix, first), end: text(prefix, first + random.below(7)), gateway: text(prefix, 1) };
}

/** Usually the first address. */
function gatewayOf(cluster: SimulatedCluster, random: Random, prefix: string): string {
    if (random.chance(0.8)) return text(prefix, 1);
    cluster.counters.count("pool.anyGateway");
    return text(prefix, 1 + random.below(40));
}

function text(prefix: string, at: number): string {
    return `${prefix}${prefix.includes(":") ? at.toString(16) : at}`;
}

/** While no webhook is configured, creates a pool that overlaps another. */
export async function overlapPool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(cluster));
    const name = `pool-${random.below(6)}`;
    if (pool === undefined) return;
    const body = { ...pool, metadata: { name }, status: undefined };
    cluster.hasWebhooks = false;
    await send(cluster, "POST", poolsPath, body);
    cluster.hasWebhooks = true;
}

/** Adds a range to a pool. */
export async function growPool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(cluster));
    if (pool === undefined) return;
    await changePool(cluster, pool, [...pool.spec.ipRanges, rangeOf(cluster, random, pool.spec.ipVersion === 6)]);
}

/** Removes addresses from a pool. */
export async function shrinkPool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(cluster));
    if (pool === undefined) return;
    const [first, ...rest] = pool.spec.ipRanges;
    if (first?.start === undefined) return;
    await changePool(
        cluster,
        pool,
        random.chance(0.5) && rest.length > 0 ? rest : [{ ...first, end: first.start }, ...rest],
    );
}

/** Replaces the ranges of a pool. */
export async function changePool(
    cluster: SimulatedCluster,
    { metadata }: IpPool,
    ipRanges: readonly IpRangeSpec[],
): Promise<void> {
    const path = `${poolsPath}/${metadata?.name}`;
    await send(cluster, "PATCH", path, { spec: { ipRanges } });
}

/** Deletes a pool. */
export async function deletePool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(cluster));
    const path = `${poolsPath}/${pool?.metadata?.name}`;
    if (pool !== undefined) await send(cluster, "DELETE", path);
}

/**
 * Changes the VLAN of a pool, or deletes and recreates it under its name with another gateway or VLAN, often while
 * watches are interrupted.
 */
export async function redefinePool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(cluster));
    const { name } = pool?.metadata ?? {};
    if (pool === undefined || name === undefined) return;
    if (random.chance(0.7)) {
        cluster.counters.count("pool.redefinedUnheard");
        cluster.watches = { ...cluster.watches, stalled: 1 };
        cluster.time.after(random.between(1_000, 20_000), () => (cluster.watches = noWatchFaults));
    }
    const vlan = random.below(3);
    const ranges = pool.spec.ipRanges.map(({ vlan: _, ...range }) => ({ ...range, ...(vlan > 0 && { vlan }) }));
    if (random.chance(0.4)) return changePool(cluster, pool, ranges);
    await send(cluster, "DELETE", `${poolsPath}/${name}`);
    const gateway = (text: string): string => text.replace(/1$/, String(250 + random.below(3)));
    const ipRanges = ranges.map((range) => ({ ...range, gateway: gateway(range.gateway) }));
    await send(cluster, "POST", poolsPath, {
        ...pool,
        metadata: { name },
        spec: { ...pool.spec, ipRanges },
        status: undefined,
    });
    // Pods wait for it.
    for (let left = 1 + random.below(2); left > 0; left -= 1)
        await createPod(cluster, random, { namespace: "default", name: `web-${random.below(12)}` }, name);
}

/**
 * A user force-deletes a pool with all its allocations while the webhook is disabled, as when its definition is
 * deleted, and recreates it, usually later. Pods wait for its addresses.
 */
export async function replacePool(cluster: SimulatedCluster, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(cluster));
    const { name } = pool?.metadata ?? {};
    if (pool === undefined || name === undefined) return;
    cluster.hasWebhooks = false;
    const isGone = (await send(cluster, "DELETE", `${poolsPath}/${name}`)) !== undefined;
    cluster.hasWebhooks = true;
    if (!isGone) return;
    for (const allocation of [...cluster.truth.allocations.values()]) {
        if (allocation.spec.pool === name) await deleteByForce(cluster, allocation);
    }
    cluster.counters.count("pool.replaced");
    const makeAgain = async (): Promise<void> => {
        cluster.hasWebhooks = false;
        await send(cluster, "POST", poolsPath, { ...pool, metadata: { name }, status: undefined });
        cluster.hasWebhooks = true;
        for (let left = 1 + random.below(3); left > 0; left -= 1)
            await createPod(cluster, random, { namespace: "default", name: `web-${random.below(12)}` }, name);
    };
    cluster.time.after(random.chance(0.3) ? 0 : random.between(10_000, 300_000), () => void makeAgain());
}
