import { AntreaError } from "@antrea/errors";
import type { ConnectionState } from "@antrea/openflow/connection";
import type { MetricsFactory } from "@antrea/runtime";

class ReadinessError extends AntreaError<"NOT_READY"> {}

/** What must be in place before Pods can be wired, by name; each with what is missing, in words for a user. */
export class Readiness {
    readonly #problems = new Map<string, string>();
    readonly #passing: () => string | undefined;
    #waiters: (() => void)[] = [];

    /**
     * @param conditions name and what is missing until it is first met
     * @param passing what is missing just now and comes back by itself: told, but not waited for
     */
    constructor(conditions: Readonly<Record<string, string>>, passing: () => string | undefined = () => undefined) {
        this.#passing = passing;
        for (const [name, problem] of Object.entries(conditions)) this.#problems.set(name, problem);
    }

    met(name: string): void {
        this.#problems.delete(name);
        if (this.#problems.size === 0) for (const wake of this.#waiters.splice(0)) wake();
    }

    unmet(name: string, problem: string): void {
        this.#problems.set(name, problem);
    }

    /** The names of the conditions that are not met. */
    unmetConditions(): readonly string[] {
        return [...this.#problems.keys()];
    }

    /** What is missing, or undefined when nothing is. */
    missing(): string | undefined {
        return this.#problems.size === 0 ? this.#passing() : [...this.#problems.values()].join("; ");
    }

    /** Resolves when nothing is missing. Rejects when the signal ends first. */
    ready(signal: AbortSignal): Promise<void> {
        if (this.#problems.size === 0) return Promise.resolve();
        return new Promise((resolve, reject) => {
            const aborted = (): void => {
                this.#waiters = this.#waiters.filter((waiter) => waiter !== wake);
                reject(
                    new ReadinessError("NOT_READY", "timeout", this.missing() ?? "it just became ready", {
                        cause: signal.reason,
                    }),
                );
            };
            const wake = (): void => {
                signal.removeEventListener("abort", aborted);
                resolve();
            };
            if (signal.aborted) return aborted();
            signal.addEventListener("abort", aborted, { once: true });
            this.#waiters.push(wake);
        });
    }
}

/** What is missing of the connection to ovs-vswitchd, or undefined when it has the flows and takes changes. */
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

/** What keeps Pods from being wired, read at each scrape. */
export function declareReadiness(metrics: MetricsFactory, readiness: Pick<Readiness, "unmetConditions">): void {
    metrics.gauge({
        name: "antrea_agent_unmet_conditions",
        help: "1 for each condition that is missing so that Pods can be wired; /readyz?verbose says what it is.",
        labelNames: ["condition"],
        collect: () => readiness.unmetConditions().map((condition) => ({ labels: { condition }, value: 1 })),
    });
}
