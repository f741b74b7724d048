import { wordsOf } from "./words.ts";

/** The effect of a rule on the packets that reach it. */
export type Effect =
    /** Drops or rejects all of them. */
    | { readonly kind: "drops" }
    /** Ends the traversal of the chain for all of them: accepts, returns or queues them. */
    | { readonly kind: "ends" }
    /** Logs all of them or those that match, without further effect. */
    | { readonly kind: "logs" }
    /** Sends all of them to another chain, from which they return here unless it is a goto. */
    | { readonly kind: "calls"; readonly chain: string; readonly isGoto: boolean }
    /** Has a match, has another effect, or cannot be interpreted. */
    | { readonly kind: "other" };

/** Non-terminating targets of iptables(8). */
const logTargets: ReadonlySet<string> = new Set(["LOG", "NFLOG", "ULOG", "AUDIT"]);
const dropTargets: ReadonlySet<string> = new Set(["DROP", "REJECT"]);
const endTargets: ReadonlySet<string> = new Set(["ACCEPT", "RETURN", "QUEUE", "NFQUEUE"]);

const other: Effect = { kind: "other" };

/**
 * Interprets one line of `iptables -S`; `other` for what is no rule (`-P`). A target that is neither known nor a chain
 * (MARK, CT) appears as a call.
 */
export function effectOfLine(line: string): Effect {
    const words = wordsOf(line);
    const at = words.findLastIndex((word) => word === "-j" || word === "-g");
    const target = at === -1 ? undefined : words[at + 1];
    if (target === undefined) return other;
    const isGoto = words[at] === "-g";
    if (!isGoto && logTargets.has(target)) return { kind: "logs" };
    if (!matchesAll(words)) return other;
    if (isGoto) return { kind: "calls", chain: target, isGoto };
    return effectOfTarget(target) ?? { kind: "calls", chain: target, isGoto };
}

/** Whether a rule matches every packet: it has no match except comments. */
function matchesAll([, , ...words]: readonly string[]): boolean {
    let at = 0;
    while (words[at] === "-m" && words[at + 1] === "comment" && words[at + 2] === "--comment") at += 4;
    return words[at] === "-j" || words[at] === "-g";
}

function effectOfTarget(target: string): Effect | undefined {
    if (dropTargets.has(target)) return { kind: "drops" };
    return endTargets.has(target) ? { kind: "ends" } : undefined;
}

/**
 * Interprets the key `expr` of a rule in `nft -j list chain` (libnftables-json(5)): the expressions in order, each an
 * object with one key. Unknown expressions count as a match.
 */
export function effectOfExpressions(expressions: readonly unknown[]): Effect {
    const parts = expressions.map(partOf).filter(({ what }) => what !== "nothing");
    const last = parts.at(-1);
    const before = parts.slice(0, -1);
    if (last?.what === "log") return before.every(({ what }) => what !== "unknown") ? { kind: "logs" } : other;
    return last?.what === "verdict" && before.every(({ what }) => what === "log") ? last.effect : other;
}

/** `match` only selects packets; `unknown` may have any effect. */
type Part =
    { readonly what: "nothing" | "log" | "match" | "unknown" } | { readonly what: "verdict"; readonly effect: Effect };

function partOf(expression: unknown): Part {
    const [key = "", value] = onlyEntryOf(expression);
    switch (key) {
        case "counter":
            return { what: "nothing" };
        case "match":
        case "limit":
            return { what: "match" };
        case "log":
            return { what: "log" };
        case "drop":
        case "reject":
            return { what: "verdict", effect: { kind: "drops" } };
        case "accept":
        case "return":
        case "queue":
            return { what: "verdict", effect: { kind: "ends" } };
        case "jump":
        case "goto": {
            const chain = fieldOf(value, "target");
            if (typeof chain !== "string") return { what: "unknown" };
            return { what: "verdict", effect: { kind: "calls", chain, isGoto: key === "goto" } };
        }
        case "xt":
            return partOfExtension(fieldOf(value, "type"), fieldOf(value, "name"));
        default:
            return { what: "unknown" };
    }
}

/** An extension of iptables(8), of which nft(8) shows only the name. */
function partOfExtension(type: unknown, name: unknown): Part {
    if (type === "match") return { what: name === "comment" ? "nothing" : "match" };
    if (type !== "target" || typeof name !== "string") return { what: "unknown" };
    if (logTargets.has(name)) return { what: "log" };
    const effect = effectOfTarget(name);
    return effect === undefined ? { what: "unknown" } : { what: "verdict", effect };
}

/**
 * The effect on which both views of a rule agree; `other` if they differ or one lacks the rule, since one of them has
 * omitted something.
 */
export function commonEffect(one: Effect, another: Effect | undefined): Effect {
    if (one.kind === "calls") {
        const isSame = another?.kind === "calls" && another.chain === one.chain && another.isGoto === one.isGoto;
        return isSame ? one : other;
    }
    return one.kind === another?.kind ? one : other;
}

function onlyEntryOf(value: unknown): readonly [string, unknown] | readonly [] {
    if (typeof value !== "object" || value === null) return [];
    const [entry, ...more] = Object.entries(value);
    return entry === undefined || more.length > 0 ? [] : entry;
}

/** The own property `key` of an object; undefined if it has none, and for what is no object. */
export function fieldOf(value: unknown, key: string): unknown {
    return typeof value === "object" && value !== null
        ? Object.entries(value).find(([name]) => name === key)?.[1]
        : undefined;
}
