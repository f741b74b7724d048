import { parseArgs } from "node:util";
import { actionNames } from "./actions.ts";
import { requestFaults } from "./api/faults.ts";
import { Counters } from "./check/counters.ts";
import { seededBugs } from "./seeded-bugs/index.ts";
import { inProcesses } from "./pool.ts";
import { prepareProcess, run } from "./simulation.ts";
import type { Delivery, Order } from "./worker.ts";

/** Kinds of faults; a run of many seeds in which one never occurred is not valid. */
export const faultCounters: readonly string[] = [
    ...actionNames.map((name) => `action.${name}`),
    ...requestFaults.map((name) => `request.${name}`),
    "request.partitioned",
    "flow.waited",
    "flow.waitedWide",
    "flow.rejected",
    "flow.abandoned",
    "request.unauthorized",
    "node.forgottenUnheard",
    "node.forgottenAgain",
    "node.forgottenWithStaticPod",
    "watch.broken",
    "watch.stalled",
    "watch.expired",
    ...[
        "cancelAdd",
        "repeatAdd",
        "repeatDel",
        "lateDel",
        "noDel",
        "earlyEnd",
        "delOvertakes",
        "loseDel",
        "ownFirst",
    ].map((name) => `runtime.${name}`),
    "node.reboot",
    "node.rebootWithoutDisk",
    "node.lost.deleted",
    "node.lost.out-of-service",
    "node.lost.unmarked",
    "node.joined",
    "node.replaced",
    "ovs.restart",
    "ovs.pause",
    "pool.vlan",
    "pool.redefinedUnheard",
    "pool.replaced",
    "cluster.bridged",
    "cluster.routed",
    ...["nobody", "antrea", "meta plugin"].map((name) => `cluster.networks.${name}`),
    ...["changed", "deleted", "poolShrunk", "gateOff", "isolated"].map((name) => `network.${name}`),
    ...[1, 2, 3].map((count) => `pod.networks.${count}`),
    "cni.checkOfNetwork",
    "cni.gcOfNetwork",
    "pod.fixed",
    "deployment.fixed",
    "pod.ofNamespace",
    "deployment.ofNamespace",
    "set.ofNamespace",
    ...["placed", "changed", "removed", "mirrorLate", "mirrorNever", "mirrorAgain"].map((name) => `static.${name}`),
    "namespace.replaced",
    "namespace.replacedInUse",
    "review.refused",
    "review.unanswered",
    "allocation.forced.agentAway",
    "allocation.forced.databaseLost",
    "allocation.byHandInSubnet.isolated",
    "allocation.outlivesItsPool",
];

/** With fewer seeds some faults may not occur. */
const enoughSeeds = 300;
const shrinkRuns = 80;
const shownFailures = 10;

const options = {
    seed: { type: "string" },
    seeds: { type: "string", default: "200" },
    first: { type: "string", default: "1" },
    steps: { type: "string", default: "1000" },
    actions: { type: "string" },
    workers: { type: "string", default: "2" },
    "seeded-bug": { type: "string" },
    "seeded-bugs": { type: "boolean", default: false },
    digest: { type: "boolean", default: false },
} as const;

/** See docs/simulation.md. The exit code is 0 only if no invariant was violated and every kind of fault occurred. */
export async function main(args: readonly string[]): Promise<number> {
    const { values } = parseArgs({ args: [...args], options });
    const steps = Number(values.steps);
    const seededBug = values["seeded-bug"];
    if (seededBug !== undefined && seededBugs[seededBug] === undefined) {
        process.stderr.write(`there is no seeded bug ${seededBug}; there are ${Object.keys(seededBugs).join(", ")}\n`);
        return 2;
    }
    if (values.seed !== undefined) {
        const only = values.actions?.split(",").map(Number);
        return replay({ seed: Number(values.seed), steps, only, seededBug, digest: values.digest });
    }
    const range = { first: Number(values.first), count: Number(values.seeds) };
    if (values["seeded-bugs"]) return findSeededBugs({ ...range, steps, workers: Number(values.workers) });
    return runMany({ ...range, steps, workers: Number(values.workers), seededBug });
}

interface Replay {
    readonly seed: number;
    readonly steps: number;
    readonly only: readonly number[] | undefined;
    readonly seededBug: string | undefined;
    /** Prints a hash of the history instead of the history. */
    readonly digest: boolean;
}

async function replay({ seed, steps, only, seededBug, digest }: Replay): Promise<number> {
    prepareProcess();
    let sum = 0x811c9dc5;
    const onHistoryLine = (line: string): void => {
        if (!digest) return void process.stdout.write(`${line}\n`);
        for (let at = 0; at < line.length; at += 1) sum = Math.imul(sum ^ line.charCodeAt(at), 0x01000193) >>> 0;
    };
    const result = await run({
        seed,
        steps,
        only,
        onHistoryLine,
        hooks: seededBug === undefined ? undefined : seededBugs[seededBug]?.hooks,
    });
    if (digest) process.stdout.write(`${sum.toString(16)}\n`);
    for (const { invariant, text } of result.violations) process.stdout.write(`${invariant}: ${text}\n`);
    process.stdout.write(
        `seed ${seed}: ${result.steps} steps, ${result.actions.length} actions, ${result.seconds.toFixed(0)} s of virtual time\n`,
    );
    return result.violations.length === 0 ? 0 : 1;
}

interface Many {
    readonly first: number;
    readonly count: number;
    readonly steps: number;
    readonly workers: number;
    readonly seededBug: string | undefined;
}

async function runMany({ first, count, steps, workers, seededBug }: Many): Promise<number> {
    const counters = new Counters();
    const began = performance.now();
    let [seeds, allSteps, seconds, failed] = [0, 0, 0, 0];
    const orders = function* (): Generator<Order, undefined> {
        for (let seed = first; seed < first + count; seed += 1) {
            yield { seed, steps, seededBug, shrinkRuns: failed < shownFailures ? shrinkRuns : 0 };
        }
        return undefined;
    };
    const onDelivery = (delivery: Delivery): boolean => {
        const { result } = delivery;
        seeds += 1;
        allSteps += result.steps;
        seconds += result.seconds;
        counters.add(result.counters);
        if (result.violations.length > 0) {
            failed += 1;
            if (failed <= shownFailures) report(delivery, { steps, seededBug });
        }
        return true;
    };
    await inProcesses(orders(), { workers, onDelivery });
    const took = (performance.now() - began) / 1000;
    const missing = count >= enoughSeeds ? faultCounters.filter((name) => counters.get(name) === 0) : [];
    process.stdout.write(`${JSON.stringify(counters.all(), undefined, 1)}\n`);
    if (missing.length > 0) process.stdout.write(`never occurred: ${missing.join(", ")}\n`);
    process.stdout.write(
        `${seeds} seeds, ${failed} failed; ${allSteps} steps in ${took.toFixed(1)} s, ${Math.round(allSteps / took)} a second; ` +
            `${(seconds / 3600).toFixed(1)} hours of virtual time\n`,
    );
    return failed === 0 && missing.length === 0 ? 0 : 1;
}

/** Whether every seeded bug is found, and by how many seeds. */
async function findSeededBugs({ first, count, steps, workers }: Omit<Many, "seededBug">): Promise<number> {
    let unfound = 0;
    for (const [seededBug, { source, what }] of Object.entries(seededBugs)) {
        let found: Delivery["result"] | undefined;
        let seeds = 0;
        const orders = function* (): Generator<Order, undefined> {
            for (let seed = first; seed < first + count; seed += 1) yield { seed, steps, seededBug, shrinkRuns: 0 };
            return undefined;
        };
        const onDelivery = ({ result }: Delivery): boolean => {
            seeds += 1;
            if (result.violations.length > 0) found ??= result;
            return found === undefined;
        };
        await inProcesses(orders(), { workers, onDelivery });
        const { invariant = "", text = "" } = found?.violations[0] ?? {};
        const outcome = found === undefined ? "NOT FOUND" : `found by seed ${found.seed}: ${invariant}: ${text}`;
        process.stdout.write(`${seededBug} (${what}; ${source})\n  after ${seeds} seeds: ${outcome.slice(0, 240)}\n`);
        if (found === undefined) unfound += 1;
    }
    return unfound === 0 ? 0 : 1;
}

function report({ result, shrunk = result }: Delivery, { steps, seededBug }: Pick<Many, "steps" | "seededBug">): void {
    const { invariant = "", text = "" } = shrunk.violations[0] ?? {};
    const command = [`make simulate SEED=${result.seed}`, `STEPS=${steps}`, `ACTIONS=${shrunk.actions.join(",")}`];
    if (seededBug !== undefined) command.push(`SEEDED_BUG=${seededBug}`);
    process.stdout.write(
        `seed ${result.seed}: ${invariant}: ${text}\n` +
            `  ${result.actions.length} actions, shrunk to ${shrunk.actions.length}; to see the history:\n  ${command.join(" ")}\n`,
    );
}
