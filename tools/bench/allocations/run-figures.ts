import { fact, type Result } from "../result.ts";
import { quantile } from "../statistics.ts";
import { type Run } from "./workers.ts";

// Without any success all of these are NaN, which meets no goal.

/** Median latency of the successful allocations, in milliseconds. */
export function p50({ latencies }: Run): number {
    return quantile(latencies, 0.5);
}

/** 99th percentile of their latency, in milliseconds. */
export function p99({ latencies }: Run): number {
    return quantile(latencies, 0.99);
}

/** Processor time of kube-apiserver per allocation, in milliseconds. */
export function apiCpuOfOne({ cost, latencies }: Run): number {
    return cost.cpuMs / latencies.length;
}

/** Processor time of the agents per allocation, in milliseconds. */
export function agentCpuOfOne({ cpuMs, latencies }: Run): number {
    return cpuMs / latencies.length;
}

/** Bytes in etcd's log per allocation. */
export function writtenOfOne({ cost, latencies }: Run): number {
    return cost.etcdBytes / latencies.length;
}

/** Bytes of watch events per allocation. */
export function watchedOfOne({ cost, latencies }: Run): number {
    return cost.watchedBytes / latencies.length;
}

/** A count as a percentage of all allocations, including failed ones. */
export function percentOf(runs: readonly Run[], of: (run: Run) => number): number {
    const sum = (one: (run: Run) => number): number => runs.reduce((total, run) => total + one(run), 0);
    return (100 * sum(of)) / sum((run) => run.latencies.length + run.failures);
}

/** Requires that no allocation failed; a failure is quoted. */
export function noFailures(id: string, what: string, runs: readonly Run[]): Result {
    const failure = failureOf(runs);
    return fact({
        id,
        what: `${what}${failure === undefined ? "" : ` (${failure.replaceAll("|", "/").slice(0, 300)})`}`,
        value: percentOf(runs, (run) => run.failures),
        unit: "%",
        goal: "none",
        holds: failure === undefined,
    });
}

/** The text of one failure, if there was any. */
export function failureOf(runs: readonly Run[]): string | undefined {
    return runs.find((run) => run.failure !== undefined)?.failure;
}
