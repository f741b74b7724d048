import { burst, floorMs, ListClaimant, ways, type Burst, type Way } from "../networks/bursts.ts";
import { AllocationWatch } from "../networks/allocation-watch.ts";
import { networkCount, NetworksStage } from "../networks/stage.ts";
import { compared, fact, figure, type Result } from "../result.ts";

const podCount = 128;
const maxAllocationSeconds = 10;
const maxRatioOf = { oneByOne: 0.7, bridges: 0.5, list: 0.3 } as const;

/** As many Pods as a dense Node has, with 16 networks each, all at once: against the alternatives, and the floor. */
export async function networksBurst(): Promise<readonly Result[]> {
    await using stage = await NetworksStage.start();
    await using watch = await AllocationWatch.open(stage.node.api);
    await using claimant = await ListClaimant.open(stage);
    const ours = await burst(stage, watch, "at-once", podCount);
    const oneByOne = await burst(stage, watch, "one-by-one", podCount);
    const bridges = await burst(stage, watch, "bridges", podCount);
    const floor = (await floorMs(stage, podCount, networkCount)) / 1000;
    const list = await claimant.burst(podCount);
    const against = (id: string, peer: string, value: number, maxRatio?: number): Result =>
        compared({
            id: `networks-burst-${id}`,
            what: `${what}: the last answer`,
            value: ours.seconds,
            unit: "s",
            peer: { what: peer, value },
            ...(maxRatio !== undefined && { maxRatio }),
        });
    const byBridges = `bridge + host-local 1.9.1 on ${networkCount} Linux bridges, one network after another`;
    return [
        ...[ours, oneByOne, bridges].map((one, at) => success(ways[at] ?? "at-once", one)),
        figure({
            id: "networks-burst-claims",
            what: `${what}: the last of ${podCount * networkCount} allocations`,
            value: ours.allocationSeconds,
            unit: "s",
            max: maxAllocationSeconds,
        }),
        compared({
            id: "networks-burst-claims-list",
            what: `${what}: the last allocation`,
            value: ours.allocationSeconds,
            unit: "s",
            peer: {
                what: "a list in the status of one object for each pool, addresses alone",
                value: list.seconds,
            },
            maxRatio: maxRatioOf.list,
        }),
        against("time", oneAfterAnother, oneByOne.seconds, maxRatioOf.oneByOne),
        against("time-bridges", byBridges, bridges.seconds, maxRatioOf.bridges),
        against("time-floor", "floor: the links and ports by a straight-line program", floor),
        compared({
            id: "networks-burst-del",
            what: `${what}: the last answer of their DELs`,
            value: ours.delSeconds,
            unit: "s",
            peer: { what: oneAfterAnother, value: oneByOne.delSeconds },
        }),
        figure({
            id: "networks-burst-list-failures",
            what: "of the lists: allocations that gave up after 8 conflicts and were repeated",
            value: list.failures,
            unit: "allocations",
        }),
    ];
}

const what = `${podCount} Pods with ${networkCount} networks at once`;
const oneAfterAnother = "the same agent, one network after another as a meta plugin calls it";
const titleOf: Readonly<Record<Way, string>> = {
    "at-once": what,
    "one-by-one": `${what}, one network after another`,
    bridges: `${what}, bridge + host-local`,
};

function success(way: Way, { succeeded, allocations, ports, failure }: Burst): Result {
    const wanted = podCount * networkCount;
    const isWhole = way === "bridges" || (allocations === wanted && ports === wanted);
    return fact({
        id: `networks-burst-success-${way}`,
        what: `${titleOf[way]}: Pods that got all interfaces and addresses${failure === "" ? "" : ` (${failure})`}`,
        value: succeeded,
        unit: "Pods",
        goal: `all ${podCount}`,
        holds: succeeded === podCount && isWhole,
    });
}
