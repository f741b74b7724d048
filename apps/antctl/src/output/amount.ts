/**
 * A count as text: `-` for undefined, `>9e15` from 2^53-1 on, to which `saturate` of @antrea/ipam reduces larger ones.
 */
export function amount(n: number | undefined): string {
    if (n === undefined) return "-";
    return n >= Number.MAX_SAFE_INTEGER ? ">9e15" : String(n);
}
