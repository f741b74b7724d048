import { durationTest } from "../value-tests.ts";
import { readable, type Leaf } from "./readable.ts";

// The kinds of values. Each has one rule, a sentence that continues "the value", and reports it for every violation.

/**
 * Milliseconds, with a fraction if the file has one; in the file a duration in Go's notation, not negative: `5s`,
 * `1m30s`, `500ms`.
 */
export type DurationMs = number;

/**
 * Schema of a duration of at least `minMs` milliseconds; `least` is the same in Go's notation, for the message. The
 * result is in milliseconds.
 */
export function duration(minMs = 0, least = "0s"): Leaf<DurationMs> {
    return durationIn(`must be a duration of at least ${least}, such as 1m30s`, minMs, Infinity);
}

/** Schema of a duration from `least` to `most`, both included and in Go's notation. The result is in milliseconds. */
export function durationFrom(least: string, most: string): Leaf<DurationMs> {
    const [minMs, maxMs] = [least, most].map(readDuration);
    return durationIn(`must be a duration from ${least} to ${most}, such as 1m30s`, minMs ?? 0, maxMs ?? Infinity);
}

function durationIn(rule: string, minMs: number, maxMs: number): Leaf<DurationMs> {
    const read = (text: string): number | undefined => {
        const ms = readDuration(text);
        return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
    };
    return readable(rule, read, durationTest(minMs, maxMs));
}

const unitMs: Readonly<Record<string, number>> = {
    ns: 1e-6,
    us: 1e-3,
    µs: 1e-3,
    ms: 1,
    s: 1000,
    m: 60_000,
    h: 3_600_000,
};

function readDuration(text: string): number | undefined {
    if (text === "0") return 0;
    if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
    let ms = 0;
    for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
        ms += Number(number) * (unitMs[unit ?? ""] ?? Number.NaN);
    }
    return Number.isSafeInteger(Math.round(ms)) ? ms : undefined;
}
