/**
 * Formats wall time (milliseconds since 1970) as RFC 3339 with microseconds, which are 0 below the millisecond: the
 * format of `MicroTime` fields.
 */
export function microTime(ms: number): string {
    return new Date(ms).toISOString().replace("Z", "000Z");
}
