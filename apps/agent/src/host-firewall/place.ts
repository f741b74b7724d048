/** The rules of one chain, as the lines of `iptables -S`; rejects where iptables(8) fails. */
export type ReadRules = (chain: string) => Promise<readonly string[]>;

/** What iptables(8) does with a rule's packets that does not end their way through the chain. */
const logTargets: ReadonlySet<string> = new Set(["LOG", "NFLOG", "ULOG", "AUDIT"]);
const dropTargets: ReadonlySet<string> = new Set(["DROP", "REJECT"]);
const endTargets: ReadonlySet<string> = new Set(["ACCEPT", "RETURN", "QUEUE", "NFQUEUE"]);
/** Chains that call each other deeper than this are taken for such that drop not everything. */
const deepest = 8;

/**
 * How many of these rules of others an accept of ours goes behind: all, so that what an administrator or kube-proxy drops
 * or rejects stays dropped, but for the first rule that drops whatever comes to it, and the rules right before that (or
 * right before the end of the chain) which log what is about to be dropped.
 */
export async function placeOfAccept(rules: readonly string[], read: ReadRules): Promise<number> {
    const catchAll = await firstCatchAll(rules, read, 0);
    let place = catchAll === -1 ? rules.length : catchAll;
    while (place > 0 && logTargets.has(targetOf(wordsOf(rules[place - 1] ?? ""))?.name ?? "")) place -= 1;
    return place;
}

/** The first rule that drops all packets that reach it, itself or in the chain that it jumps to; -1 without one. */
async function firstCatchAll(rules: readonly string[], read: ReadRules, depth: number): Promise<number> {
    for (const [at, rule] of rules.entries()) {
        const words = wordsOf(rule);
        const target = targetOf(words);
        if (target === undefined || !matchesAll(words)) continue;
        if (dropTargets.has(target.name)) return at;
        if (endTargets.has(target.name)) return -1;
        // Other targets in capital letters act on the packet (MARK, CT); to ask for a chain of that name fails.
        const inner = depth < deepest ? await read(target.name).catch(() => []) : [];
        if ((await firstCatchAll(inner, read, depth + 1)) !== -1) return at;
        // What comes back from a chain that was gone to comes back behind the chain's caller.
        if (target.isGoto) return -1;
    }
    return -1;
}

/** Whether a rule matches whatever comes: it has no match but comments. */
function matchesAll([, , ...words]: readonly string[]): boolean {
    let at = 0;
    while (words[at] === "-m" && words[at + 1] === "comment" && words[at + 2] === "--comment") at += 4;
    return words[at] === "-j" || words[at] === "-g";
}

function targetOf(words: readonly string[]): { readonly name: string; readonly isGoto: boolean } | undefined {
    const at = words.findLastIndex((word) => word === "-j" || word === "-g");
    const name = at === -1 ? undefined : words[at + 1];
    return name === undefined ? undefined : { name, isGoto: words[at] === "-g" };
}

/** The words of a line that iptables(8) prints for a shell; the only quotes are double ones around comments. */
export function wordsOf(line: string): readonly string[] {
    return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}
