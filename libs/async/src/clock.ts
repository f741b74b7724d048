/** Source of time and timers. It is a parameter of all code that measures or waits, so that tests control time. */
export interface Clock {
    /** Wall time in milliseconds since 1970-01-01 UTC; may jump. */
    now(): number;
    /** Milliseconds since an arbitrary fixed moment; never decreases. For durations. */
    monotonic(): number;
    /**
     * Calls `callback` once after `ms` milliseconds (a negative number counts as 0), never synchronously, unless the
     * timer is disposed of before.
     */
    after(ms: number, callback: () => void): Disposable;
}

// The longest delay that a timer of Node.js supports; a longer one would fire at once.
const maxDelayMs = 2 ** 31 - 1;

/**
 * The clock of the operating system. Its timers keep the process running; delays longer than Node.js supports are
 * split.
 */
export const systemClock: Clock = {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(ms, callback) {
        let timer: NodeJS.Timeout;
        const arm = (left: number): void => {
            const delay = Math.min(left, maxDelayMs);
            timer = setTimeout(() => (left > delay ? arm(left - delay) : callback()), delay);
        };
        arm(Math.max(ms, 0));
        return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
};
