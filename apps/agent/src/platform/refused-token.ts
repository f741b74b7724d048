import { type Clock } from "@antrea/async";
import type { Logger, MetricsFactory } from "@antrea/runtime";

/** Dependencies of RefusedToken. */
export interface RefusedTokenComponents {
    /**
     * `refusedSince`: since when the API server has answered only 401, in milliseconds of the monotonic clock;
     * undefined while it does not.
     */
    readonly api: { readonly refusedSince: number | undefined };
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
}

/**
 * Reports in `problem`, for /readyz, in the log and as gauge `antrea_agent_token_refused_seconds` that the API server
 * rejects the token of this agent (401), until an answer shows that it accepts it; a failed connection is inconclusive.
 * The cause is not known (its Pod object may be gone, or the authentication of the cluster fails), so nothing is
 * isolated and running Pods keep their traffic. Holds no timer: the caller calls `check`.
 */
export class RefusedToken {
    readonly #components: RefusedTokenComponents;
    #isLogged = false;

    constructor(components: RefusedTokenComponents) {
        this.#components = components;
        const { api, clock, metrics } = components;
        metrics.gauge({
            name: "antrea_agent_token_refused_seconds",
            help: "For how long the API server has refused the token of this agent (401); 0 while it accepts it.",
            collect: () => (api.refusedSince === undefined ? 0 : (clock.monotonic() - api.refusedSince) / 1000),
        });
    }

    /** That the API server rejects the token of this agent, as text for /readyz; undefined while it does not. */
    get problem(): string | undefined {
        return this.#components.api.refusedSince === undefined
            ? undefined
            : "the API server refuses the token of this agent (401); was its Pod object deleted, or its Node? Running Pods keep their traffic";
    }

    /** Logs a rejection and its end, once each; to be called every few seconds. */
    check(): void {
        const { api, logger } = this.#components;
        const isRefused = api.refusedSince !== undefined;
        if (isRefused === this.#isLogged) return;
        this.#isLogged = isRefused;
        if (isRefused) {
            logger.error(
                "the API server refuses the token of this agent (401); addresses cannot be allocated or released",
            );
        } else logger.info("the API server accepts the token of this agent again");
    }
}
