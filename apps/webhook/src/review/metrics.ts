import { type Counter, type Histogram, type MetricsFactory } from "@antrea/runtime";

/** The metrics of admission requests; made by `reviewMetrics`. */
export interface ReviewMetrics {
    /** Requests by answer: `allowed` is true, false, or error if no decision was made. */
    readonly requests: Counter<"webhook" | "kind" | "operation" | "allowed">;
    /** Seconds from the whole request to its answer. */
    readonly seconds: Histogram<"webhook">;
}

/**
 * Declares the metrics of admission requests, `antrea_webhook_requests_total` and
 * `antrea_webhook_request_duration_seconds`, and returns what updates them. Once for a registry.
 */
export function reviewMetrics(metrics: MetricsFactory): ReviewMetrics {
    return {
        requests: metrics.counter({
            name: "antrea_webhook_requests_total",
            help: "Admission requests by webhook, kind, operation and answer (true, false, error).",
            labelNames: ["webhook", "kind", "operation", "allowed"],
        }),
        seconds: metrics.histogram({
            name: "antrea_webhook_request_duration_seconds",
            help: "From the whole request to its answer.",
            labelNames: ["webhook"],
            buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10],
        }),
    };
}
