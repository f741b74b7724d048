import { isKubeError, type InformerState } from "@antrea/kube";
import type { Clock, Logger, MetricsFactory } from "@antrea/runtime";

export interface RefusedTokenComponents {
    /** An informer that lists and watches as long as the agent runs. */
    readonly informer: { readonly state: InformerState };
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: MetricsFactory;
}

/**
 * Says so while the API server refuses the token of this agent (401), until an answer shows that it accepts it: a
 * connection that fails says nothing of the token. It cannot know why: its Pod object may be gone, with its Node, or the
 * authentication of the whole cluster fails. So nothing is isolated for it; running Pods keep their traffic.
 */
export class RefusedToken {
    readonly #components: RefusedTokenComponents;
    #since: number | undefined;

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
            if (this.#since !== undefined) return;
            this.#since = clock.monotonic();
            logger.error("the API server refuses the token of this agent; addresses cannot be claimed or freed", {
                reason: state.lastError.message,
            });
            return;
        }
        if (this.#since === undefined || !isAccepted(state)) return;
        this.#since = undefined;
        logger.info("the API server accepts the token of this agent again");
    }
}

/** The API server answers 403, 404 and 410 only to those whom it knows. */
function isAccepted(state: InformerState): boolean {
    if (state.kind === "watching") return true;
    return state.kind === "waiting" && isKubeError(state.lastError, "FORBIDDEN", "NOT_FOUND", "EXPIRED");
}
