import { setTimeout as sleep } from "node:timers/promises";
import { type TestApiServer } from "@antrea/kube/testing";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { createPool, startAllocator } from "../ipam/allocator.ts";
import { leaseSeconds, startDhcp, type DhcpSubject } from "../ipam/dhcp.ts";
import { IpamHarness } from "../ipam/harness.ts";
import { openHostLocal } from "../ipam/host-local.ts";
import { loseAgentPods } from "../ipam/node-loss.ts";
import { burst, churn, deleteAll, exhaust, type Exhaustion } from "../ipam/scenarios.ts";
import { openStatic } from "../ipam/static-address.ts";
import { compared, comparison, fact, figure, type Result } from "../result.ts";
import { median, quantile, rotated, seededRandom } from "../statistics.ts";

/** Numbers of concurrent ADDs, and repetitions. */
const bursts = [
    { size: 1, rounds: 50 },
    { size: 10, rounds: 10 },
    { size: 100, rounds: 3 },
] as const;
type Size = (typeof bursts)[number]["size"];
const warmUp = 3;
const versions = 20;
const churned = { calls: 400, width: 8, most: 100 } as const;
const width = 4;
const lost = 100;
/** Container numbers of a subject start at a multiple of this. */
const containersOfOne = 100_000;

/** The measurements of one plugin. */
interface Shown {
    readonly harness: IpamHarness;
    /** Durations of processes that do nothing. */
    readonly starts: number[];
    readonly adds: Record<Size, number[]>;
    readonly dels: Record<Size, number[]>;
    /** ADDs per second of each burst. */
    readonly rates: Record<Size, number[]>;
}

/** IPAM plugins in one harness that uses only the CNI protocol: antrea-cni, host-local, dhcp, static. */
export async function ipam(): Promise<readonly Result[]> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await startChartServer());
    await createPool(server);
    const dhcp = stack.use(await startDhcp());
    const [ours, hostLocal, theirs] = [stack.use(await startAllocator(server)), stack.use(openHostLocal()), dhcp].map(
        (subject, at) => shownBy(new IpamHarness(subject, (at + 1) * containersOfOne)),
    ) as [Shown, Shown, Shown];
    const all = [ours, hostLocal, theirs];
    for (const { harness } of all) for (let call = 0; call < warmUp; call++) await burst(harness, 1);
    await measureBursts(all);
    const results = [
        ...startResults(ours, hostLocal),
        ...[ours, theirs].flatMap((shown) => burstResults(shown, hostLocal)),
        ...(await staticResults(hostLocal)),
    ];
    const churns = new Map<Shown, readonly number[]>();
    for (const shown of all) churns.set(shown, await churn(shown.harness, { ...churned, random: seededRandom(7) }));
    for (const shown of [ours, theirs]) results.push(...churnResults(shown, hostLocal, churns));
    for (const shown of all) results.push(refusals(shown));
    results.push(...(await storedResults(ours, hostLocal)));
    for (const shown of all) {
        results.push(...(await exhaustionResults(shown)));
    }
    results.push(...(await lossResults(server, ours, hostLocal, dhcp, theirs)));
    for (const shown of all) results.push(duplicates(shown));
    return results;
}

function shownBy(harness: IpamHarness): Shown {
    const empty = (): Record<Size, number[]> => ({ 1: [], 10: [], 100: [] });
    return { harness, starts: [], adds: empty(), dels: empty(), rates: empty() };
}

async function measureBursts(all: readonly Shown[]): Promise<void> {
    for (let run = 0; run < versions; run++) {
        for (const { harness, starts } of rotated(all, run)) starts.push((await harness.version()).ms);
    }
    for (const { size, rounds } of bursts) {
        for (let round = 0; round < rounds; round++) {
            for (const shown of rotated(all, round)) {
                const { adds, dels, wallMs } = await burst(shown.harness, size);
                shown.adds[size].push(...adds);
                shown.dels[size].push(...dels);
                shown.rates[size].push((adds.length * 1000) / wallMs);
            }
        }
    }
}

function startResults(ours: Shown, peer: Shown): readonly Result[] {
    return [
        comparison({
            id: "ipam-antrea-start",
            what: `${titleOf(ours)}: VERSION, a process without work, p50`,
            peer: titleOf(peer),
            pairs: { ours: ours.starts, peer: peer.starts },
        }),
    ];
}

function burstResults(shown: Shown, peer: Shown): readonly Result[] {
    const peerTitle = titleOf(peer);
    const sized = bursts.flatMap(({ size }) => {
        const id = `${idOf(shown)}-add-${size}`;
        const what = `${titleOf(shown)}: ${size === 1 ? "one ADD at a time" : `${size} ADDs at once`}`;
        const pairs = { ours: shown.adds[size], peer: peer.adds[size] };
        const most = (of: Shown): number => Math.max(...of.adds[size]);
        return [
            comparison({ id: `${id}-p50`, what: `${what}, p50`, peer: peerTitle, pairs }),
            comparison({ id: `${id}-p99`, what: `${what}, p99`, peer: peerTitle, pairs, share: 0.99 }),
            compared({
                id: `${id}-max`,
                what: `${what}, the longest`,
                unit: "ms",
                value: most(shown),
                peer: { what: peerTitle, value: most(peer) },
            }),
            compared({
                id: `${id}-rate`,
                what: `${what}, ADDs answered`,
                unit: "/s",
                value: median(shown.rates[size]),
                peer: { what: peerTitle, value: median(peer.rates[size]) },
            }),
        ];
    });
    const del = comparison({
        id: `${idOf(shown)}-del-1-p50`,
        what: `${titleOf(shown)}: one DEL at a time, p50`,
        peer: peerTitle,
        pairs: { ours: shown.dels[1], peer: peer.dels[1] },
    });
    return [...sized, del];
}

/** It has no pool: only the latency of one call can be compared. */
async function staticResults(peer: Shown): Promise<readonly Result[]> {
    await using subject = openStatic();
    const harness = new IpamHarness(subject, 4 * containersOfOne);
    const [adds, dels]: readonly [number[], number[]] = [[], []];
    for (let call = 0; call < bursts[0].rounds; call++) {
        const made = await burst(harness, 1);
        adds.push(...made.adds);
        dels.push(...made.dels);
    }
    const against = (id: string, what: string, ours: readonly number[], theirs: readonly number[]): Result =>
        comparison({ id, what: `${subject.title}: ${what}`, peer: titleOf(peer), pairs: { ours, peer: theirs } });
    return [
        against("ipam-static-add-1-p50", "one ADD at a time, p50", adds, peer.adds[1]),
        against("ipam-static-del-1-p50", "one DEL at a time, p50", dels, peer.dels[1]),
    ];
}

function churnResults(shown: Shown, peer: Shown, churns: ReadonlyMap<Shown, readonly number[]>): readonly Result[] {
    const [ours, theirs] = [churns.get(shown) ?? [], churns.get(peer) ?? []];
    const what = `${titleOf(shown)}: ${churned.calls} ADDs and DELs at random, ${churned.width} at once: an ADD`;
    return [0.5, 0.99].map((share) =>
        compared({
            id: `${idOf(shown)}-churn-p${share * 100}`,
            what: `${what}, p${share * 100}`,
            unit: "ms",
            value: quantile(ours, share),
            peer: { what: titleOf(peer), value: quantile(theirs, share) },
        }),
    );
}

function refusals(shown: Shown): Result {
    const { refused, subject } = shown.harness;
    return judged(subject.id === "antrea", {
        id: `${idOf(shown)}-refused`,
        what: `${subject.title}: ADDs of all of these refused, though addresses are free`,
        value: refused,
        unit: "ADDs",
        goal: "none",
        holds: refused === 0,
    });
}

async function storedResults(ours: Shown, peer: Shown): Promise<readonly Result[]> {
    const storedBy = async ({ harness }: Shown): Promise<number> => {
        const adds = async (): Promise<number> => {
            for (let call = 0; call < lost; call++) await harness.add();
            return lost;
        };
        const bytes = (await harness.subject.stored(adds)) ?? NaN;
        await deleteAll(harness, width);
        return bytes;
    };
    return [
        compared({
            id: "ipam-antrea-stored",
            what: `${titleOf(ours)}: bytes in etcd's log for an ADD`,
            unit: "B",
            value: await storedBy(ours),
            peer: { what: `${titleOf(peer)}, bytes in its files`, value: await storedBy(peer) },
        }),
    ];
}

/** The whole pool, one more address, and the whole pool again. Results of other plugins are reported without a goal. */
async function exhaustionResults(shown: Shown): Promise<readonly Result[]> {
    const { harness } = shown;
    const first = await exhaust(harness, width);
    await deleteAll(harness, width);
    const again = await exhaust(harness, width);
    await deleteAll(harness, width);
    const left = await harness.subject.taken();
    const [id, title, capacity] = [idOf(shown), titleOf(shown), harness.subject.capacity];
    const isOurs = harness.subject.id === "antrea";
    const given = (end: string, what: string, { adds }: Exhaustion): Result =>
        judged(isOurs, {
            id: `${id}-${end}`,
            what: `${title}: ${what}`,
            value: adds.length,
            unit: "ADDs",
            goal: `all ${capacity}`,
            holds: adds.length === capacity,
        });
    return [
        given("pool", `ADDs from a pool of ${capacity} before the first refusal`, first),
        figure({
            id: `${id}-pool-p99`,
            what: `${title}: an ADD, from the first address of the pool to its last, p99`,
            value: quantile(first.adds, 0.99),
            unit: "ms",
        }),
        figure({
            id: `${id}-refusal`,
            what: `${title}: the ADD after the last address is refused (${textOf(first)})`,
            value: first.refusalMs,
            unit: "ms",
        }),
        given("pool-again", `the same when all were freed, ADDs before the refusal`, again),
        judged(isOurs, {
            id: `${id}-leaks`,
            what: `${title}: addresses still taken when all are freed`,
            value: left,
            unit: "addresses",
            goal: "none",
            holds: left === 0,
        }),
    ];
}

async function lossResults(
    server: TestApiServer,
    ours: Shown,
    hostLocal: Shown,
    dhcp: DhcpSubject,
    theirs: Shown,
): Promise<readonly Result[]> {
    await addMany(theirs.harness);
    await dhcp.loseDaemon();
    theirs.harness.vanish();
    const lostAt = performance.now();
    await addMany(hostLocal.harness);
    hostLocal.harness.vanish();
    const { code, output } = await hostLocal.harness.collectGarbage();
    const kept = await hostLocal.harness.subject.taken();
    const refused = await exhaust(hostLocal.harness, width);
    const of = `${lost} containers vanish without a DEL`;
    const outcome = code === 0 ? "GC succeeds" : `GC: ${output.replaceAll("|", "/").trim().slice(0, 120)}`;
    const { gc, alone, outOfService } = await loseAgentPods(server, lost, 5 * containersOfOne);
    const again = await exhaust(ours.harness, width);
    await deleteAll(ours.harness, width);
    while ((await dhcp.taken()) > 0 && performance.now() - lostAt < 2 * leaseSeconds * 1000) await sleep(500);
    const leased = await dhcp.taken();
    const row = (id: string, when: string, { seconds, left }: { seconds: number; left: number }): Result =>
        fact({
            id: `ipam-antrea-loss-${id}`,
            what: `antrea-cni with agent and controller: ${of}; ${when}`,
            value: seconds,
            unit: "s",
            goal: "all are free again",
            holds: left === 0,
        });
    return [
        row("gc", "free again by GC of CNI", gc),
        row("alone", "free again with the agent alone, its reconcile", alone),
        row("taint", "free again by the controller, the Node out of service", outOfService),
        fact({
            id: "ipam-antrea-loss-pool",
            what: "antrea-cni: ADDs from the whole pool after all of that, before the refusal",
            value: again.adds.length,
            unit: "ADDs",
            goal: `all ${ours.harness.subject.capacity}`,
            holds: again.adds.length === ours.harness.subject.capacity,
        }),
        figure({
            id: "ipam-host-local-loss",
            what: `host-local: ${of}; addresses that stay taken after GC of CNI (${outcome})`,
            value: kept,
            unit: "addresses",
        }),
        figure({
            id: "ipam-host-local-loss-pool",
            what: "host-local: ADDs from the pool after that, before the refusal",
            value: refused.adds.length,
            unit: "ADDs",
        }),
        figure({
            id: "ipam-dhcp-loss",
            what: `dhcp: ${of}, and the daemon with them; until the leases of ${leaseSeconds} s ran out (${leased} left)`,
            value: (performance.now() - lostAt) / 1000,
            unit: "s",
        }),
    ];
}

async function addMany(harness: IpamHarness): Promise<void> {
    for (let call = 0; call < lost; call++) await harness.add();
}

function duplicates(shown: Shown): Result {
    const { duplicates: twice } = shown.harness.addresses;
    return judged(shown.harness.subject.id === "antrea", {
        id: `${idOf(shown)}-duplicates`,
        what: `${titleOf(shown)}: addresses given to two containers, all of the above`,
        value: twice.length,
        unit: "addresses",
        goal: "none",
        holds: twice.length === 0,
    });
}

function judged(isOurs: boolean, input: Parameters<typeof fact>[0]): Result {
    const { goal: _, holds: __, ...plain } = input;
    return isOurs ? fact(input) : figure(plain);
}

function textOf({ refusal }: Exhaustion): string {
    const text = refusal.msg.replaceAll("|", "/").replaceAll("\n", " ").trim();
    return `code ${refusal.code}: ${text.length > 160 ? `${text.slice(0, 160)}…` : text}`;
}

function idOf({ harness }: Shown): string {
    return `ipam-${harness.subject.id}`;
}

function titleOf({ harness }: Shown): string {
    return harness.subject.title;
}
