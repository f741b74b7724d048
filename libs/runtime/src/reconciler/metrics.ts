import type { Counter, Histogram, MetricsFactory, Sample } from "../metrics.ts";
import type { ObjectState } from "./status.ts";

/** The operations of a reconciler that are counted. */
export type OperationName = "update" | "delete" | "prune";
type Counts = Readonly<Record<ObjectState, number>>;

/**
 * The metrics `antrea_reconciler_*` of all reconcilers of a process, with the reconciler's name as label; `of` returns
 * those of a registry.
 */
export class ReconcilerMetrics {
    static readonly #byFactory = new WeakMap<MetricsFactory, ReconcilerMetrics>();
    readonly #counts = new Map<string, () => Counts>();
    readonly #operations: Counter<"reconciler" | "operation" | "result">;
    readonly #seconds: Histogram<"reconciler" | "operation">;

    private constructor(factory: MetricsFactory) {
        factory.gauge({
            name: "antrea_reconciler_objects",
            help: "Objects of a reconciler by status: pending, done, error.",
            labelNames: ["reconciler", "status"],
            collect: () => this.#samples(),
        });
        this.#operations = factory.counter({
            name: "antrea_reconciler_operations_total",
            help: "Operations (update, delete, prune) of a reconciler by result (success, failure).",
            labelNames: ["reconciler", "operation", "result"],
        });
        this.#seconds = factory.histogram({
            name: "antrea_reconciler_operation_duration_seconds",
            help: "How long operations of a reconciler took; one over many objects counts once.",
            labelNames: ["reconciler", "operation"],
        });
    }

    /** Returns the metrics declared in this registry; declares them at the first call. */
    static of(factory: MetricsFactory): ReconcilerMetrics {
        const known = this.#byFactory.get(factory) ?? new ReconcilerMetrics(factory);
        this.#byFactory.set(factory, known);
        return known;
    }

    /** Reports these counts under the name until disposal; a later reconciler of that name replaces them. */
    show(reconciler: string, counts: () => Counts): Disposable {
        this.#counts.set(reconciler, counts);
        return {
            [Symbol.dispose]: () => {
                if (this.#counts.get(reconciler) === counts) this.#counts.delete(reconciler);
            },
        };
    }

    /** Counts an operation on `objects` objects that took `ms` milliseconds. */
    measure(
        reconciler: string,
        operation: OperationName,
        result: { readonly objects: number; readonly isSuccess: boolean; readonly ms: number },
    ): void {
        const labels = { reconciler, operation, result: result.isSuccess ? "success" : "failure" };
        this.#operations.inc(labels, result.objects);
        this.#seconds.observe(result.ms / 1000, { reconciler, operation });
    }

    *#each(): Iterable<Sample<"reconciler" | "status">> {
        for (const [reconciler, counts] of this.#counts) {
            for (const [status, value] of Object.entries(counts())) yield { labels: { reconciler, status }, value };
        }
    }

    #samples(): readonly Sample<"reconciler" | "status">[] {
        return [...this.#each()];
    }
}
