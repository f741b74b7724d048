import { ipPools, type IpPool, type IpRangeSpec } from "@antrea/crd";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { formatIp } from "@antrea/ip";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { type WebhookClient } from "../admission/webhook-client.ts";
import { WebhookUnderTest } from "../admission/webhook-under-test.ts";
import { withoutRules } from "../definitions.ts";
import { BenchError } from "../error.ts";
import { inParallel } from "../in-parallel.ts";
import { compared, figure, type Result } from "../result.ts";
import { quantile } from "../statistics.ts";

const counts = [10, 100, 1_000, 10_000];
const rangesOfPool = 4;
const reviews = 600;
const warmUp = 300;
const maxP99Ms = { count: 1_000, ms: 20 };

/** How long the webhook takes to review an IPPool, for an increasing number of stored pools. */
export async function admission(): Promise<readonly Result[]> {
    await using server = await startChartServer();
    await server.apply(withoutRules(customResourceDefinitions()));
    const { api } = server.clients();
    await using webhook = await WebhookUnderTest.start(server);
    const results: Result[] = [];
    let stored = 0;
    let fewest = 0;
    for (const count of counts) {
        const before = stored;
        await inParallel(count - before, 32, (index) => api.create(ipPools, poolAt(before + index)));
        stored = count;
        const times = await judge(webhook.client, count);
        const p50 = quantile(times, 0.5);
        if (fewest === 0) fewest = p50;
        const [of, id] = [`IPPool judged, ${count} pools of ${rangesOfPool} ranges stored`, `webhook-${count}`];
        results.push(
            growth({ id: `${id}-p50`, what: `${of}, p50`, value: p50, unit: "ms" }, fewest, count),
            figure({
                id: `${id}-p99`,
                what: `${of}, p99`,
                value: quantile(times, 0.99),
                unit: "ms",
                ...(count === maxP99Ms.count && { max: maxP99Ms.ms }),
            }),
        );
    }
    const memory = webhook.daemon.memory().now;
    results.push(
        figure({ id: "webhook-memory", what: `antrea-webhook with ${stored} pools`, value: memory, unit: "MiB" }),
    );
    return results;
}

/** Reviews a valid pool, an overlapping one, and an update, in turn; the milliseconds of each. */
async function judge(client: WebhookClient, count: number): Promise<readonly number[]> {
    const times: number[] = [];
    for (let index = -warmUp; index < reviews; index++) {
        const known = (index + warmUp) % count;
        const [fitting, stored] = [poolAt(counts.at(-1) ?? 0), poolAt(known)];
        const questions = [
            () => client.review({ ...fitting, metadata: { name: `fitting-${index}` } }),
            () => client.review({ ...stored, metadata: { name: `overlapping-${index}` } }),
            () => client.review(grownPool(stored), stored),
        ];
        const kind = (index + warmUp) % questions.length;
        const answer = await questions[kind]?.();
        if (answer?.allowed !== (kind !== 1)) {
            throw new BenchError("WRONG_RESULT", "internal", `review ${kind} with ${count} pools: ${answer?.allowed}`);
        }
        if (index >= 0) times.push(answer.ms);
    }
    return times;
}

/** Compares the growth with logarithmic growth. */
function growth(input: Parameters<typeof figure>[0], base: number, count: number): Result {
    const [fewest = count] = counts;
    if (count === fewest) return figure(input);
    const peer = { what: `the same with ${fewest} pools`, value: base };
    return compared({ ...input, peer, maxRatio: Math.log(count) / Math.log(fewest) });
}

// Every pool has its own 1,024 addresses, of which each range takes 64.
function poolAt(index: number): IpPool {
    const base = 0x0a00_0000 + index * 1_024; // 10.0.0.0
    const ranges = Array.from({ length: rangesOfPool }, (_, at) => rangeAt(base + at * 256, 64));
    return { metadata: { name: `bench-${index}` }, spec: { ipVersion: 4, ipRanges: ranges } };
}

function grownPool(pool: IpPool): IpPool {
    const [first, ...others] = pool.spec.ipRanges;
    if (first?.end === undefined) return pool;
    const end = first.end.replace(/\d+$/, "99");
    return { ...pool, spec: { ...pool.spec, ipRanges: [{ ...first, end }, ...others] } };
}

function rangeAt(first: number, size: number): IpRangeSpec {
    const text = (value: number): string => formatIp({ family: 4, value: BigInt(value) });
    return { start: text(first), end: text(first + size - 1), gateway: "10.255.255.254", prefixLength: 8 };
}
