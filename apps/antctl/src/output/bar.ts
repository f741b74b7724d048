import { type Style } from "./style.ts";

/** Counts of addresses by state; `total` has the used, the reserved and the free ones. An IpPoolUsage is one. */
export interface Parts {
    readonly total: number;
    readonly used: number;
    readonly reserved: number;
}

/**
 * A bar of `width` cells in brackets: used, reserved, free. It is `bad` if full, `warn` from 90 %, else `good`. Neither
 * taken nor free addresses disappear by rounding, so that a huge pool with one allocation does not appear empty, nor
 * one with a single free address full. A single taken cell is a reserved one if there are reserved addresses.
 */
export function bar(parts: Parts, style: Style, width = 20): string {
    const { total } = parts;
    const taken = Math.min(parts.used + parts.reserved, total);
    const cells = (n: number): number => (total <= 0 ? 0 : Math.round((n / total) * width));
    let filled = cells(taken);
    if (taken > 0 && filled === 0) filled = 1;
    if (taken < total && filled === width) filled = width - 1;
    let reserved = Math.min(filled, cells(parts.reserved));
    if (parts.reserved > 0 && reserved === 0) reserved = Math.min(1, filled);
    if (parts.used > 0 && reserved === filled && filled > 1) reserved -= 1;
    const [used, held, free] = style.unicode ? ["█", "▒", "░"] : ["#", "=", "."];
    const paint = total > 0 && taken >= total ? style.bad : taken * 10 >= total * 9 ? style.warn : style.good;
    const body = `${used?.repeat(filled - reserved)}${held?.repeat(reserved)}`;
    return `[${paint(body)}${style.dim((free ?? "").repeat(width - filled))}]`;
}

/**
 * Used and reserved addresses as a whole percentage of `total`: `0%` and `100%` only if exact, `<1%` below one, `-` if
 * `total` is 0.
 */
export function percent(parts: Parts): string {
    const taken = parts.used + parts.reserved;
    if (parts.total <= 0) return "-";
    if (taken > 0 && taken * 100 < parts.total) return "<1%";
    if (taken >= parts.total) return "100%";
    return `${Math.min(99, Math.round((taken / parts.total) * 100))}%`;
}
