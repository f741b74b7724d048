import { aborted } from "@antrea/async";
import { type LeaderElection } from "@antrea/kube";
import { type LifecyclePart, type MetricsFactory } from "@antrea/runtime";

/** Work that only the leader does, for one term: ends when its signal aborts. */
export type Leader = (signal: AbortSignal) => Promise<void>;

/** The part that campaigns and, while leading, runs all leaders' work. One that ends takes the others with it. */
export function leadership(
    components: { readonly election: Pick<LeaderElection, "leading" | "run">; readonly metrics: MetricsFactory },
    leaders: readonly Leader[],
): LifecyclePart {
    const { election, metrics } = components;
    metrics.gauge({
        name: "antrea_controller_leader",
        help: "1 while this process leads.",
        collect: () => (election.leading ? 1 : 0),
    });
    const stop = new AbortController();
    let run: Promise<void> | undefined;
    const lead = async (signal: AbortSignal): Promise<void> => {
        const ended = new AbortController();
        const term = AbortSignal.any([signal, ended.signal]);
        const works = [aborted, ...leaders].map((work) => work(term).finally(() => ended.abort()));
        const failed = (await Promise.allSettled(works)).find((result) => result.status === "rejected");
        if (failed !== undefined) throw failed.reason;
    };
    return {
        name: "leadership",
        start: () => {
            run = election.run(stop.signal, lead);
        },
        stop: async () => {
            stop.abort();
            await run;
        },
    };
}
