import { isIP } from "node:net";
import { type Family, parsePrefix, type Prefix } from "@antrea/ip";
import { z } from "zod";
import {
    bindTest,
    cidrTest,
    durationTest,
    orEmpty,
    serverTest,
    serviceTest,
    type ValueTest,
    valueTests,
    wordsTest,
} from "./value-tests.ts";

// The kinds of values. Each has one rule, a sentence that continues "the value", and reports it for every violation.

/**
 * Milliseconds, with a fraction if the file has one; in the file a duration in Go's notation, not negative: `5s`,
 * `1m30s`, `500ms`.
 */
export type DurationMs = number;

/** Schema of a boolean; texts such as "true" are invalid. */
export const flag = z.boolean({ error: "must be true or false" });

/** Schema of any text, "" included; numbers and booleans are invalid. */
export const anyText = z.string({ error: "must be text" });

/** Schema of an integer from `min` to `max`, both included; with its test for the chart. */
export function wholeNumber(min: number, max: number): z.ZodInt {
    const error = `must be a whole number from ${min} to ${max}`;
    return valueTests.keep(z.int({ error }).min(min, { error }).max(max, { error }), error, {
        kind: "number",
        ranges: [[min, max]],
    });
}

/** Schema of a TCP or UDP port, 1 to 65,535. */
export const port: z.ZodInt = wholeNumber(1, 65_535);

/** Schema of one of these words, case-sensitive; with its test for the chart. */
export function oneOf<const T extends readonly string[]>(...words: T): z.ZodEnum<z.core.util.ToEnum<T[number]>> {
    const rule = `must be one of ${words.join(", ")}`;
    return valueTests.keep(z.enum(words, { error: rule }), rule, wordsTest(words, false));
}

/** Schema of one of these words in any case; the result has the case given here. */
export function oneOfAnyCase<const T extends readonly [string, ...string[]]>(...words: T): Leaf<T[number]> {
    return readable(
        `must be one of ${words.join(", ")}`,
        (text) => words.find((word) => word.toLowerCase() === text.toLowerCase()),
        wordsTest(words, true),
    );
}

/** A leaf of the schema: text in the file, T as the parsed value, made by `readable` or `readableOrEmpty`. */
export type Leaf<T> = z.ZodPipe<z.ZodString, z.ZodTransform<T, string>>;

/**
 * A leaf whose text `read`, which must not throw, parses; undefined means that the text violates `rule`, a sentence
 * that continues "the value". `test` describes the valid texts as data, for the validation of chart values.
 */
export function readable<T extends {}>(rule: string, read: (text: string) => T | undefined, test?: ValueTest): Leaf<T> {
    const leaf = z.string({ error: rule }).transform((text, context) => {
        const value = read(text);
        if (value !== undefined) return value;
        context.issues.push({ code: "custom", message: rule, input: text });
        return z.NEVER;
    });
    return test === undefined ? leaf : valueTests.keep(leaf, rule, test);
}

/**
 * Like `readable`, but "" is valid too, is not passed to `read`, and gives undefined ("not set"). `rule` must say so. A
 * `test` of the kind `text` gets "" added; one of `words` must list it, and the other kinds cannot express it.
 */
export function readableOrEmpty<T extends {}>(
    rule: string,
    read: (text: string) => T | undefined,
    test?: ValueTest,
): Leaf<T | undefined> {
    const leaf = z.string({ error: rule }).transform((text, context) => {
        if (text === "") return undefined;
        const value = read(text);
        if (value !== undefined) return value;
        context.issues.push({ code: "custom", message: rule, input: text });
        return z.NEVER;
    });
    return test === undefined ? leaf : valueTests.keep(leaf, rule, orEmpty(test));
}

const kindOf = (family: Family | undefined): string =>
    family === undefined ? "a" : family === 4 ? "an IPv4" : "an IPv6";

/** Schema of a CIDR, by default of either IP family; host bits are masked, as in Antrea and Kubernetes. */
export function cidr(family?: Family): Leaf<Prefix> {
    return readable(`must be ${kindOf(family)} CIDR`, (text) => readPrefix(text, family), cidrTest(family));
}

/** Schema of a CIDR, or "" for undefined; by default of either IP family, host bits are masked. */
export function cidrOrEmpty(family?: Family): Leaf<Prefix | undefined> {
    return readableOrEmpty(
        `must be ${kindOf(family)} CIDR or empty`,
        (text) => readPrefix(text, family),
        cidrTest(family),
    );
}

/**
 * Schema of CIDRs of either family in one text, separated by commas; host bits are masked, empty parts skipped, so that
 * "" gives none.
 */
export const cidrsInText: Leaf<readonly Prefix[]> = readable("must be CIDRs separated by commas", (text) => {
    const parts = text.split(",").map((part) => part.trim());
    const prefixes = parts.filter((part) => part !== "").map((part) => readPrefix(part, undefined));
    return prefixes.every((prefix) => prefix !== undefined) ? prefixes : undefined;
});

function readPrefix(text: string, family: Family | undefined): Prefix | undefined {
    try {
        const prefix = parsePrefix(text, { hostBits: "mask" });
        return family === undefined || prefix.family === family ? prefix : undefined;
    } catch {
        return undefined;
    }
}

/**
 * Schema of a duration of at least `minMs` milliseconds; `least` is the same in Go's notation, for the message. The
 * result is in milliseconds.
 */
export function duration(minMs = 0, least = "0s"): Leaf<DurationMs> {
    return durationIn(`must be a duration of at least ${least}, such as 1m30s`, minMs, Infinity);
}

/** Schema of a duration from `least` to `most`, both included and in Go's notation. The result is in milliseconds. */
export function durationFrom(least: string, most: string): Leaf<DurationMs> {
    const [minMs, maxMs] = [least, most].map(readDuration);
    return durationIn(`must be a duration from ${least} to ${most}, such as 1m30s`, minMs ?? 0, maxMs ?? Infinity);
}

function durationIn(rule: string, minMs: number, maxMs: number): Leaf<DurationMs> {
    const read = (text: string): number | undefined => {
        const ms = readDuration(text);
        return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined;
    };
    return readable(rule, read, durationTest(minMs, maxMs));
}

const unitMs: Readonly<Record<string, number>> = {
    ns: 1e-6,
    us: 1e-3,
    µs: 1e-3,
    ms: 1,
    s: 1000,
    m: 60_000,
    h: 3_600_000,
};

function readDuration(text: string): number | undefined {
    if (text === "0") return 0;
    if (!/^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text)) return undefined;
    let ms = 0;
    for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g)) {
        ms += Number(number) * (unitMs[unit ?? ""] ?? Number.NaN);
    }
    return Number.isSafeInteger(Math.round(ms)) ? ms : undefined;
}

// The limits of the kernel (IFNAMSIZ, dev_valid_name).
const interfaceRule = "must be an interface name: 1 to 15 characters without / : and spaces";
const interfaceTest = { kind: "text", match: "^[!-.0-9;-~]{1,15}$", except: "^[.]{1,2}$" } as const satisfies ValueTest;
const readInterface = readerOf(interfaceTest);

function readerOf({ match, except }: { readonly match: string; readonly except: string }) {
    const [wanted, refused] = [new RegExp(match), new RegExp(except)];
    return (text: string): string | undefined => (wanted.test(text) && !refused.test(text) ? text : undefined);
}

/**
 * Schema of the name of a network interface, as the kernel limits it (IFNAMSIZ, dev_valid_name), in ASCII: 1 to 15
 * characters without `/`, `:` and spaces, neither `.` nor `..`.
 */
export const interfaceName: Leaf<string> = readable(interfaceRule, readInterface, interfaceTest);

/**
 * The loopback interface, sysctl names for all interfaces, the devices of OVS datapaths, and the agent's tunnel port.
 */
const usedNames = ["lo", "all", "default", "ovs-system", "ovs-netdev", "antrea-tun0"];
const ownInterfaceTest = { ...interfaceTest, except: `${interfaceTest.except}|^(${usedNames.join("|")})$` };

/**
 * Schema of the name of an interface that antrea-agent creates: an `interfaceName` that neither the kernel, OVS nor the
 * agent itself uses (lo, all, default, ovs-system, ovs-netdev, antrea-tun0).
 */
export const ownInterfaceName: Leaf<string> = readable(
    `${interfaceRule}, and none that the kernel, Open vSwitch or antrea-agent uses: ${usedNames.join(", ")}`,
    readerOf(ownInterfaceTest),
    ownInterfaceTest,
);

/** Schema of a network interface name, or "" for undefined. */
export const interfaceNameOrEmpty: Leaf<string | undefined> = readableOrEmpty(
    `${interfaceRule}, or empty`,
    readInterface,
    interfaceTest,
);

/** Schema of an absolute path without NUL. */
export const absolutePath: Leaf<string> = readable("must be an absolute path", (text) =>
    text.startsWith("/") && !text.includes("\0") ? text : undefined,
);

/**
 * Schema of an API server: `host`, `host:port` (an IPv6 address without port may lack its brackets) or an http or https
 * URL without path. The result is `scheme://host:port`, by default https and 443 (http: 80); undefined for "".
 */
export const apiServer: Leaf<string | undefined> = readableOrEmpty(
    "must be a host, host:port or http(s) URL, or empty",
    (text) => {
        const [, scheme = "https", rest = ""] = /^(?:(https?):\/\/)?(.*)$/.exec(text) ?? [];
        const plain = rest.replace(/\/$/, "");
        const usual = scheme === "http" ? 80 : 443;
        if (isIP(plain) === 6) return `${scheme}://[${plain}]:${usual}`;
        const [, host = "", given] = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?$/.exec(plain) ?? [];
        const number = given === undefined ? usual : Number(given);
        if (number < 1 || number > 65_535 || !isHost(host)) return undefined;
        return `${scheme}://${host}:${number}`;
    },
    serverTest,
);

function isHost(host: string): boolean {
    if (host.startsWith("[")) return isIP(host.slice(1, -1)) === 6;
    if (/^[0-9.]+$/.test(host)) return isIP(host) === 4;
    return host.length <= 253 && host.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}

/**
 * Schema of a DNS server `IP`, `IPv4:port` or `[IPv6]:port`; the result always has the port, by default 53. Undefined
 * for "".
 */
export const dnsServer: Leaf<string | undefined> = readableOrEmpty(
    "must be an IP address with or without port, or empty",
    (text) => {
        if (isIP(text) === 4) return `${text}:53`;
        if (isIP(text) === 6) return `[${text}]:53`;
        const [, v6, v4, number] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
        if (isIP(v6 ?? "") !== 6 && isIP(v4 ?? "") !== 4) return undefined;
        return Number(number) >= 1 && Number(number) <= 65_535 ? text : undefined;
    },
);

/** Schema of an address to listen at, `IPv4:port` or `[IPv6]:port`; "" gives `usual`. */
export function bindAddress(usual: string): Leaf<string> {
    return readable(
        "must be an IP address with a port, such as 0.0.0.0:10256, or empty",
        (text) => {
            if (text === "") return usual;
            const [, v6, v4, number] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
            if (isIP(v6 ?? "") !== 6 && isIP(v4 ?? "") !== 4) return undefined;
            return Number(number) >= 1 && Number(number) <= 65_535 ? text : undefined;
        },
        bindTest,
    );
}

/** Schema of two ports in a text, `first-last`, first below last, each 1 to 65,535. */
export const portRange: Leaf<{ readonly first: number; readonly last: number }> = readable(
    "must be two ports, the first below the last, such as 61000-62000",
    (text) => {
        const [, first, last] = /^(\d{1,5})-(\d{1,5})$/.exec(text)?.map(Number) ?? [];
        if (first === undefined || last === undefined || first < 1 || last > 65_535 || first >= last) return undefined;
        return { first, last };
    },
);

/** Schema of a Service: `namespace/name` or an IP address. */
export const serviceOrAddress: Leaf<string> = readable(
    "must be namespace/name of a Service or an IP address",
    readerOf(serviceTest),
    serviceTest,
);

/** Schema of a list, which may be empty, whose members have this schema. */
export function listOf<T extends z.ZodType>(member: T): z.ZodArray<T> {
    return z.array(member, { error: "must be a list" });
}

/** Schema of a group of keys that may be absent, as `group` makes it. */
export type Group<T extends z.ZodRawShape> = z.ZodPrefault<z.ZodObject<T, z.core.$strict>>;

/**
 * Schema of a group of keys, all with defaults or optional, so that the group may be absent; a required key would make
 * every file without it invalid. Unknown keys are reported separately from invalid values.
 */
export function group<T extends z.ZodRawShape>(shape: T): Group<T> {
    // The type cannot express that no key of the shape is required; the tests of the defaults verify it.
    return member(shape).prefault({} as never);
}

/** Schema of a map of keys, such as a member of a list; unknown keys are issues of their own. */
export function member<T extends z.ZodRawShape>(shape: T): z.ZodObject<T, z.core.$strict> {
    return z.strictObject(shape, {
        error: (issue) => (issue.code === "invalid_type" ? "must be a map of keys" : undefined),
    });
}

/** A type that is read-only at all depths. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
    ? readonly DeepReadonly<Item>[]
    : T extends object
      ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
      : T;
