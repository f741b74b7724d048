import { type IpPool, type IpRangeSpec } from "@antrea/crd";
import { noWatchFaults } from "./api/faults.ts";
import { kindOf } from "./api/server.ts";
import { createPod, send } from "./people.ts";
import { type Random } from "./time/random.ts";
import { type World } from "./world.ts";

/** What people do with pools. */

const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const poolsPath = "/apis/crd.antrea.io/v1alpha2/ippools";

/** Pools are made in few subnets, so that they meet. */
export async function createPool(world: World, random: Random): Promise<void> {
    const name = `pool-${random.below(6)}`;
    const isV6 = random.chance(0.35);
    const range = rangeOf(random, isV6);
    if (range.vlan !== undefined) world.counters.count("pool.vlan");
    const spec = { ipVersion: isV6 ? 6 : 4, ipRanges: [range] };
    const body = {
        apiVersion: "crd.antrea.io/v1alpha2",
        kind: "IPPool",
        metadata: { name },
        spec,
    };
    await send(world, "POST", poolsPath, body);
}

function rangeOf(random: Random, isV6: boolean): IpRangeSpec {
    const subnet = random.below(3);
    const first = 2 + random.below(20);
    const last = first + random.below(7);
    const prefix = isV6 ? `fd00:10:${subnet}::` : `10.10.${subnet}.`;
    const text = (at: number): string => `${prefix}${isV6 ? at.toString(16) : at}`;
    const vlan = random.chance(0.25) ? { vlan: 1 + random.below(2) } : {};
    return {
        start: text(first),
        end: text(last),
        gateway: text(1),
        prefixLength: isV6 ? 64 : 24,
        ...vlan,
    };
}

/** While no webhook is configured a pool is made of addresses that another has. */
export async function overlapPool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    const name = `pool-${random.below(6)}`;
    if (pool === undefined) return;
    const body = { ...pool, metadata: { name }, status: undefined };
    world.hasWebhooks = false;
    await send(world, "POST", poolsPath, body);
    world.hasWebhooks = true;
}

export async function growPool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    if (pool === undefined) return;
    await changePool(world, pool, [...pool.spec.ipRanges, rangeOf(random, pool.spec.ipVersion === 6)]);
}

export async function shrinkPool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    if (pool === undefined) return;
    const [first, ...rest] = pool.spec.ipRanges;
    if (first?.start === undefined) return;
    await changePool(
        world,
        pool,
        random.chance(0.5) && rest.length > 0 ? rest : [{ ...first, end: first.start }, ...rest],
    );
}

async function changePool(world: World, { metadata }: IpPool, ipRanges: readonly IpRangeSpec[]): Promise<void> {
    const path = `${poolsPath}/${metadata?.name}`;
    await send(world, "PATCH", path, { spec: { ipRanges } });
}

export async function deletePool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    const path = `${poolsPath}/${pool?.metadata?.name}`;
    if (pool !== undefined) await send(world, "DELETE", path);
}

/**
 * A pool gets another VLAN, or is deleted and made again under its name with another gateway or VLAN, often while those
 * who watch pools hear nothing.
 */
export async function redefinePool(world: World, random: Random): Promise<void> {
    const pool = random.pick(poolsOf(world));
    const { name } = pool?.metadata ?? {};
    if (pool === undefined || name === undefined) return;
    if (random.chance(0.7)) {
        world.counters.count("pool.redefinedUnheard");
        world.watches = { ...world.watches, stalled: 1 };
        world.time.after(random.between(1_000, 20_000), () => (world.watches = noWatchFaults));
    }
    const vlan = random.below(3);
    const ranges = pool.spec.ipRanges.map(({ vlan: _, ...range }) => ({ ...range, ...(vlan > 0 && { vlan }) }));
    if (random.chance(0.4)) return changePool(world, pool, ranges);
    await send(world, "DELETE", `${poolsPath}/${name}`);
    const gateway = (text: string): string => text.replace(/1$/, String(250 + random.below(3)));
    const ipRanges = ranges.map((range) => ({ ...range, gateway: gateway(range.gateway) }));
    await send(world, "POST", poolsPath, {
        ...pool,
        metadata: { name },
        spec: { ...pool.spec, ipRanges },
        status: undefined,
    });
    // Somebody waits for it.
    for (let left = 1 + random.below(2); left > 0; left -= 1)
        await createPod(world, random, { namespace: "default", name: `web-${random.below(12)}` }, name);
}

export function poolsOf({ server }: World): readonly IpPool[] {
    return [...server.store.all(poolKind)].map(({ object }) => object as IpPool);
}
