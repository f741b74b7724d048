import { type MetricsFactory, type Sample } from "@antrea/runtime";

/**
 * Why a claim is freed by the controller: its Node is gone, or out of service and the Pod is gone; no StatefulSet asks
 * for the reservation; it held an address of a Node that has it no more or that no pool covers now; no pool names the
 * gateway that it held.
 */
export type ReclaimReason =
    "node-gone" | "out-of-service" | "reservation-unwanted" | "node-address-unwanted" | "gateway-unwanted";

/** Counts what the controller frees, by reason. */
export interface Reclaims {
    done(reason: ReclaimReason): void;
    /** Says how many claims look as if they were to be freed for this reason; asked at each scrape. */
    watch(reason: ReclaimReason, candidates: () => number): Disposable;
}

export function reclaimMetrics(metrics: MetricsFactory): Reclaims {
    const counter = metrics.counter<"reason">({
        name: "antrea_controller_ippool_reclaims_total",
        help: "Claims of addresses that the controller freed or gave back to their StatefulSet, by reason.",
        labelNames: ["reason"],
    });
    const sources = new Map<ReclaimReason, () => number>();
    metrics.gauge<"reason">({
        name: "antrea_controller_ippool_leaks",
        help: "Claims that look as if nobody needed them and are not freed yet, by reason. Returns to 0.",
        labelNames: ["reason"],
        collect: () =>
            [...sources].map(([reason, count]): Sample<"reason"> => ({ labels: { reason }, value: count() })),
    });
    return {
        done: (reason) => counter.inc({ reason }),
        watch: (reason, candidates) => {
            sources.set(reason, candidates);
            return { [Symbol.dispose]: () => sources.delete(reason) };
        },
    };
}
