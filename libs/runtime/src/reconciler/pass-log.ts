import type { Logger } from "../logger.ts";
import type { TrackedObject } from "./tracked-object.ts";

const shownKeys = 10;

/**
 * Collects what one pass reports: failures whose message is new for the object, and recoveries. `note` each object
 * after its operation, then `write` once.
 */
export class PassLog<K, V> {
    readonly #logger: Logger;
    readonly #keyText: (key: K) => string;
    /** Keys by message: one cause often makes many objects fail at once. */
    readonly #failed = new Map<string, K[]>();
    readonly #recovered: K[] = [];

    constructor(logger: Logger, keyText: (key: K) => string) {
        this.#logger = logger;
        this.#keyText = keyText;
    }

    /**
     * Records the outcome of an object's operation. A failure with the same message as before is only logged at level
     * debug, at once.
     *
     * @param before the message of the object's status before the operation
     */
    note({ key, status: { state, message } }: TrackedObject<K, V>, before: string | undefined): void {
        if (state !== "error" || message === undefined) {
            if (before !== undefined) this.#recovered.push(key);
        } else if (message === before) this.#logger.debug("reconcile failed again", { object: this.#keyText(key) });
        else {
            const keys = this.#failed.get(message);
            if (keys === undefined) this.#failed.set(message, [key]);
            else keys.push(key);
        }
    }

    /** Logs what was collected: one warning for each distinct message, and one line for the recoveries. */
    write(): void {
        for (const [reason, keys] of this.#failed) {
            this.#logger.warn("reconcile failed, retrying", { ...this.#shown(keys), reason });
        }
        if (this.#recovered.length > 0) this.#logger.info("reconcile succeeded again", this.#shown(this.#recovered));
    }

    #shown(keys: readonly K[]): { readonly objects: readonly string[]; readonly count: number } {
        return { objects: keys.slice(0, shownKeys).map(this.#keyText), count: keys.length };
    }
}
