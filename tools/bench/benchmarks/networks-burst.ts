import { burst, floorBurst, ListClaimant, ways, type Burst, type Way } from "../networks/bursts.ts";
import { ClaimWatch } from "../networks/claim-watch.ts";
import { type ListClaims } from "../networks/list-claims.ts";
import { networkCount, NetworksStage } from "../networks/stage.ts";
import { comparison, fact, typical, type Result } from "../result.ts";
import { rotated } from "../statistics.ts";

const podCount = 128;
const rounds = 3;
const maxClaimSeconds = 10;
const maxRatioOf = { single: 0.7, bridges: 0.5, list: 0.3 } as const;

interface Measured {
    readonly bursts: Readonly<Record<Way, Burst[]>>;
    readonly floors: number[];
    readonly lists: ListClaims[];
}

/** As many Pods as a dense Node has, with 16 networks each, all at once: against the alternatives, and the floor. */
export async function networksBurst(): Promise<readonly Result[]> {
    await using stage = await NetworksStage.start();
    await using watch = await ClaimWatch.open(stage.node.api);
    await using claimant = await ListClaimant.open(stage);
    const measured: Measured = { bursts: { "at-once": [], "one-by-one": [], bridges: [] }, floors: [], lists: [] };
    for (let round = 0; round < rounds; round++) {
        for (const side of rotated([...ways, "floor", "list"] as const, round)) {
            if (side === "floor") measured.floors.push(await floorBurst(stage, podCount));
            else if (side === "list") measured.lists.push(await claimant.burst(podCount));
            else measured.bursts[side].push(await burst(stage, watch, side, podCount));
        }
    }
    return [...successes(measured), ...times(measured)];
}

function successes({ bursts }: Measured): readonly Result[] {
    return ways.map((way) => {
        const all = bursts[way];
        const wanted = podCount * networkCount;
        const isWhole = ({ succeeded, claims, ports }: Burst): boolean =>
            succeeded === podCount && (way === "bridges" || (claims === wanted && ports === wanted));
        const failure = all.find((one) => one.failure !== "")?.failure ?? "";
        const input = {
            id: `networks-burst-success-${way}`,
            what: `${titleOf[way]}: Pods that got all interfaces and addresses, the fewest of ${rounds}${failure === "" ? "" : ` (${failure})`}`,
            value: Math.min(...all.map(({ succeeded }) => succeeded)),
            unit: "Pods",
        };
        return fact({ ...input, goal: `all ${podCount}`, holds: all.every(isWhole) });
    });
}

const what = `${podCount} Pods with ${networkCount} networks at once`;
const titleOf: Readonly<Record<Way, string>> = {
    "at-once": what,
    "one-by-one": `${what}, one network after another`,
    bridges: `${what}, bridge + host-local`,
};

function times({ bursts, floors, lists }: Measured): readonly Result[] {
    const seconds = (way: Way): readonly number[] => bursts[way].map((one) => one.seconds);
    const claims = bursts["at-once"].map(({ claimSeconds }) => claimSeconds);
    const dels = (way: Way): readonly number[] => bursts[way].map(({ delSeconds }) => delSeconds);
    const listSeconds = lists.map((one) => one.seconds);
    const against = (id: string, peer: string, theirs: readonly number[], maxRatio?: number): Result =>
        comparison({
            id: `networks-burst-${id}`,
            what: `${what}: the last answer`,
            peer,
            unit: "s",
            pairs: { ours: seconds("at-once"), peer: theirs },
            ...(maxRatio !== undefined && { maxRatio }),
        });
    const one = "the same agent, one network after another as a meta plugin calls it";
    const bridges = `bridge + host-local 1.9.1 on ${networkCount} Linux bridges, one network after another`;
    return [
        typical({
            id: "networks-burst-claims",
            what: `${what}: the last of ${podCount * networkCount} claims`,
            samples: claims,
            unit: "s",
            max: maxClaimSeconds,
        }),
        comparison({
            id: "networks-burst-claims-list",
            what: `${what}: the last claim`,
            peer: "a list in the status of one object for each pool, addresses alone",
            unit: "s",
            pairs: { ours: claims, peer: listSeconds },
            maxRatio: maxRatioOf.list,
        }),
        against("time", one, seconds("one-by-one"), maxRatioOf.single),
        against("time-bridges", bridges, seconds("bridges"), maxRatioOf.bridges),
        against("time-floor", "floor: the links and ports by a straight-line program", floors),
        comparison({
            id: "networks-burst-del",
            what: `${what}: the last answer of their DELs`,
            peer: one,
            unit: "s",
            pairs: { ours: dels("at-once"), peer: dels("one-by-one") },
        }),
        typical({
            id: "networks-burst-list-failures",
            what: "of the lists: claims that gave up after 8 conflicts and were repeated",
            samples: lists.map(({ failures }) => failures),
            unit: "claims",
        }),
    ];
}
