import { aborted } from "@antrea/async";
import { type LeaderElection } from "@antrea/kube";
import { type LifecyclePart, type MetricsFactory } from "@antrea/runtime";
import { type Feature } from "./feature.ts";

/** The part that takes part in the election and, while leading, runs all features. If one ends, all end. */
export function leadership(
    components: { readonly election: Pick<LeaderElection, "leading" | "run">; readonly metrics: MetricsFactory },
    features: readonly Pick<Feature, "lead">[],
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
        const works = [aborted(term), ...features.map((feature) => feature.lead(term))];
        const all = works.map((work) => work.finally(() => ended.abort()));
        const failed = (await Promise.allSettled(all)).find((result) => result.status === "rejected");
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
