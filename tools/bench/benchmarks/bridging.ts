import { measureAdds } from "../bridging/adds.ts";
import { measureMoves } from "../bridging/moves.ts";
import { BridgingStage, sides, type Side } from "../bridging/stage.ts";
import { loads, type Load } from "../data-plane/load-pod.ts";
import { comparison, figure, typical, type Result } from "../result.ts";
import { rotated } from "../statistics.ts";

const rounds = 20;
const runMs = 300;
const moveCount = 10;
const addCount = 100;
const minRatio = 0.95;
const maxAddRatio = 1.1;
const maxGapMs = 2_000;

const unitOf: Readonly<Record<Load, string>> = { throughput: "Mbit/s", requests: "/s", connections: "/s" };
const titleOf: Readonly<Record<Load, string>> = {
    throughput: "TCP throughput",
    requests: "TCP requests and answers",
    connections: "TCP connections",
};

interface Comparison {
    readonly id: string;
    readonly ours: Side;
    readonly who: string;
    readonly peer: Side;
    readonly whom: string;
    /** Default: all. */
    readonly only?: readonly Load[];
    readonly minRatio?: number;
}

const comparisons: readonly Comparison[] = [
    {
        id: "plain",
        ours: "bridged",
        who: "bridged Pods",
        minRatio,
        peer: "plain",
        whom: "a plain bridge with a NIC of the same kind",
    },
    {
        id: "ct",
        ours: "bridged",
        who: "bridged Pods",
        only: ["requests", "connections"],
        peer: "ct",
        whom: "this bridge with as many ct() passes",
    },
    {
        id: "subnet",
        ours: "bridged",
        who: "bridged Pods",
        peer: "subnet",
        whom: "Pods of the Nodes' subnets, noEncap without bridging mode",
    },
    {
        id: "vlan",
        ours: "bridged-vlan",
        who: "bridged Pods of a VLAN",
        minRatio,
        peer: "plain-vlan",
        whom: "the plain bridge, Pods of a VLAN",
    },
];

/** Bridged Pods on two Nodes against the alternatives; moving the uplink; their ADD. */
export async function bridging(): Promise<readonly Result[]> {
    await using stage = await BridgingStage.start();
    return [...(await traffic(stage)), ...(await moves(stage)), ...(await calls(stage))];
}

async function traffic(stage: BridgingStage): Promise<readonly Result[]> {
    const figures = new Map<string, number[]>();
    const of = (load: Load, side: Side): number[] => figures.get(`${load} ${side}`) ?? [];
    for (let round = 0; round < rounds; round++) {
        for (const load of loads) {
            // It takes three times as long as the others, and varies less.
            if (load === "throughput" && round % 2 === 1) continue;
            for (const side of rotated(sidesOf(load), round)) {
                const [from, to] = await stage.pair(side);
                const value = await from.measure(load, to, runMs);
                figures.set(`${load} ${side}`, [...of(load, side), value]);
            }
        }
    }
    return loads.flatMap((load) =>
        comparisonsOf(load).map(({ id, ours, who, peer, whom, minRatio: least }) =>
            comparison({
                id: `bridging-${load}-${id}`,
                what: `${titleOf[load]}, ${who} across Nodes`,
                peer: whom,
                unit: unitOf[load],
                ...(least !== undefined && { minRatio: least }),
                pairs: { ours: of(load, ours), peer: of(load, peer) },
            }),
        ),
    );
}

function comparisonsOf(load: Load): readonly Comparison[] {
    return comparisons.filter(({ only = loads }) => only.includes(load));
}

function sidesOf(load: Load): readonly Side[] {
    return sides.filter((side) => comparisonsOf(load).some(({ ours, peer }) => ours === side || peer === side));
}

async function moves(stage: BridgingStage): Promise<readonly Result[]> {
    const gaps = await measureMoves(stage, moveCount);
    const [move, back] = [
        `the Node without network, the agent's start, of ${moveCount}`,
        `the Node without network, the agent's end, of ${moveCount}`,
    ];
    const most = (samples: readonly number[]): number => Math.max(...samples);
    const common = { unit: "ms", max: maxGapMs };
    return [
        typical({ id: "bridging-move-p50", what: `${move}, p50`, samples: gaps.moves, ...common }),
        figure({ id: "bridging-move-max", what: `${move}, the longest`, value: most(gaps.moves), ...common }),
        typical({ id: "bridging-back-p50", what: `${back}, p50`, samples: gaps.back, ...common }),
        figure({ id: "bridging-back-max", what: `${back}, the longest`, value: most(gaps.back), ...common }),
    ];
}

async function calls(stage: BridgingStage): Promise<readonly Result[]> {
    const { add, del, allocation } = await measureAdds(stage, addCount);
    const common = { peer: "the same of a Pod of the Node's subnet on this Node" };
    const adds = { ...common, pairs: { ours: add.bridged, peer: add.subnet } };
    const dels = { ...common, pairs: { ours: del.bridged, peer: del.subnet } };
    return [
        comparison({ id: "bridging-add-p50", what: "agent ADD, bridged Pod, p50", ...adds, maxRatio: maxAddRatio }),
        comparison({ id: "bridging-add-p99", what: "agent ADD, bridged Pod, p99", ...adds, share: 0.99 }),
        typical({
            id: "bridging-add-claim",
            what: "a bare create of an allocation, as this ADD makes one, p50",
            samples: allocation,
            unit: "ms",
        }),
        comparison({ id: "bridging-del-p50", what: "agent DEL, bridged Pod, p50", ...dels }),
    ];
}
