import { AntreaError } from "@antrea/errors";

class LockGuardError extends AntreaError<"LOCK_TAKEN"> {}

/** Dependencies of LockGuard. */
export interface LockGuardComponents {
    /** The state of the lock, see `OvsdbSession.lockState`. */
    readonly lockState: () => "none" | "waiting" | "locked" | "lost";
    /** Ends the process; called again by each further check until it has ended. */
    readonly fail: (error: LockGuardError) => void;
}

/**
 * Ends an agent that has lost the lock of the OVS database to another one (`fail` with `LOCK_TAKEN`): its state of the
 * Node becomes outdated, and two agents that write flows and routes would revert each other's changes. A lost
 * connection (`lost`) does not imply another holder, and a lock in state `waiting` may still be held by our own
 * previous connection; therefore two consecutive calls of `check` are required. Holds no timer.
 */
export class LockGuard {
    readonly #components: LockGuardComponents;
    #waited = false;

    constructor(components: LockGuardComponents) {
        this.#components = components;
    }

    /** Checks the lock; to be called every few seconds. */
    check(): void {
        const waits = this.#components.lockState() === "waiting";
        if (waits && this.#waited) {
            this.#components.fail(
                new LockGuardError(
                    "LOCK_TAKEN",
                    "environment",
                    "another antrea-agent holds the lock of this Node's OVS database; is a second one running on this Node?",
                ),
            );
        }
        this.#waited = waits;
    }
}
