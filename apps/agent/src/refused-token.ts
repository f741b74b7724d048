import { isKubeError, type InformerState } from "@antrea/kube";
import type { Clock, Logger, MetricsFactory } from "@antrea/runtime";

export interface RefusedTokenComponents {
    /** An informer that lists and watches as long as the agent runs. */
    readonly informer: { readonly state: InformerState };
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
}

/** Between two tries of an informer lie up to 15 s, in which it waits; only for a moment it does not. */
const looksUntilAccepted = 2;

/**
 * Says so while the API server refuses the token of this agent (401). It cannot know why: its Pod object may be gone, with
 * its Node, or the authentication of the whole cluster fails. So nothing is isolated for it; running Pods keep their
 * traffic.
 */
export class RefusedToken {
    readonly #components: RefusedTokenComponents;
    #since: number | undefined;
    #looksWithout = 0;

    constructor(components: RefusedTokenComponents) {
        this.#components = components;
        components.metrics.gauge({
            name: "antrea_agent_token_refused_seconds",
            help: "For how long the API server has refused the token of this agent (401); 0 while it accepts it.",
            collect: () => (this.#since === undefined ? 0 : (components.clock.monotonic() - this.#since) / 1000),
        });
    }

    /** Why /readyz fails, if the API server refuses the token of this agent. */
    get problem(): string | undefined {
        return this.#since === undefined
            ? undefined
            : "the API server refuses the token of this agent (401); is its Pod object gone, or its Node? Running Pods keep their traffic";
    }

    /** To be called every few seconds. */
    look(): void {
        const { clock, informer, logger } = this.#components;
        const { state } = informer;
        if (state.kind === "waiting" && isKubeError(state.lastError, "UNAUTHORIZED")) {
            this.#looksWithout = 0;
            if (this.#since !== undefined) return;
            this.#since = clock.monotonic();
            logger.error("the API server refuses the token of this agent; addresses cannot be claimed or freed", {
                reason: state.lastError.message,
            });
            return;
        }
        this.#looksWithout += 1;
        if (this.#since === undefined || this.#looksWithout < looksUntilAccepted) return;
        this.#since = undefined;
        logger.info("the API server accepts the token of this agent again");
    }
}
