/** RFC 3339 with microseconds, as `MicroTime` fields have it; `ms` is wall time. */
export function microTime(ms: number): string {
    return new Date(ms).toISOString().replace("Z", "000Z");
}
