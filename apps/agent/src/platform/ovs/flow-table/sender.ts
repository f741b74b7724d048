import { KeyedLock, orAborted, sleep } from "@antrea/async";
import { AntreaError, isErrorOf, messageOf } from "@antrea/errors";
import { OpenFlowError, type BundleMod } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";
import type { FlowLink } from "./flow-link.ts";

/** Pause when the send buffer is full because OVS reads too slowly: nothing was sent, so it is sent again. */
const bufferFullPauseMs = 100;

/** A change that waits for a replay that begins after that of this number; `wake` gets the owners refused in it. */
interface Waiter {
    readonly begunAfter: number;
    readonly wake: (refused: ReadonlySet<string>) => void;
}

/** Dependencies of Sender. */
export interface SenderComponents {
    readonly link: FlowLink;
    readonly logger: Logger;
    /** Called when OVS may have applied a bundle that is sent again, and may refuse it then. */
    readonly onNoAnswer: () => void;
}

/** - `ABORTED`: the signal aborted before OVS reconnected */
class SenderError extends AntreaError<"ABORTED"> {}

/**
 * Sends changes to OVS, in order per owner. Unanswered changes are sent again; changes in progress when the connection
 * is lost are covered by the next replay, for which the sender waits: the caller runs it in `replay` and makes each
 * change in its table before `send`.
 */
export class Sender {
    readonly #link: FlowLink;
    readonly #logger: Logger;
    readonly #onNoAnswer: () => void;
    /** By owner: a retried change must not overtake a later one. */
    readonly #locks = new KeyedLock();
    /** Replays are numbered as they begin; `#lastReplay` is the last one that completed. */
    #replaysBegun = 0;
    #lastReplay: { readonly number: number; readonly refused: ReadonlySet<string> } = { number: 0, refused: new Set() };
    readonly #waiters = new Set<Waiter>();

    constructor({ link, logger, onNoAnswer }: SenderComponents) {
        this.#link = link;
        this.#logger = logger;
        this.#onNoAnswer = onNoAnswer;
    }

    /**
     * Resolves when OVS has applied all messages, or a replay that contains them. Waits, without a limit, while OVS is
     * slow or disconnected. Rejects with OpenFlowError `REFUSED` if OVS rejects them, and has applied none of them
     * then, unless `details.partial`; with an error of fault `aborted` if the signal aborts.
     */
    async send(owners: readonly string[], mods: readonly BundleMod[], signal: AbortSignal | undefined): Promise<void> {
        await this.#locks.runAll(owners, () => this.#send(owners, mods, signal), signal);
    }

    /**
     * Runs a replay, which returns the owners whose flows OVS refused; when it completes, so do the changes that waited
     * for it, but those of these owners, which are sent again. Rejects as `work` does: the changes wait for a later
     * replay.
     */
    async replay(work: () => Promise<ReadonlySet<string>>): Promise<void> {
        this.#replaysBegun += 1;
        const begun = this.#replaysBegun;
        const refused = await work();
        this.#lastReplay = { number: begun, refused };
        for (const { begunAfter, wake } of this.#waiters) if (begunAfter < begun) wake(refused);
    }

    async #send(owners: readonly string[], mods: readonly BundleMod[], signal: AbortSignal | undefined): Promise<void> {
        for (;;) {
            // A replay that has begun already may have read the table before these flows were added.
            const begunAfter = this.#replaysBegun;
            try {
                return await this.#link.bundle(mods, { signal });
            } catch (error) {
                if (!(error instanceof AntreaError)) throw error;
                if (error.fault === "timeout") {
                    // The connection is up and OVS is only slow: no replay will follow.
                    this.#logger.warn("OVS did not answer in time; sending the flows again", {
                        reason: messageOf(error),
                    });
                    this.#onNoAnswer();
                    continue;
                }
                if (error.fault !== "environment") throw error;
                if (isErrorOf(OpenFlowError, error, "BUFFER_FULL")) {
                    await sleep(bufferFullPauseMs, signal);
                    continue;
                }
                // Nothing was sent, and a replay in progress may be the last one: the next call waits for its end.
                if (isErrorOf(OpenFlowError, error, "NOT_CONNECTED")) continue;
                this.#logger.debug("OVS is disconnected, waiting for the replay", { reason: messageOf(error) });
                const refused = await this.#replayAfter(begunAfter, signal);
                // Sent alone they are refused to this caller.
                if (owners.some((owner) => refused.has(owner))) continue;
                return;
            }
        }
    }

    /** Waits for a replay that begins after this one; resolves with the owners whose flows OVS refused in it. */
    async #replayAfter(begunAfter: number, signal: AbortSignal | undefined): Promise<ReadonlySet<string>> {
        if (this.#lastReplay.number > begunAfter) return this.#lastReplay.refused;
        const { promise, resolve } = Promise.withResolvers<ReadonlySet<string>>();
        const waiter: Waiter = { begunAfter, wake: resolve };
        this.#waiters.add(waiter);
        try {
            return await orAborted(promise, signal, () => stoppedWaiting(signal?.reason));
        } finally {
            this.#waiters.delete(waiter);
        }
    }
}

function stoppedWaiting(cause: unknown): SenderError {
    return new SenderError("ABORTED", "aborted", "stopped waiting for OVS to come back", { cause });
}
