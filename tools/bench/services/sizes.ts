import { BenchError } from "../error.ts";

/** How much the benchmarks of Services do. */
export interface Sizes {
    readonly services: number;
    /** Starts of each side. */
    readonly starts: number;
    /** Turns in which each side is started for changes. */
    readonly turns: number;
    /** Changes of one endpoint, in all turns. */
    readonly changes: number;
    /** Changes that a client waits for, in a turn: one after another, and after a pause. */
    readonly seen: number;
    readonly seenAfterPause: number;
    /** Services of which an endpoint changes as fast as the API server permits. */
    readonly burst: number;
}

const fullServices = 10_000;
/** Addresses of the Service CIDR that Services of the benchmarks have. */
const mostServices = 60_000;
const smallestFull = 5_000;

/** The sizes of this run: those of the published results, or smaller ones with BENCH_SERVICES=NUMBER-OF-SERVICES. */
export const sizes: Sizes = sizesOf(process.env.BENCH_SERVICES);

/** Whether results of this run can be published. */
export const areSizesFull: boolean = sizes.services === fullServices;

/**
 * The sizes for a value of BENCH_SERVICES; undefined and "" are the full ones. A run with fewer than 5,000 Services also
 * repeats less. Throws BenchError `BAD_ARGUMENT`.
 */
export function sizesOf(text: string | undefined): Sizes {
    const services = text === undefined || text === "" ? fullServices : Number(text);
    if (!Number.isInteger(services) || services < 100 || services > mostServices) {
        const rule = `it must be a number of Services from 100 to ${mostServices}`;
        throw new BenchError("BAD_ARGUMENT", "caller", `BENCH_SERVICES is ${text}; ${rule}`);
    }
    const isSmall = services < smallestFull;
    return isSmall
        ? { services, starts: 1, turns: 1, changes: 20, seen: 5, seenAfterPause: 2, burst: Math.floor(services / 2) }
        : { services, starts: 3, turns: 2, changes: 200, seen: 25, seenAfterPause: 8, burst: 1_000 };
}
