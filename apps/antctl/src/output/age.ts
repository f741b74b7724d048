const units = [
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
] as const;

/**
 * Time from `since` (RFC 3339) to `nowMs` (milliseconds since 1970) in its largest unit and, if that is less than 10,
 * the next: `3d4h`, `12m`, `45s`. `-` without a valid time, `0s` for one in the future.
 */
export function age(since: string | undefined, nowMs: number): string {
    const ms = since === undefined ? Number.NaN : nowMs - Date.parse(since);
    if (!Number.isFinite(ms)) return "-";
    let seconds = Math.max(0, Math.floor(ms / 1000));
    const at = units.findIndex(([, length]) => seconds >= length);
    const [unit, length] = units[at === -1 ? 3 : at] ?? units[3];
    const whole = Math.floor(seconds / length);
    seconds -= whole * length;
    const next = units[at + 1];
    const rest = next === undefined || whole >= 10 ? 0 : Math.floor(seconds / next[1]);
    return `${whole}${unit}${rest > 0 && next !== undefined ? `${rest}${next[0]}` : ""}`;
}
