/** A count as text; one beyond the exact range of JSON numbers is printed as a lower bound. */
export function amount(n: number | undefined): string {
    if (n === undefined) return "-";
    return n >= Number.MAX_SAFE_INTEGER ? ">9e15" : String(n);
}
