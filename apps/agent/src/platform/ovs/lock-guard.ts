import { AntreaError } from "@antrea/errors";

class LockGuardError extends AntreaError<"LOCK_TAKEN"> {}

export interface LockGuardComponents {
    readonly lockState: () => "none" | "waiting" | "locked" | "lost";
    /** Ends the process. */
    readonly fail: (error: LockGuardError) => void;
}

/**
 * Ends an agent that has lost the lock of the OVS database to another one: what it knows of the Node is out of date from
 * then on, and two that write flows and routes undo each other's work. Without a connection (`lost`) nobody else needs
 * to have it, and a lock that is waited for may still be held by the end of our own last connection: so it takes two
 * looks in a row.
 */
export class LockGuard {
    readonly #components: LockGuardComponents;
    #waited = false;

    constructor(components: LockGuardComponents) {
        this.#components = components;
    }

    /** To be called every few seconds. */
    look(): void {
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
