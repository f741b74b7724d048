import type { LifecyclePart } from "@antrea/runtime";
import type { NodePlatform } from "./node-platform.ts";
import type { FeaturePipeline } from "./ovs/pipeline.ts";

/**
 * A feature of the agent, on a Node whose podCIDRs are known. `feature.ts` of its folder exports one function that
 * builds it from the platform, which compose/ calls. What a feature does outside of the start of all features, before the
 * Node is known or after it, is in its files named `…-parts.ts`; what compose/ passes to others, such as adapters and the
 * CNI codes of its errors, in its `index.ts`. compose/ imports nothing else of a feature. Features do not import each
 * other: what one needs of another, it declares as an interface, and compose/ passes it.
 */
export interface Feature extends Pick<LifecyclePart, "name" | "start" | "stop"> {
    /** Its tables of the pipeline, and its flows that belong to no object such as a Pod or another Node. */
    readonly pipeline?: FeaturePipeline;
    /**
     * Passes its other desired flows to the flow table, before the first replay sends all flows to OVS; or stores what the
     * next start has to know as soon as OVS has them.
     */
    stage?(signal: AbortSignal): Promise<void> | void;
    /**
     * Called when OVS has the staged flows: adds jobs, listeners, health checks and metrics. Jobs run once all features
     * are started. Flows of earlier starts of the agent are deleted afterwards. The signal, as that of `stage`, lives as
     * long as the features: it aborts right before the first `stop`, also when a start failed.
     */
    start?(signal: AbortSignal): Promise<void> | void;
    /**
     * Called in reverse start order, after the jobs have ended. Also called if `stage` or `start` was called and the
     * start of a feature, or of a later part of the agent, failed then: with `startFailed`.
     */
    stop?(o?: { readonly startFailed: boolean }): Promise<void> | void;
}

/**
 * Starts the features in this order, each step for all of them before the next one: registers their tables, stages
 * their flows, sends them to OVS, calls `start`, deletes flows of earlier starts of the agent. Rejects with the first
 * error of a step, after it has stopped what was begun, as `stopFeatures` does.
 *
 * @param signal aborts the start and, after it, the work that features do until they are stopped
 */
export async function startFeatures(
    platform: Pick<NodePlatform, "pipeline" | "flowStart" | "transport" | "openflow" | "logger">,
    features: readonly Feature[],
    signal: AbortSignal,
): Promise<void> {
    const { pipeline, flowStart } = platform;
    const begun = new Set<Feature>();
    // After a failed start nobody else aborts what the features have begun, and their `stop` may wait for its end.
    const failed = new AbortController();
    const lifetime = AbortSignal.any([signal, failed.signal]);
    try {
        // All tables must be known before any flow is generated: the next table of a flow depends on the tables in use.
        pipeline.use(features.flatMap((feature) => feature.pipeline ?? []));
        for (const feature of features) {
            if (feature.stage === undefined) continue;
            begun.add(feature);
            await feature.stage(lifetime);
        }
        await flowStart.install(lifetime);
        for (const feature of features) {
            begun.add(feature);
            await feature.start?.(lifetime);
        }
        await flowStart.deleteEarlier(lifetime);
    } catch (error) {
        failed.abort(error);
        const left = features.filter((feature) => begun.has(feature));
        // Failures of the stop are logged there; the error of the start explains them.
        await stopFeatures(platform, left, { startFailed: true }).catch(() => undefined);
        throw error;
    }
}

/**
 * Stops the features one by one, in reverse order, then the watch of the transport interface and the connection to OVS.
 * A failure does not prevent the rest: each is logged with the name of what did not stop, and at the end it rejects with
 * the first one.
 *
 * @param o.startFailed default false
 */
export async function stopFeatures(
    { transport, openflow, logger }: Pick<NodePlatform, "transport" | "openflow" | "logger">,
    features: readonly Feature[],
    { startFailed }: { readonly startFailed: boolean } = { startFailed: false },
): Promise<void> {
    const steps: readonly Pick<Feature, "name" | "stop">[] = [
        ...features.toReversed(),
        { name: "transport", stop: () => transport[Symbol.dispose]() },
        { name: "openflow", stop: () => openflow.close() },
    ];
    const failures: unknown[] = [];
    for (const step of steps) {
        try {
            await step.stop?.({ startFailed });
        } catch (error) {
            failures.push(error);
            logger.error("did not stop", { feature: step.name, error });
        }
    }
    if (failures.length > 0) throw failures[0];
}
