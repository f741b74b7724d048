import { KeyedLock, sleep } from "@antrea/async";
import { AntreaError, isErrorOf, messageOf } from "@antrea/errors";
import { OpenFlowError, type FlowMod } from "@antrea/openflow";
import type { Logger } from "@antrea/runtime";
import type { FlowLink } from "./flow-link.ts";

/** OVS reads slower than it is written to: nothing was sent, so it is sent again a little later. */
const bufferFullPauseMs = 100;

/** - `ABORTED`: the signal ended before OVS was back */
class SenderError extends AntreaError<"ABORTED"> {}

/**
 * Brings changes to OVS, those of one owner in their order. What OVS does not answer is sent again; what was under way
 * when the connection was lost is carried by the next replay, which is waited for.
 */
export class Sender {
    readonly #link: FlowLink;
    readonly #logger: Logger;
    /** By owner: a change that is sent again must not come after a later one. */
    readonly #turns = new KeyedLock();
    /** Replays are numbered as they begin; `#lastReplay` is the last one that was all done. */
    #replaysBegun = 0;
    #lastReplay = 0;
    #waiters: { readonly begunAfter: number; readonly wake: () => void }[] = [];

    constructor(link: FlowLink, logger: Logger) {
        this.#link = link;
        this.#logger = logger;
    }

    /** Resolves when OVS has all of it; rejects when OVS refuses it, and has none of it then. */
    async send(owners: readonly string[], mods: readonly FlowMod[], signal: AbortSignal | undefined): Promise<void> {
        await this.#turns.runAll(owners, () => this.#send(mods, signal), signal);
    }

    /** Runs a replay; when it is done, so are the changes that waited for it. */
    async replay(work: () => Promise<void>): Promise<void> {
        this.#replaysBegun += 1;
        const begun = this.#replaysBegun;
        await work();
        this.#lastReplay = begun;
        const carried = this.#waiters.filter(({ begunAfter }) => begunAfter < begun);
        this.#waiters = this.#waiters.filter(({ begunAfter }) => begunAfter >= begun);
        for (const { wake } of carried) wake();
    }

    async #send(mods: readonly FlowMod[], signal: AbortSignal | undefined): Promise<void> {
        for (;;) {
            // A replay that has begun already read the table before it had these flows.
            const begunAfter = this.#replaysBegun;
            try {
                return await this.#link.bundle(mods, signal === undefined ? {} : { signal });
            } catch (error) {
                if (!(error instanceof AntreaError)) throw error;
                if (error.fault === "timeout") {
                    // The connection stands and OVS is only slow: no replay will come.
                    this.#logger.warn("OVS did not answer in time; sending the flows again", {
                        reason: messageOf(error),
                    });
                    continue;
                }
                if (error.fault !== "environment") throw error;
                if (isErrorOf(OpenFlowError, error, "BUFFER_FULL")) {
                    await sleep(bufferFullPauseMs, signal);
                    continue;
                }
                this.#logger.debug("OVS is away, waiting for the replay", { reason: messageOf(error) });
                return await this.#replayAfter(begunAfter, signal);
            }
        }
    }

    #replayAfter(begunAfter: number, signal: AbortSignal | undefined): Promise<void> {
        if (this.#lastReplay > begunAfter) return Promise.resolve();
        return new Promise((resolve, reject) => {
            const aborted = (): void => {
                this.#waiters = this.#waiters.filter((waiter) => waiter.wake !== wake);
                reject(
                    new SenderError("ABORTED", "aborted", "stopped waiting for OVS to come back", {
                        cause: signal?.reason,
                    }),
                );
            };
            const wake = (): void => {
                signal?.removeEventListener("abort", aborted);
                resolve();
            };
            if (signal?.aborted === true) return aborted();
            signal?.addEventListener("abort", aborted, { once: true });
            this.#waiters.push({ begunAfter, wake });
        });
    }
}
