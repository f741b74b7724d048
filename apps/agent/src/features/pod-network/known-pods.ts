import { Backoff, sleep, systemClock, type Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import type { KnownPod } from "./found-records.ts";

/** Dependencies of KnownPods. */
export interface KnownPodsComponents {
    /** Reads the Pods of this Node from the API server. */
    readonly pods: (signal: AbortSignal) => Promise<readonly KnownPod[]>;
    /** For the pauses between attempts. Default: the system clock. */
    readonly clock?: Clock;
    readonly logger: Logger;
}

/** How long the rebuild waits for the API server: Pod names are optional, traffic is not. */
const soonMs = 3_000;
/** How long a round waits for the Pods for which addresses are held. */
const roundMs = 5_000;

/** Reads the Pods of this Node from the API server, each method with another time limit; caches nothing. */
export class KnownPods {
    readonly #components: KnownPodsComponents;
    #hasAnswered = false;

    constructor(components: KnownPodsComponents) {
        this.#components = components;
    }

    /** Whether `soon` has got an answer. */
    get hasAnswered(): boolean {
        return this.#hasAnswered;
    }

    /**
     * The Pods, or undefined, which is logged, if the API server does not answer within 3 s. Rejects only if the signal
     * aborts.
     */
    async soon(signal: AbortSignal): Promise<readonly KnownPod[] | undefined> {
        const { logger, pods } = this.#components;
        try {
            const found = await pods(AbortSignal.any([signal, AbortSignal.timeout(soonMs)]));
            this.#hasAnswered = true;
            return found;
        } catch (error) {
            signal.throwIfAborted();
            logger.warn("the Pods of this Node cannot be read now", { reason: messageOf(error) });
            return undefined;
        }
    }

    /** The Pods: retries, 0.5 s to 10 s apart, until the API server has answered. Rejects only if the signal aborts. */
    async atLast(signal: AbortSignal): Promise<readonly KnownPod[]> {
        const { clock = systemClock, logger, pods } = this.#components;
        const backoff = new Backoff({ initialMs: 500, maxMs: 10_000 });
        for (;;) {
            try {
                return await pods(signal);
            } catch (error) {
                signal.throwIfAborted();
                logger.warn("Pods are not connected until the Pods of this Node can be read", {
                    reason: messageOf(error),
                });
                await sleep(backoff.next(), signal, clock);
            }
        }
    }

    /**
     * The Pods, for a round of the reconcile: one attempt, which rejects after 5 s. While it waits, no lost port is
     * restored.
     */
    inRound(signal: AbortSignal): Promise<readonly KnownPod[]> {
        return this.#components.pods(AbortSignal.any([signal, AbortSignal.timeout(roundMs)]));
    }
}
