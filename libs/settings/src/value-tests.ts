import { type Family } from "@antrea/ip";
import { type z } from "zod";

// What values may be, as data: for those who cannot run the code that reads them, such as the templates of the chart.
// Patterns are valid in RE2 and in JavaScript, and match the whole text.

/** The valid values of a key, as data. Patterns are valid in RE2 and in JavaScript and match the whole text. */
export type ValueTest =
    /** Text that matches `match` and not `except`. */
    | { readonly kind: "text"; readonly match: string; readonly except?: string }
    /** A duration in Go's notation, both limits included; Infinity for no upper limit. */
    | { readonly kind: "duration"; readonly minMs: number; readonly maxMs: number }
    /** An integer in one of the ranges, both ends included. */
    | { readonly kind: "number"; readonly ranges: readonly (readonly [min: number, max: number])[] }
    | { readonly kind: "words"; readonly words: readonly string[]; readonly anyCase: boolean };

/** A test of values, and its rule as a sentence that continues "the value". */
export interface DescribedTest {
    readonly rule: string;
    readonly test: ValueTest;
}

const kept = new WeakMap<z.ZodType, DescribedTest>();

/**
 * Stores the tests of schema leaves, so that a leaf's test is found by the leaf; a leaf that is extended afterwards
 * (such as by `default`) is another one, see `unwrap`.
 */
export const valueTests = {
    /** Stores the test of a leaf, and returns the leaf. */
    keep<T extends z.ZodType>(leaf: T, rule: string, test: ValueTest): T {
        kept.set(leaf, { rule, test });
        return leaf;
    },
    /** Returns the test of this very leaf; undefined if none was stored. */
    of: (leaf: z.ZodType): DescribedTest | undefined => kept.get(leaf),
};

/** Returns the test for one of these words, in this case or in any. */
export function wordsTest(words: readonly string[], anyCase: boolean): ValueTest {
    return { kind: "words", words, anyCase };
}

/** Returns the test for a duration between these limits in milliseconds, both included; Infinity for no upper limit. */
export function durationTest(minMs: number, maxMs: number): ValueTest {
    return { kind: "duration", minMs, maxMs };
}

/**
 * Returns the test extended by the empty text. A test that is not one of text is returned as it is: words must list ""
 * themselves.
 */
export function orEmpty(test: ValueTest): ValueTest {
    if (test.kind !== "text") return test;
    return { ...test, match: `^$|${test.match}` };
}

const byte = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const v4 = `(${byte}[.]){3}${byte}`;
const h = "[0-9a-fA-F]{1,4}";
const groups = (count: number): string => (count === 0 ? ":" : `(${h}:){${count}}`);
const upTo = (count: number): string => (count === 0 ? ":" : `((:${h}){1,${count}}|:)`);
const v6 = [
    `(${h}:){7}${h}`,
    `(${h}:){6}${v4}`,
    // with "::" after so many groups
    ...Array.from({ length: 8 }, (_, left) => `${groups(left)}${upTo(7 - left)}`),
    ...Array.from({ length: 6 }, (_, left) => `${groups(left)}:(${h}:){0,${5 - left}}${v4}`),
].join("|");
/** IPv4-mapped addresses, which would give one address two texts. */
const mapped = `^[0:]*:[fF]{4}:(${h}:${h}|[0-9.]+)(/|$)|^(0{1,4}:){5}[fF]{4}::`;

/**
 * Returns the test for a CIDR of this IP family, or of either if undefined, as `cidr` reads it: host bits may be set,
 * IPv4-mapped addresses are refused.
 */
export function cidrTest(family: Family | undefined): ValueTest {
    const of4 = `(${v4})/(3[0-2]|[12]?[0-9])`;
    const of6 = `(${v6})/(12[0-8]|1[01][0-9]|[1-9]?[0-9])`;
    const match = family === undefined ? `^(${of4}|${of6})$` : `^(${family === 4 ? of4 : of6})$`;
    return { kind: "text", match, ...(family !== 4 && { except: mapped }) };
}

/** RFC 1123 label, as Kubernetes names Namespaces and Services. */
const dnsLabel = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";

/** Test for a Service: `namespace/name`, or one of its addresses without leading zeros. */
export const serviceTest = {
    kind: "text",
    match: `^(${dnsLabel}/${dnsLabel}|${v4}|${v6})$`,
    except: mapped,
} as const satisfies ValueTest;

const label = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
/** A label that is not a number, so that the name is not an address. */
const word = "([0-9]*[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?|[0-9]+-[A-Za-z0-9-]*[A-Za-z0-9])";
const portNumber =
    "(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|0{0,4}[1-9]|0{0,3}[1-9][0-9]|0{0,2}[1-9][0-9]{2}|0?[1-9][0-9]{3})";

/** Test for a server address: host, host:port or http(s) URL, as `apiServer` reads it, without "". */
export const serverTest: ValueTest = {
    kind: "text",
    match: `^(https?://)?(${v6}|(\\[(${v6})\\]|${v4}|(${label}[.])*${word}([.]${label})*)(:${portNumber})?)/?$`,
    except: "[A-Za-z0-9-]{64}|[A-Za-z0-9.-]{254}",
};

/** Test for an address to listen at, as `bindAddress` reads it. */
export const bindTest: ValueTest = { kind: "text", match: `^$|^(${v4}|\\[(${v6})\\]):${portNumber}$` };
