/** Why a goal is missed where it is, and what to try next; looked up by the id of the result. */
const known: Readonly<Record<string, { readonly reason: string; readonly next: string }>> = {};

const unknown = {
    reason: "Not looked into yet.",
    next: "Profile our side of this benchmark (node --cpu-prof, strace -f -r) and compare step by step.",
};

export function explain(id: string): { readonly reason: string; readonly next: string } {
    return known[id] ?? unknown;
}
