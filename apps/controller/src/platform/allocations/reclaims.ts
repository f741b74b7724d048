import { type MetricsFactory, type Sample } from "@antrea/runtime";

/**
 * Why the controller releases an allocation: its Node is deleted, or out of service with the Pod deleted; no
 * StatefulSet requests the reservation; the Node no longer has the reserved address or no pool contains it; no pool
 * names the reserved gateway.
 */
export type ReclaimReason =
    "node-gone" | "out-of-service" | "reservation-unwanted" | "node-address-unwanted" | "gateway-unwanted";

/** Counts the allocations that the controller releases, by reason, in metrics; made by `reclaimMetrics`. */
export interface Reclaims {
    /** Counts one allocation that was released. */
    done(reason: ReclaimReason): void;
    /**
     * Registers the number of candidates for release for this reason, read at each scrape, until disposed of. A reason
     * has one at a time: it replaces the former, whose disposal then has no effect.
     */
    watch(reason: ReclaimReason, candidates: () => number): Disposable;
}

/**
 * Declares the metrics of released allocations (`antrea_controller_ippool_reclaims_total`) and of candidates
 * (`antrea_controller_ippool_leaks`), both by reason, and returns what updates them. Once for a registry.
 */
export function reclaimMetrics(metrics: MetricsFactory): Reclaims {
    const counter = metrics.counter<"reason">({
        name: "antrea_controller_ippool_reclaims_total",
        help: "Allocations that the controller released or returned to their StatefulSet, by reason.",
        labelNames: ["reason"],
    });
    const sources = new Map<ReclaimReason, () => number>();
    metrics.gauge<"reason">({
        name: "antrea_controller_ippool_leaks",
        help: "Allocations that appear to be unused and are not released yet, by reason. Returns to 0.",
        labelNames: ["reason"],
        collect: () =>
            [...sources].map(([reason, count]): Sample<"reason"> => ({ labels: { reason }, value: count() })),
    });
    return {
        done: (reason) => counter.inc({ reason }),
        watch: (reason, candidates) => {
            sources.set(reason, candidates);
            const dispose = (): void => {
                if (sources.get(reason) === candidates) sources.delete(reason);
            };
            return { [Symbol.dispose]: dispose };
        },
    };
}
