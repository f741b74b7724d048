/**
 * Parses a Retry-After header (RFC 9110 section 10.2.3: seconds or a date) to milliseconds, at most five minutes;
 * undefined if absent or invalid. `now` is wall time in milliseconds.
 */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
    if (header === undefined) return undefined;
    const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - now;
    return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), 300_000) : undefined;
}
