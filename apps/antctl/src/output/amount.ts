/** A count; one that JSON cannot hold exactly any more is shown as the bound that it is. */
export function amount(n: number | undefined): string {
    if (n === undefined) return "-";
    return n >= Number.MAX_SAFE_INTEGER ? ">9e15" : String(n);
}
