import { comparison, fact, figure, typical, type Result } from "../result.ts";
import {
    measureBurst,
    measureSeen,
    measureWritten,
    replacementAt,
    type Burst,
    type Change,
    type WrittenChanges,
} from "../services/changes.ts";
import { createServices, endpointsEach } from "../services/service-objects.ts";
import { startProxyNode, startTappedNode, type ServingNode } from "../services/serving-node.ts";
import { sizes } from "../services/sizes.ts";
import { SliceWatch } from "../services/slice-watch.ts";
import { ServicesStage } from "../services/stage.ts";
import { secondsUntilServed } from "../services/until-served.ts";
import { inTurn, median } from "../statistics.ts";

const peer = "kube-proxy, nftables";
const bareWatch = "until a bare watch of EndpointSlices has it";
/** Between changes one after another, and longer than kube-proxy waits between two syncs. */
const pauses = { row: 150, rest: 2_000 } as const;
const max = { p50: 20, p99: 50, lateSeconds: 1, seenRatio: 0.2 };
/** The Service that the client waits for, and the first of those that change one at a time. */
const seenIndex = 0;
const writtenFirst = 10;
/** New addresses for each kind of change in each turn. */
const replacements = 100_000;

type Pause = keyof typeof pauses;
type Seen = Readonly<Record<Pause, number[]>>;

/** The time from a change of endpoints to the switch, and to a client of a Service, beside many other Services. */
export async function servicesChanges(): Promise<readonly Result[]> {
    await using stage = await ServicesStage.start();
    await createServices(stage.api, sizes.services);
    await using watch = await SliceWatch.open(stage.api);
    const seen: Readonly<Record<"ours" | "peer", Seen>> = { ours: { row: [], rest: [] }, peer: { row: [], rest: [] } };
    const written: WrittenChanges[] = [];
    const bursts: Burst[] = [];
    const clientSees = async (node: ServingNode, times: Seen): Promise<void> => {
        for (const [pause, count] of [
            ["row", sizes.seen],
            ["rest", sizes.seenAfterPause],
        ] as const) {
            const input = { index: seenIndex, count, pause: pauses[pause] };
            times[pause].push(...(await measureSeen(stage.api, node, input)));
        }
    };
    for (let turn = 0; turn < sizes.turns; turn++) {
        await inTurn(
            turn,
            async () => {
                await using node = await startTappedNode(stage);
                await secondsUntilServed(node, sizes.services);
                const count = sizes.changes / sizes.turns;
                const first = writtenFirst + turn * (2 * count);
                const replacement = 2 * turn * replacements;
                const changeAt = (at: number): Change => replacementAt(stage.api, first + at, replacement);
                written.push(await measureWritten(node.tap, watch, count, changeAt));
                await clientSees(node, seen.ours);
                const burst = { first: sizes.services - sizes.burst, count: sizes.burst };
                const next = replacement + replacements;
                bursts.push(await measureBurst(stage.api, node.tap, watch, { ...burst, replacement: next }));
            },
            async () => {
                await using node = await startProxyNode(stage);
                await secondsUntilServed(node, sizes.services);
                await clientSees(node, seen.peer);
            },
        );
    }
    return [...resultsOfWritten(written), ...resultsOfSeen(seen), ...resultsOfBursts(bursts)];
}

function resultsOfWritten(turns: readonly WrittenChanges[]): readonly Result[] {
    const all = (of: (turn: WrittenChanges) => readonly number[]): readonly number[] => turns.flatMap(of);
    const pairs = { ours: all(({ ours }) => ours), peer: all(({ peer: bare }) => bare) };
    const what = `one endpoint of ${sizes.services * endpointsEach} changes`;
    const common = { peer: bareWatch, pairs };
    const others = turns.reduce((sum, turn) => sum + turn.others, 0);
    return [
        comparison({ id: "services-change-p50", what: `${what}, until OVS has it, p50`, ...common, max: max.p50 }),
        comparison({
            id: "services-change-p99",
            what: `${what}, until OVS has it, p99`,
            ...common,
            share: 0.99,
            max: max.p99,
        }),
        figure({
            id: "services-change-messages",
            what: `${what}: OpenFlow messages for it`,
            value: median(all(({ messages }) => messages)),
            unit: "messages",
        }),
        figure({
            id: "services-change-written",
            what: `${what}: flows and groups written for it`,
            value: median(all(({ writes }) => writes)),
            unit: "writes",
        }),
        fact({
            id: "services-change-others",
            what: `${what}: flows and groups of others written in all ${pairs.ours.length} changes together`,
            value: others,
            unit: "writes",
            goal: "none",
            holds: others === 0,
        }),
    ];
}

function resultsOfSeen({ ours, peer: theirs }: Readonly<Record<"ours" | "peer", Seen>>): readonly Result[] {
    const titles = { row: "changes one after another", rest: "2 s after the change before" } as const;
    return (["row", "rest"] as const).map((pause) =>
        comparison({
            id: `services-change-client-${pause}`,
            what: `the only ready endpoint of a Service changes, until a client is answered by the next, ${titles[pause]}, p50`,
            peer,
            pairs: { ours: ours[pause], peer: theirs[pause] },
            maxRatio: max.seenRatio,
        }),
    );
}

function resultsOfBursts(bursts: readonly Burst[]): readonly Result[] {
    const what = `an endpoint of each of ${sizes.burst} Services changes at once`;
    return [
        typical({
            id: "services-burst-events",
            what: `${what}: time that the API server takes for the events`,
            samples: bursts.map(({ eventSeconds }) => eventSeconds),
            unit: "s",
        }),
        typical({
            id: "services-burst-late",
            what: `${what}: OVS has all, after the last event`,
            samples: bursts.map(({ lateSeconds }) => lateSeconds),
            unit: "s",
            max: max.lateSeconds,
        }),
    ];
}
