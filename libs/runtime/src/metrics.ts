import {
    collectDefaultMetrics,
    Counter as PromCounter,
    Gauge as PromGauge,
    Histogram as PromHistogram,
    Registry,
} from "prom-client";
import { RuntimeError } from "./errors.ts";

/**
 * Label values of one sample, one for each of the metric's `labelNames`. They come from a small fixed set, never from
 * users or the network.
 */
export type Labels<L extends string> = Readonly<Record<L, string>>;

/** Name, help text and label names of a metric. */
export interface MetricOptions<L extends string> {
    /** Full name with its unit, e.g. `antrea_agent_cni_call_duration_seconds`; counters end in `_total`. */
    readonly name: string;
    /** One sentence. */
    readonly help: string;
    /** Names of the labels. Default: none. */
    readonly labelNames?: readonly L[];
}

/**
 * A value that only increases (Prometheus counter) and starts at 0 with the process; with labels, a sample exists from
 * its first `inc`.
 */
export interface Counter<L extends string = never> {
    /** Adds `by` (default 1; not negative). */
    inc(labels?: Labels<L>, by?: number): void;
}

/**
 * A value that can increase and decrease (Prometheus gauge). Without labels it starts at 0; with labels, a sample
 * exists from its first `set` until `remove`.
 */
export interface Gauge<L extends string = never> {
    set(value: number, labels?: Labels<L>): void;
    /** Removes the sample with these labels, e.g. because the object is gone. */
    remove(labels: Labels<L>): void;
}

/**
 * Counts of observed values in buckets (Prometheus histogram), in the unit of its name; with labels, a sample exists
 * from its first `observe`.
 */
export interface Histogram<L extends string = never> {
    /** Counts one value. */
    observe(value: number, labels?: Labels<L>): void;
}

/** One sample of a gauge that is computed at each scrape: all its labels, and the value. */
export interface Sample<L extends string> {
    readonly labels: Labels<L>;
    readonly value: number;
}

/**
 * Declares metrics in the registry of the process. Each method throws RuntimeError `DUPLICATE_NAME` for a name in use.
 */
export interface MetricsFactory {
    /** Declares a counter. */
    counter<L extends string = never>(options: MetricOptions<L>): Counter<L>;
    /**
     * Declares a gauge. With `collect` it is computed at each scrape: as a number if it has no labels, else as all its
     * samples. If `collect` throws, the gauge has no samples in that scrape.
     */
    gauge<L extends string = never>(
        options: MetricOptions<L> & { readonly collect?: () => number | readonly Sample<L>[] },
    ): Gauge<L>;
    /** Declares a histogram. `buckets` are ascending upper bounds; default 1 ms to 60 s for durations in seconds. */
    histogram<L extends string = never>(
        options: MetricOptions<L> & { readonly buckets?: readonly number[] },
    ): Histogram<L>;
}

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * The metrics of one process in a registry of its own, in the text format of Prometheus by `text`; unless
 * `processMetrics` is false, those of the process and of Node.js too (`process_*`, `nodejs_*`).
 */
export class Metrics implements MetricsFactory {
    readonly #registry = new Registry();

    constructor(options: { readonly processMetrics?: boolean } = {}) {
        if (options.processMetrics ?? true) collectDefaultMetrics({ register: this.#registry });
    }

    /** Media type of `text`, for the Content-Type header. */
    get contentType(): string {
        return this.#registry.contentType;
    }

    /** Returns all metrics in the text format of Prometheus. */
    text(): Promise<string> {
        return this.#registry.metrics();
    }

    /** See {@link MetricsFactory}. */
    counter<L extends string = never>(options: MetricOptions<L>): Counter<L> {
        const metric = new PromCounter<L>(this.#checked(options));
        return { inc: (labels, by = 1) => (labels === undefined ? metric.inc(by) : metric.inc({ ...labels }, by)) };
    }

    /** See {@link MetricsFactory}. */
    gauge<L extends string = never>(
        options: MetricOptions<L> & { readonly collect?: () => number | readonly Sample<L>[] },
    ): Gauge<L> {
        const { collect } = options;
        const metric: PromGauge<L> = new PromGauge<L>({
            ...this.#checked(options),
            ...(collect !== undefined && { collect: () => refill(metric, collect) }),
        });
        return {
            set: (value, labels) => (labels === undefined ? metric.set(value) : metric.set({ ...labels }, value)),
            remove: (labels) => metric.remove({ ...labels }),
        };
    }

    /** See {@link MetricsFactory}. */
    histogram<L extends string = never>(
        options: MetricOptions<L> & { readonly buckets?: readonly number[] },
    ): Histogram<L> {
        const buckets = [...(options.buckets ?? durationBuckets)];
        const metric = new PromHistogram<L>({ ...this.#checked(options), buckets });
        return {
            observe: (value, labels) =>
                labels === undefined ? metric.observe(value) : metric.observe({ ...labels }, value),
        };
    }

    #checked<L extends string>(options: MetricOptions<L>): PromOptions<L> {
        const { name, help, labelNames } = options;
        if (this.#registry.getSingleMetric(name) !== undefined) {
            throw new RuntimeError("DUPLICATE_NAME", "internal", `the metric ${name} is declared twice`);
        }
        return { name, help, labelNames: [...(labelNames ?? [])], registers: [this.#registry] };
    }
}

interface PromOptions<L extends string> {
    readonly name: string;
    readonly help: string;
    readonly labelNames: L[];
    readonly registers: Registry[];
}

function refill<L extends string>(metric: PromGauge<L>, collect: () => number | readonly Sample<L>[]): void {
    metric.reset();
    let samples: number | readonly Sample<L>[];
    try {
        samples = collect();
    } catch {
        // A gauge that cannot be computed must not remove the others from the scrape. Without `remove`, a gauge without
        // labels would wrongly report 0.
        metric.remove();
        return;
    }
    if (typeof samples === "number") return metric.set(samples);
    for (const sample of samples) metric.set({ ...sample.labels }, sample.value);
}

/**
 * Declares the gauge `antrea_build_info`, which is always 1, with program, version and Node.js version as labels. Once
 * for a registry: a second call throws RuntimeError `DUPLICATE_NAME`.
 */
export function exportBuildInfo(metrics: MetricsFactory, program: string, version: string): void {
    const gauge = metrics.gauge({
        name: "antrea_build_info",
        help: "The program and its version; always 1.",
        labelNames: ["program", "version", "node_version"],
    });
    gauge.set(1, { program, version, node_version: process.version });
}
