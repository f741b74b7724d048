/** Time as the program sees it. Handed in, so that tests decide when time passes. */
export interface Clock {
    /** Wall time in milliseconds since 1970-01-01 UTC; may jump. */
    now(): number;
    /** Milliseconds since some fixed moment; never goes back. For durations. */
    monotonic(): number;
    /** Calls `callback` once, after `ms` milliseconds, unless the timer is disposed of before. */
    after(ms: number, callback: () => void): Disposable;
}

// The longest delay a timer of Node.js takes; a longer one would fire at once.
const maxDelayMs = 2 ** 31 - 1;

/** The clock of the machine. Its timers keep the process alive. */
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
