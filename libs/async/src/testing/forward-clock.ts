import { systemClock, type Clock } from "../clock.ts";

/**
 * The clock of the operating system, which a test can put forward. For tests with real programs and connections: what is
 * to happen after some minutes need not be waited for, and nothing of it happens before only because a machine is slow.
 */
export class ForwardClock implements Clock {
    #skippedMs = 0;

    now(): number {
        return systemClock.now() + this.#skippedMs;
    }

    monotonic(): number {
        return systemClock.monotonic() + this.#skippedMs;
    }

    after(ms: number, callback: () => void): Disposable {
        return systemClock.after(ms, callback);
    }

    /** Puts it forward by `ms` milliseconds. Timers that run do not end earlier. */
    skip(ms: number): void {
        this.#skippedMs += ms;
    }
}
