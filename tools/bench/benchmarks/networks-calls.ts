import { timed } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { floorMs } from "../networks/bursts.ts";
import { NetworksStage } from "../networks/stage.ts";
import { metaPluginIn, oneByOne, type PodCall } from "../networks/ways.ts";
import { comparison, type Result } from "../result.ts";
import { rotated } from "../statistics.ts";

const counted = 60;
const warmUp = 5;
/** Numbers of networks of a Pod, in one ADD. */
const counts = [0, 1, 4, 16] as const;
const most = 16;
const maxRatioOfOne = 3;
const maxRatioOfRow = 0.4;

/** So many networks in one ADD, or the most of them one after another. */
type Kind = (typeof counts)[number] | "row";
const kinds: readonly Kind[] = [...counts, "row"];
type Times = Readonly<Record<Kind, number[]>>;
/** Of which Pods the floor makes the links and ports, as they are in one ADD. */
const floorCounts = [1, most] as const;
type FloorTimes = Readonly<Record<(typeof floorCounts)[number], number[]>>;

/** ADD and DEL of one Pod by its number of networks, and of one whose networks a meta plugin attaches one after another. */
export async function networksCalls(): Promise<readonly Result[]> {
    await using stage = await NetworksStage.start();
    const empty = (): Times => ({ 0: [], 1: [], 4: [], 16: [], row: [] });
    const [add, del] = [empty(), empty()];
    const floors: FloorTimes = { 1: [], [most]: [] };
    for (let index = -warmUp; index < counted; index++) {
        const names = kinds.map((kind) => `pod-${kind}`);
        const paths = stage.namespaces.add(...names);
        const pods = new Map<Kind, PodCall>();
        for (const [at, kind] of kinds.entries()) {
            const [call] = await stage.createPods([paths[at] ?? ""], kind === "row" ? most : kind);
            if (call !== undefined) pods.set(kind, call);
        }
        const inOrder = rotated([...pods], index + warmUp);
        const round = async (times: Times, work: typeof addPod): Promise<void> => {
            for (const [kind, call] of inOrder) {
                const ms = await work(stage, kind, call);
                await stage.settle();
                if (index >= 0) times[kind].push(ms);
            }
        };
        await round(add, addPod);
        await refuseOthers(stage);
        await round(del, deletePod);
        await stage.namespaces.delete(...names);
        await stage.settle();
        for (const count of floorCounts) {
            const ms = await floorMs(stage, 1, count);
            if (index >= 0) floors[count].push(ms);
        }
    }
    return [...resultsOf("add", "ADD", add), ...floorResults(add, floors), ...resultsOf("del", "DEL", del)];
}

async function addPod({ networks, node }: NetworksStage, kind: Kind, call: PodCall): Promise<number> {
    if (kind !== "row") return timed(() => node.cni.call("CmdAdd", call));
    using _meta = metaPluginIn(node.confFolder);
    return await timed(async () => {
        for (const { ifname, config } of oneByOne(networks)) await node.cni.call("CmdAdd", { ...call, ifname }, config);
    });
}

async function deletePod({ networks, node }: NetworksStage, kind: Kind, call: PodCall): Promise<number> {
    if (kind !== "row") return timed(() => node.cni.call("CmdDel", call));
    return timed(async () => {
        for (const { ifname, config } of oneByOne(networks).toReversed())
            await node.cni.call("CmdDel", { ...call, ifname }, config);
    });
}

/** Rejects if the Pods have other interfaces than they asked for, which would invalidate the measurement. */
async function refuseOthers(stage: NetworksStage): Promise<void> {
    const wanted = kinds.reduce<number>((sum, kind) => sum + (kind === "row" ? most : kind), 0);
    const ports = await stage.podPorts();
    if (ports === wanted) return;
    throw new BenchError("WRONG_RESULT", "internal", `the Pods have ${ports} interfaces on networks, not ${wanted}`);
}

function resultsOf(id: string, command: string, times: Times): readonly Result[] {
    const against = (kind: Kind, peer: Kind, share: number, maxRatio?: number): Result => {
        const goal = maxRatio !== undefined && share === 0.5 ? { maxRatio } : {};
        const name = peer === "row" ? `${kind}-row` : String(kind);
        return comparison({
            id: `networks-${id}-${name}-p${share * 100}`,
            what: `agent ${command}, ${textOf(kind)}, p${share * 100}`,
            peer: `the same with ${textOf(peer)}`,
            pairs: { ours: times[kind], peer: times[peer] },
            share,
            ...goal,
        });
    };
    return [0.5, 0.99].flatMap((share) => [
        against(1, 0, share),
        against(4, 1, share),
        against(16, 1, share, maxRatioOfOne),
        against(16, "row", share, maxRatioOfRow),
    ]);
}

/** What the agent adds to links and ports, and how the floor itself grows with the number of networks. */
function floorResults(add: Times, floors: FloorTimes): readonly Result[] {
    const floorOf = (count: keyof FloorTimes): string =>
        `floor: links and ports of ${textOf(count)} and eth0 by a straight-line program`;
    const ofFloor = (id: string, count: keyof FloorTimes, what: string, ours: readonly number[]): Result =>
        comparison({
            id: `networks-add-${id}-p50`,
            what: `${what}, p50`,
            peer: floorOf(count),
            pairs: { ours, peer: floors[count] },
            share: 0.5,
        });
    return [
        ofFloor("1-floor", 1, `agent ADD, ${textOf(1)}`, add[1]),
        ofFloor("16-floor", most, `agent ADD, ${textOf(most)}`, add[most]),
        ofFloor("floor-16-1", 1, floorOf(most), floors[most]),
    ];
}

function textOf(kind: Kind): string {
    if (kind === "row") return `${most} networks, one call after another`;
    return kind === 1 ? "1 network" : `${kind === 0 ? "no" : kind} networks`;
}
