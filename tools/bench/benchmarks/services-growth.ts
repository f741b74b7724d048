import { setTimeout as sleep } from "node:timers/promises";
import { curve } from "../growth/curve.ts";
import { type Result } from "../result.ts";
import { measureWritten, replacementAt, type Change } from "../services/changes.ts";
import { ManyEndpoints } from "../services/many-endpoints.ts";
import { createServices } from "../services/service-objects.ts";
import { startTappedNode } from "../services/serving-node.ts";
import { sizes } from "../services/sizes.ts";
import { SliceWatch } from "../services/slice-watch.ts";
import { ServicesStage } from "../services/stage.ts";
import { secondsUntilServed } from "../services/until-served.ts";
import { median, quantile } from "../statistics.ts";

const changes = 30;
const quietMs = 5_000;
/** New addresses for each place. */
const replacements = 100_000;
/** More than there are Services that change. */
const apart = 100;

/** The figures at one place of the curves. */
interface Shown {
    readonly x: number;
    readonly startSeconds: number;
    readonly changes: readonly number[];
    /** The same until a watch that does nothing has them. */
    readonly watched: readonly number[];
    readonly agentMib: number;
    readonly vswitchdMib: number;
}

/** Start, change and memory of the agent by the number of Services, and by that of the endpoints of one. */
export async function servicesGrowth(): Promise<readonly Result[]> {
    return [
        ...curves("services", "Services", await overServices()),
        ...curves("endpoints", "endpoints of one Service", await overEndpoints()),
    ];
}

async function overServices(): Promise<readonly Shown[]> {
    await using stage = await ServicesStage.start();
    const places: Shown[] = [];
    let made = 0;
    for (const [at, count] of sizes.growth.services.entries()) {
        await createServices(stage.api, count, made);
        made = count;
        const changeAt = (change: number): Change =>
            replacementAt(stage.api, change % count, at * replacements + change * apart);
        places.push(await shownAt(stage, count, { x: count, changeAt }));
    }
    return places;
}

/** Beside ten small Services. */
async function overEndpoints(): Promise<readonly Shown[]> {
    await using stage = await ServicesStage.start();
    const others = 10;
    await createServices(stage.api, others);
    const places: Shown[] = [];
    for (const [at, count] of sizes.growth.endpoints.entries()) {
        const many = await ManyEndpoints.create(stage.api, at, count);
        places.push(await shownAt(stage, others, { x: count, changeAt: () => many.change(), also: many.clusterIp }));
    }
    return places;
}

interface Place {
    readonly x: number;
    readonly changeAt: (at: number) => Change;
    /** The ClusterIP of a further Service. */
    readonly also?: string;
}

async function shownAt(stage: ServicesStage, services: number, { x, changeAt, also }: Place): Promise<Shown> {
    await using watch = await SliceWatch.open(stage.api);
    await using node = await startTappedNode(stage);
    const startSeconds = await secondsUntilServed(node, services, also);
    await sleep(quietMs);
    const [agentMib, vswitchdMib] = [node.memory().now, node.vswitchdMemory().now];
    const { ours, peer } = await measureWritten(node.tap, watch, changes, changeAt);
    return { x, startSeconds, changes: ours, watched: peer, agentMib, vswitchdMib };
}

function curves(id: string, of: string, places: readonly Shown[]): readonly Result[] {
    const row = (name: string, what: string, unit: string, value: (shown: Shown) => number): Result =>
        curve({
            id: `services-growth-${id}-${name}`,
            what,
            unit,
            of,
            points: places.map((shown) => ({ x: shown.x, value: value(shown) })),
        });
    return [
        row(
            "start",
            "the last Service is served, from the start of the agent",
            "s",
            ({ startSeconds }) => startSeconds,
        ),
        row("change-p50", "one endpoint changes, until OVS has it, p50", "ms", (shown) => median(shown.changes)),
        row("change-p99", "one endpoint changes, until OVS has it, p99", "ms", (shown) =>
            quantile(shown.changes, 0.99),
        ),
        row("watch-p50", "one endpoint changes, until a bare watch has it, p50", "ms", ({ watched }) =>
            median(watched),
        ),
        row("agent", "antrea-agent, resident memory", "MiB", ({ agentMib }) => agentMib),
        row("vswitchd", "ovs-vswitchd, resident memory", "MiB", ({ vswitchdMib }) => vswitchdMib),
    ];
}
