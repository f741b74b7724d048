import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { BenchError } from "../error.ts";
import { within } from "../netns.ts";

const intervalSeconds = 0.002;

/** ICMP echoes of one address, requested every 2 ms, and their arrival times. */
export class Echoes implements AsyncDisposable {
    readonly #child: ChildProcess;
    readonly #arrivals: number[] = [];

    constructor(address: string, netnsPath: string) {
        const options = ["-n", "-D", "-i", String(intervalSeconds)];
        const [program, args] = within(netnsPath, ["ping", ...options, address]);
        const child = spawn(program, args, { stdio: ["ignore", "pipe", "ignore"] });
        createInterface(child.stdout).on("line", (line) => {
            const arrival = arrivalOf(line);
            if (arrival !== undefined) this.#arrivals.push(arrival);
        });
        this.#child = child;
    }

    /** The longest time without an echo between two times, in milliseconds since the epoch. */
    longestGap(from: number, to: number): number {
        return longestGapMs(this.#arrivals, from, to);
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
