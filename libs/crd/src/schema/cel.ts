/** A rule of `x-kubernetes-validations`: CEL, judged by the API server itself. */
export interface Rule {
    readonly rule: string;
    /** What is wanted, for people. One of `message` and `messageExpression`. */
    readonly message?: string;
    /** CEL that gives the message, where it tells values that the path does not. */
    readonly messageExpression?: string;
    /** The field that the rule is about, relative to where the rule stands; default the place itself. */
    readonly fieldPath?: string;
}

/** The metadata of a field: its text for `kubectl explain`, and its rules. */
export function described(description: string, ...rules: readonly Rule[]): Record<string, unknown> {
    return rules.length === 0 ? { description } : { description, "x-kubernetes-validations": rules };
}

/** A text in CEL. */
export function quoted(text: string): string {
    return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

// Lists of texts, because the API server finds no bound for the cost of a text that a rule makes from a number.
const slashes = (longest: number): string =>
    `[${Array.from({ length: longest + 1 }, (_, length) => quoted(`/${length}`)).join()}]`;

/** "/24" from an expression that gives 24. */
export function slash(length: string, longest = 128): string {
    return `${slashes(longest)}[${length}]`;
}

/** Whether the bit that follows the first `length` ones of an IPv4 address is 1. CEL has no bits, but it cuts prefixes. */
export function nextBit(address: string, length: string): string {
    // Not "!=": the API server finds no bound for its cost.
    return `!(${cut(address, length, 32)} == ${cut(address, `${length} + 1`, 32)})`;
}

/** Whether address `a` is not after `b`; both of one family. */
export function inOrder(a: string, b: string): string {
    // The prefixes of `a` that hold `b` too are those of length 0 to n-1, so n is the first bit that differs, counted
    // from 1. `a` comes first exactly when that bit is 0 in it: then cutting after it leaves the same as cutting before.
    const lengths = `(ip(${a}).family() == 4 ? ${slashes(32)} : ${slashes(128)})`;
    const shared = `size(${lengths}.filter(s, cidr(${a} + s).containsIP(${b})))`;
    return `ip(${a}) == ip(${b}) || [${shared}].all(n, ${cut(a, "n - 1", 128)} == ${cut(a, "n", 128)})`;
}

function cut(address: string, length: string, longest: number): string {
    return `cidr(${address} + ${slash(length, longest)}).masked().ip()`;
}
