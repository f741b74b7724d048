import { aborted } from "@antrea/async";
import { type LeaderElection } from "@antrea/kube";
import { type LifecyclePart, type MetricsFactory } from "@antrea/runtime";
import { type Feature } from "./feature.ts";
import { together } from "./together.ts";

/**
 * Returns the part that takes part in the election and, while leading, runs all features, each once per term. If one
 * ends or rejects, the others are aborted and the lease is released; a new term may follow. Its start does not wait to
 * lead; its stop waits until all features have ended. Declares the gauge `antrea_controller_leader`, so it is called
 * once for a registry.
 */
export function leadership(
    components: { readonly election: Pick<LeaderElection, "leading" | "run">; readonly metrics: MetricsFactory },
    features: readonly Pick<Feature, "lead" | "name">[],
): LifecyclePart {
    const { election, metrics } = components;
    metrics.gauge({
        name: "antrea_controller_leader",
        help: "1 while this process leads.",
        collect: () => (election.leading ? 1 : 0),
    });
    const stop = new AbortController();
    let run: Promise<void> | undefined;
    const lead = (signal: AbortSignal): Promise<void> =>
        together(signal, [aborted, ...features.map((feature) => (term: AbortSignal) => feature.lead(term))]);
    return {
        name: "leadership",
        includes: features.map(({ name }) => name),
        start: () => {
            run = election.run(stop.signal, lead);
        },
        stop: async () => {
            stop.abort();
            await run;
        },
    };
}
