import { type Clock } from "@antrea/async";
import { type ApiClient, type EventRecorder, type Informer, type Node } from "@antrea/kube";
import { type LifecyclePart, type Logger, type MetricsFactory } from "@antrea/runtime";
import { type ControllerConfig } from "@antrea/settings";
import { AllocationCache, AllocationWriter, reclaimMetrics, type Reclaims } from "./allocations/index.ts";
import { type Part } from "./feature.ts";
import { type LeaderJobs } from "./leader-jobs.ts";
import { PoolCache } from "./pool-cache/index.ts";

/**
 * What the features of IPPools share, with the feature gate AntreaIPAM enabled; made by `withPools`. The features start
 * and close none of it: `poolParts` has the caches, compose.ts the rest.
 */
export interface PoolPlatform {
    readonly kube: { readonly api: ApiClient };
    readonly clock: Clock;
    /** `cleanInterval` in milliseconds. */
    readonly config: { readonly ipam: Pick<ControllerConfig["ipam"], "cleanInterval"> };
    readonly metrics: MetricsFactory;
    readonly jobs: Pick<LeaderJobs, "show">;
    readonly events: Pick<EventRecorder, "record">;
    readonly nodes: Informer<Node>;
    /** The root of the features' loggers; see `poolComponents`. */
    readonly logger: Logger;
    readonly allocations: AllocationCache;
    readonly pools: PoolCache;
    readonly writer: AllocationWriter;
    readonly reclaims: Reclaims;
}

/** What PoolPlatform is built from: the members that a platform without IPPools has too. */
export type PoolGround = Omit<PoolPlatform, "allocations" | "pools" | "writer" | "reclaims">;

/**
 * Adds the caches of IPPools and IPAllocations to the platform, and the metrics of released allocations; starts
 * nothing. The parts of `poolParts` start and stop the caches. Called once for the registry of metrics.
 */
export function withPools({ kube, clock, config, metrics, jobs, events, nodes, logger }: PoolGround): PoolPlatform {
    const { api } = kube;
    return {
        kube,
        clock,
        config,
        metrics,
        jobs,
        events,
        nodes,
        logger,
        allocations: new AllocationCache({ api, clock, logger: logger.child("allocations") }),
        pools: new PoolCache({ api, nodes, clock, logger: logger.child("pool-cache") }),
        writer: new AllocationWriter({ api }),
        reclaims: reclaimMetrics(metrics),
    };
}

/** The caches of allocations and pools as parts, in start order; each is a part only once in a Lifecycle. */
export function poolParts({ allocations, pools }: PoolPlatform): readonly Part[] {
    return [watching(allocations), watching(pools)];
}

/**
 * A cache as a part, which starts and stops it. Its start does not wait for the lists; `problem` reports that they are
 * not complete.
 */
export function watching(cache: { readonly part: LifecyclePart; readonly hasSynced: boolean }): Part {
    return { ...cache.part, problem: () => (cache.hasSynced ? undefined : "they are not listed yet") };
}

/** What the leader's work of an IPPool feature depends on; it closes none of it. */
export type PoolComponents = Omit<PoolPlatform, "kube" | "events" | "config"> & {
    readonly api: ApiClient;
    readonly recorder: PoolPlatform["events"];
};

/**
 * Returns the part of the platform that the leader's work of an IPPool feature gets, with a logger of its own.
 *
 * @param logger the name under which the feature logs
 */
export function poolComponents({ kube, events, config: _, ...rest }: PoolPlatform, logger: string): PoolComponents {
    return { ...rest, api: kube.api, recorder: events, logger: rest.logger.child(logger) };
}
