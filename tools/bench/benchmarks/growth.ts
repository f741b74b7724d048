import { ipAllocations, ipPools } from "@antrea/crd";
import { Workers } from "../allocations/workers.ts";
import { curve, type Growth } from "../growth/curve.ts";
import { GrowthServer, type Shown } from "../growth/place.ts";
import { blocksOf, countedPool, objectOf, poolOfBits, usableOf, type SizedPool } from "../growth/ranges.ts";
import { inParallel } from "../in-parallel.ts";
import { ApiServerMeter } from "../meter.ts";
import { createPeers } from "../peers/simulated-peers.ts";
import { type Result } from "../result.ts";
import { median, quantile, seededRandom } from "../statistics.ts";

/** Pools of 2^8 to 2^20 addresses; the nearly full ones up to the size that can be filled in the available time. */
const poolBits = [8, 10, 12, 14, 16, 18, 20] as const;
const fullBits = [8, 10, 12, 14] as const;
const fullShare = 0.95;
const nodeCounts = [1, 10, 100, 300, 1_000] as const;
const nodesPool = poolOfBits(16);
const poolCounts = [1, 10, 100, 1_000, 10_000] as const;

/** The quantity that grows, and how fast each figure may grow with it. */
interface Axis {
    readonly id: string;
    /** The quantity. */
    readonly of: string;
    readonly allocation: Growth;
    readonly agent: Growth;
    readonly controller: Growth;
}

interface Place {
    readonly x: number;
    readonly shown: Shown;
}

/** Latency and memory by pool size, number of Nodes, and number of pools. */
export async function growth(): Promise<readonly Result[]> {
    const constant = { allocation: "constant", agent: "constant", controller: "constant" } as const;
    const kept = { allocation: "constant", agent: "logarithm", controller: "logarithm" } as const;
    return [
        ...curves({ id: "size", of: "addresses in the pool, nearly empty", ...constant }, await overSizes()),
        ...curves(
            { id: "full", of: "addresses in the pool, 95 % claimed", ...kept, allocation: "constant" },
            await overFull(),
        ),
        ...curves({ id: "nodes", of: "Nodes", ...kept }, await overNodes()),
        ...curves({ id: "pools", of: "pools", ...kept }, await overPools()),
    ];
}

async function overSizes(): Promise<readonly Place[]> {
    await using growing = await GrowthServer.start();
    const places: Place[] = [];
    for (const bits of poolBits) {
        const pool = poolOfBits(bits);
        await growing.api.create(ipPools, objectOf(pool));
        places.push({ x: pool.size, shown: await growing.measure(pool.name) });
    }
    return places;
}

/** Each on its own server, so that allocations of one measurement do not affect the next. */
async function overFull(): Promise<readonly Place[]> {
    const places: Place[] = [];
    for (const bits of fullBits) {
        const pool = poolOfBits(bits);
        await using growing = await GrowthServer.start();
        await growing.api.create(ipPools, objectOf(pool));
        await fill(growing, pool);
        places.push({ x: pool.size, shown: await growing.measure(pool.name) });
    }
    return places;
}

async function overNodes(): Promise<readonly Place[]> {
    await using growing = await GrowthServer.start();
    const { api, server } = growing;
    await api.create(ipPools, objectOf(nodesPool));
    await using workers = workersOf(growing);
    const places: Place[] = [];
    let others = 0;
    for (const count of nodeCounts) {
        await createPeers(server, count - 1, others);
        others = count - 1;
        const { resourceVersion } = await api.list(ipAllocations, { fieldSelector: "spec.block=" });
        await workers.watch(others, blocksOf(nodesPool), resourceVersion);
        places.push({ x: count, shown: await growing.measure(nodesPool.name, others) });
        await workers.unwatch();
    }
    return places;
}

async function overPools(): Promise<readonly Place[]> {
    await using growing = await GrowthServer.start();
    const places: Place[] = [];
    let made = 0;
    for (const count of poolCounts) {
        const before = made;
        await inParallel(count - before, 32, (at) => growing.api.create(ipPools, objectOf(countedPool(before + at))));
        made = count;
        places.push({ x: count, shown: await growing.measure(countedPool(0).name) });
    }
    return places;
}

/** Allocates a random part of the pool for Pods on other Nodes. */
async function fill(growing: GrowthServer, pool: SizedPool): Promise<void> {
    await using workers = workersOf(growing);
    const random = seededRandom(1);
    const usable = usableOf(pool).map((value) => ({ value, at: random() }));
    const claimed = usable.sort((one, other) => one.at - other.at).slice(0, Math.floor(fullShare * usable.length));
    await workers.fill(
        pool.name,
        claimed.map(({ value }) => value),
        100,
    );
}

function workersOf({ server }: GrowthServer): Workers {
    return new Workers({ meter: new ApiServerMeter(server), server });
}

function curves({ id, of, ...may }: Axis, places: readonly Place[]): readonly Result[] {
    const row = (name: string, what: string, unit: string, value: (shown: Shown) => number, growth?: Growth): Result =>
        curve({
            id: `growth-${id}-${name}`,
            what,
            unit,
            of,
            points: places.map(({ x, shown }) => ({ x, value: value(shown) })),
            ...(growth !== undefined && { growth }),
        });
    return [
        row("claim-p50", "an allocation, p50", "ms", ({ allocations }) => median(allocations), may.allocation),
        row("claim-p99", "an allocation, p99", "ms", ({ allocations }) => quantile(allocations, 0.99)),
        row(
            "written",
            "bytes in etcd's log for an allocation and its release",
            "B",
            ({ written }) => written,
            may.allocation,
        ),
        row("add-p50", "agent ADD, p50", "ms", ({ adds }) => median(adds), may.allocation),
        row("agent", "antrea-agent, resident memory", "MiB", ({ agentMib }) => agentMib, may.agent),
        row(
            "controller",
            "antrea-controller, resident memory",
            "MiB",
            ({ controllerMib }) => controllerMib,
            may.controller,
        ),
    ];
}
