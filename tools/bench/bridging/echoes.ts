import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { BenchError } from "../error.ts";
import { within } from "../netns.ts";

/** ICMP echoes of one address, and their arrival times. */
export class Echoes implements AsyncDisposable {
    readonly #child: ChildProcess;
    readonly #arrivals: number[] = [];
    readonly #roundTrips: number[] = [];
    readonly #intervalMs: number;
    #lastSequence = 0;

    /** @param intervalSeconds between two requests. Default 0.002 */
    constructor(address: string, netnsPath: string, intervalSeconds = 0.002) {
        const options = ["-n", "-D", "-i", String(intervalSeconds)];
        const [program, args] = within(netnsPath, ["ping", ...options, address]);
        const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
        createInterface(child.stdout).on("line", (line) => {
            const arrival = arrivalOf(line);
            if (arrival === undefined) return;
            this.#arrivals.push(arrival);
            const { sequence, ms } = roundTripOf(line);
            this.#roundTrips.push(ms);
            this.#lastSequence = Math.max(this.#lastSequence, sequence);
        });
        this.#child = child;
        this.#intervalMs = intervalSeconds * 1000;
    }

    /** The longest time without an echo between two times, in milliseconds since the epoch. */
    longestGap(from: number, to: number): number {
        return longestGapMs(this.#arrivals, from, to);
    }

    /** Milliseconds from the request to the echo of all until now. */
    get roundTrips(): readonly number[] {
        return this.#roundTrips;
    }

    /** Number of requests before the last echo that have no echo. */
    get lost(): number {
        return this.#lastSequence - this.#roundTrips.length;
    }

    /** Number of requests from the last echo on until a time, which have none: `unansweredSince`. */
    unanswered(until: number): number {
        return unansweredSince(this.#arrivals.at(-1), until, this.#intervalMs);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
        const ended = once(this.#child, "exit");
        this.#child.kill("SIGKILL");
        await ended;
    }
}

/** Arrival time of an echo in milliseconds since the epoch, from a line of `ping -D`; undefined for other lines. */
export function arrivalOf(line: string): number | undefined {
    const seconds = /^\[(\d+\.\d+)\] \d+ bytes from /.exec(line)?.[1];
    return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** Number of a request from 1 and milliseconds to its echo, from a line of `ping` for which `arrivalOf` has a time. */
export function roundTripOf(line: string): { readonly sequence: number; readonly ms: number } {
    const [, sequence, ms] = /icmp_seq=(\d+) .*\btime=(\d+(?:\.\d+)?) ms/.exec(line) ?? [];
    return { sequence: Number(sequence ?? NaN), ms: Number(ms ?? NaN) };
}

/**
 * Number of requests at an interval from the last arrival on until a time, in milliseconds since the epoch; 0 before the first
 * arrival.
 */
export function unansweredSince(last: number | undefined, until: number, intervalMs: number): number {
    return last === undefined ? 0 : Math.max(0, Math.floor((until - last) / intervalMs));
}

/**
 * The longest time without an arrival between two times. A gap that overlaps a boundary counts in full, so there must
 * be arrivals before and after.
 */
export function longestGapMs(arrivals: readonly number[], from: number, to: number): number {
    const before = arrivals.findLastIndex((arrival) => arrival <= from);
    const after = arrivals.findIndex((arrival) => arrival >= to);
    if (before < 0 || after < 0) {
        throw new BenchError("WRONG_RESULT", "environment", "no echo came before, or none after, what is measured");
    }
    const within = arrivals.slice(before, after + 1);
    return Math.max(...within.slice(1).map((arrival, at) => arrival - (within[at] ?? NaN)));
}
