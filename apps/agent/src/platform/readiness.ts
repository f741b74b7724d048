import { orAborted } from "@antrea/async";
import { AntreaError } from "@antrea/errors";
import type { ConnectionState } from "@antrea/openflow/connection";
import type { MetricsFactory } from "@antrea/runtime";

class ReadinessError extends AntreaError<"NOT_READY"> {}

/**
 * The conditions that must be met before Pods can be wired, by name, each with its problem as text for users. Any part
 * of the agent sets its own condition, again and again; `ready` waits until none is unmet.
 */
export class Readiness {
    readonly #problems = new Map<string, string>();
    readonly #passing: () => string | undefined;
    readonly #waiters = new Set<() => void>();

    /**
     * @param conditions by name, the problem reported until the condition is first met
     * @param passing a temporary problem that resolves without intervention: reported, but not waited for
     */
    constructor(conditions: Readonly<Record<string, string>>, passing: () => string | undefined = () => undefined) {
        this.#passing = passing;
        for (const [name, problem] of Object.entries(conditions)) this.#problems.set(name, problem);
    }

    /**
     * Marks a condition as met; when the last one is met, `ready` resolves. No effect on one that is met or unknown.
     */
    met(name: string): void {
        this.#problems.delete(name);
        if (this.#problems.size === 0) for (const wake of this.#waiters) wake();
    }

    /**
     * Marks a condition as not met, for this reason, which replaces the former. Adds the condition if the name is new.
     */
    unmet(name: string, problem: string): void {
        this.#problems.set(name, problem);
    }

    /** The names of the conditions that are not met. */
    unmetConditions(): readonly string[] {
        return [...this.#problems.keys()];
    }

    /**
     * The problems of all unmet conditions, joined by "; "; if all are met, the temporary problem. Undefined if there
     * is none.
     */
    missing(): string | undefined {
        return this.#problems.size === 0 ? this.#passing() : [...this.#problems.values()].join("; ");
    }

    /**
     * Resolves when all conditions are met, whatever the temporary problem. Rejects with ReadinessError `NOT_READY` if
     * the signal aborts first.
     */
    async ready(signal: AbortSignal): Promise<void> {
        if (this.#problems.size === 0) return;
        const { promise, resolve: wake } = Promise.withResolvers<void>();
        this.#waiters.add(wake);
        try {
            await orAborted(promise, signal, () => this.#notReady(signal));
        } finally {
            this.#waiters.delete(wake);
        }
    }

    #notReady({ reason }: AbortSignal): ReadinessError {
        const message = this.missing() ?? "it just became ready";
        return new ReadinessError("NOT_READY", "timeout", message, { cause: reason });
    }
}

/**
 * The problem of the connection to ovs-vswitchd, as text for users; undefined if OVS has the flows and accepts changes.
 */
export function openflowProblem({ kind }: ConnectionState): string | undefined {
    switch (kind) {
        case "ready":
            return undefined;
        case "replaying":
            return "ovs-vswitchd does not have all flows again";
        case "connecting":
        case "closed":
            return "ovs-vswitchd is not connected";
    }
}

/**
 * Declares the gauge `antrea_agent_unmet_conditions`, 1 for each unmet condition (label `condition`), read at each
 * scrape. Once for a registry: a second call throws RuntimeError `DUPLICATE_NAME`.
 */
export function declareReadiness(metrics: MetricsFactory, readiness: Pick<Readiness, "unmetConditions">): void {
    metrics.gauge({
        name: "antrea_agent_unmet_conditions",
        help: "1 for each condition that is missing so that Pods can be wired; /readyz?verbose lists them.",
        labelNames: ["condition"],
        collect: () => readiness.unmetConditions().map((condition) => ({ labels: { condition }, value: 1 })),
    });
}
