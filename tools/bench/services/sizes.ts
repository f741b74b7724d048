import { BenchError } from "../error.ts";
import { mostServices } from "./service-objects.ts";

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
    /** Time without changes. */
    readonly quietMs: number;
    /** Numbers of Services, and of endpoints of one Service, at which growth is measured; ascending. */
    readonly growth: { readonly services: readonly number[]; readonly endpoints: readonly number[] };
    /** Rounds of traffic, and milliseconds of a load in each. */
    readonly rounds: number;
    readonly loadMs: number;
}

const fullServices = 10_000;
const smallestFull = 5_000;

const full: Omit<Sizes, "services"> = {
    starts: 3,
    turns: 2,
    changes: 200,
    seen: 25,
    seenAfterPause: 8,
    burst: 1_000,
    quietMs: 60_000,
    growth: { services: [10, 100, 1_000, 10_000, 50_000], endpoints: [1, 10, 100, 1_000, 5_000] },
    rounds: 10,
    loadMs: 600,
};
const small: Omit<Sizes, "services" | "burst"> = {
    starts: 1,
    turns: 1,
    changes: 20,
    seen: 5,
    seenAfterPause: 2,
    quietMs: 10_000,
    growth: { services: [10, 100], endpoints: [1, 300] },
    rounds: 1,
    loadMs: 200,
};

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
    return services < smallestFull ? { ...small, services, burst: Math.floor(services / 2) } : { ...full, services };
}
