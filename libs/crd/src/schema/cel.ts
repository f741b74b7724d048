/** A validation rule of a CRD schema (`x-kubernetes-validations`), in CEL; the API server evaluates it. */
export interface Rule {
    /** CEL that must evaluate to true. */
    readonly rule: string;
    /** The requirement, for the user. A rule has one of `message` and `messageExpression`. */
    readonly message?: string;
    /** CEL that evaluates to the message, where it contains values that the path does not show. */
    readonly messageExpression?: string;
    /** The field that the rule concerns, relative to the schema node of the rule. Default: that node. */
    readonly fieldPath?: string;
}

/**
 * Returns the metadata of a schema field for zod's `meta`: its description for `kubectl explain`, and its rules if any.
 */
export function described(description: string, ...rules: readonly Rule[]): Record<string, unknown> {
    return rules.length === 0 ? { description } : { description, "x-kubernetes-validations": rules };
}

/** Returns a text as a CEL string literal. */
export function quoted(text: string): string {
    return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

// Literal lists, because the API server finds no bound for the cost of a string that a rule makes from a number.
const slashes = (longest: number): string =>
    `[${Array.from({ length: longest + 1 }, (_, length) => quoted(`/${length}`)).join()}]`;

/**
 * Returns CEL for the text "/24", from a CEL expression that evaluates to 24. `longest` is the highest possible length;
 * a higher one is an error at evaluation.
 */
export function slash(length: string, longest = 128): string {
    return `${slashes(longest)}[${length}]`;
}

/**
 * Returns CEL that is true if, in an IPv4 address, the bit after the first `length` bits is 1; both arguments are CEL,
 * of the address as text and of an integer from 0 to 31. CEL has no bit operations, so prefixes are masked instead.
 */
export function nextBit(address: string, length: string): string {
    // Not "!=": the API server finds no bound for its cost.
    return `!(${cut(address, length, 32)} == ${cut(address, `${length} + 1`, 32)})`;
}

/**
 * Returns CEL that is true if address `a` is not after address `b`. Both are CEL of an address as text, and must be
 * valid and of one family: otherwise its evaluation fails.
 */
export function inOrder(a: string, b: string): string {
    // The prefixes of `a` that contain `b` too are those of length 0 to n-1, so n is the first bit that differs,
    // counted from 1. `a` comes first exactly if that bit is 0 in it: then masking after it leaves the same as masking
    // before it.
    const lengths = `(ip(${a}).family() == 4 ? ${slashes(32)} : ${slashes(128)})`;
    const shared = `size(${lengths}.filter(s, cidr(${a} + s).containsIP(${b})))`;
    return `ip(${a}) == ip(${b}) || [${shared}].all(n, ${cut(a, "n - 1", 128)} == ${cut(a, "n", 128)})`;
}

function cut(address: string, length: string, longest: number): string {
    return `cidr(${address} + ${slash(length, longest)}).masked().ip()`;
}
