import { type Clock } from "@antrea/async";
import { type Random } from "./random.ts";

/** An event at a point in time, unless it is cancelled. */
export interface Timer {
    readonly at: number;
    readonly order: number;
    callback: (() => void) | undefined;
}

/** The real setImmediate: the work between two virtual events runs in the event loop. */
const nextTurn = setImmediate;
const turnsAtOnce = 64;

/**
 * Time that advances only when nothing is left to do: from one event to the next, each followed by all its promise
 * reactions. Events at the same time occur in the order in which they were scheduled.
 */
export class VirtualTime {
    /** Milliseconds since the start. */
    now = 0;
    /** Number of events so far. */
    events = 0;
    readonly #heap: Timer[] = [];
    readonly #epoch: number;
    #order = 0;

    constructor(epoch: number = Date.UTC(2026, 0, 1)) {
        this.#epoch = epoch;
    }

    get wall(): number {
        return this.#epoch + this.now;
    }

    /** Schedules a callback after a delay. */
    after(ms: number, callback: () => void): Timer {
        return this.at(this.now + (ms > 0 ? ms : 0), callback);
    }

    /** Schedules a callback at a time; callbacks at the same time run in the order in which they were scheduled. */
    at(at: number, callback: () => void): Timer {
        const timer: Timer = { at, order: (this.#order += 1), callback };
        push(this.#heap, timer);
        return timer;
    }

    sleep(ms: number): Promise<void> {
        return new Promise((resolve) => void this.after(ms, resolve));
    }

    /** A clock whose wall time has an offset. */
    clock(skew: () => number = () => 0): Clock {
        return {
            now: () => Math.floor(this.wall + skew()),
            monotonic: () => this.now,
            after: (ms, callback) => {
                const timer = this.after(ms, callback);
                return { [Symbol.dispose]: () => cancel(timer) };
            },
        };
    }

    /** Runs events until `isOver`, which is called between events, returns true, or no event is left. */
    run(isOver: () => boolean): Promise<void> {
        return new Promise((resolve, reject) => {
            let isDone = false;
            const turn = (): void => {
                if (isDone) return;
                try {
                    isDone = isOver() || !this.#step();
                    if (isDone) resolve();
                } catch (error) {
                    // An exception in an event is a defect of the simulator.
                    isDone = true;
                    reject(error as Error);
                }
            };
            // All promise reactions run between two events; an iteration of the process's own event loop costs more.
            const turns = (): void => {
                if (isDone) return;
                for (let left = turnsAtOnce; left > 0; left -= 1) nextTurn(turn);
                nextTurn(turns);
            };
            turns();
        });
    }

    #step(): boolean {
        for (;;) {
            const timer = pop(this.#heap);
            if (timer === undefined) return false;
            const { callback } = timer;
            if (callback === undefined) continue;
            timer.callback = undefined;
            this.now = timer.at;
            this.events += 1;
            callback();
            return true;
        }
    }
}

/** The clock of a process: none of its timers fires after the process is dead. */
export function mortal(clock: Clock, isDead: () => boolean): Clock {
    return {
        now: () => clock.now(),
        monotonic: () => clock.monotonic(),
        after: (ms, callback) =>
            clock.after(ms, () => {
                if (!isDead()) callback();
            }),
    };
}

/** Cancels a timer, if there is one. */
export function cancel(timer: Timer | undefined): void {
    if (timer !== undefined) timer.callback = undefined;
}

function isBefore(one: Timer, other: Timer): boolean {
    return one.at < other.at || (one.at === other.at && one.order < other.order);
}

function push(heap: Timer[], timer: Timer): void {
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
        const parent = (at - 1) >> 1;
        const above = heap[parent] as Timer;
        if (!isBefore(timer, above)) break;
        heap[at] = above;
        at = parent;
    }
    heap[at] = timer;
}

function pop(heap: Timer[]): Timer | undefined {
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || top === last) return top;
    let at = 0;
    for (;;) {
        let child = 2 * at + 1;
        const left = heap[child];
        if (left === undefined) break;
        const right = heap[child + 1];
        let least = left;
        if (right !== undefined && isBefore(right, left)) {
            least = right;
            child += 1;
        }
        if (!isBefore(least, last)) break;
        heap[at] = least;
        at = child;
    }
    heap[at] = last;
    return top;
}

/**
 * Permanently replaces the global clock, timers and random numbers by virtual ones, as the code under test uses the
 * globals, too. `current` returns the current ones, which change from seed to seed.
 */
export function takeOverGlobals(current: () => { readonly time: VirtualTime; readonly random: Random }): void {
    const RealDate = Date;
    class VirtualDate extends RealDate {
        constructor(...args: readonly unknown[]) {
            // The parameters of Date are those of its constructor.
            super(...((args.length === 0 ? [current().time.wall] : args) as [number]));
        }

        static override now(): number {
            return Math.floor(current().time.wall);
        }
    }
    const set = (callback: (...args: unknown[]) => void, ms = 0, ...args: unknown[]): Timer =>
        current().time.after(ms, () => callback(...args));
    Object.assign(globalThis, {
        Date: VirtualDate,
        setTimeout: set,
        clearTimeout: cancel,
        // Unused by the code under test; a use must not run by real time.
        setInterval: undefined,
    });
    Object.defineProperty(performance, "now", { value: () => current().time.now });
    Object.defineProperty(Math, "random", { value: () => current().random.next() });
    Object.defineProperty(crypto, "randomUUID", { value: () => current().random.uuid() });
    AbortSignal.timeout = (ms) => {
        const controller = new AbortController();
        const reason = (): DOMException => new DOMException("The operation was aborted due to timeout", "TimeoutError");
        current().time.after(ms, () => controller.abort(reason()));
        return controller.signal;
    };
}
