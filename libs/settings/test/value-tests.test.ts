import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type z } from "zod";
import { oneOf, oneOfAnyCase, wholeNumber } from "../src/leaves.ts";
import { cidr, cidrOrEmpty } from "../src/leaves/cidr.ts";
import { duration, durationFrom } from "../src/leaves/duration.ts";
import { interfaceName, interfaceNameOrEmpty } from "../src/leaves/interface-name.ts";
import { apiServer } from "../src/leaves/server.ts";
import { tlsCipherSuites, tlsMinVersion } from "../src/tls.ts";
import { valueTests, type ValueTest } from "../src/value-tests.ts";

/** Applies a test in its form as data to a value. */
function passes(test: ValueTest, value: string | number): boolean {
    if (test.kind === "number") return test.ranges.some(([min, max]) => Number(value) >= min && Number(value) <= max);
    const text = String(value);
    if (test.kind === "words") {
        return test.anyCase
            ? test.words.some((word) => word.toLowerCase() === text.toLowerCase())
            : test.words.includes(text);
    }
    if (test.kind === "text") {
        return new RegExp(test.match).test(text) && !(test.except && new RegExp(test.except).test(text));
    }
    return false;
}

const leaves: readonly (readonly [name: string, leaf: z.ZodType, samples: readonly string[]])[] = [
    [
        "cidr",
        cidr(),
        ["10.0.0.0/8", "fd00::/64", "::/0", "1:2:3:4:5:6:7:8/128", "::ffff:1.2.3.4/96", "64:ff9b::1.2.3.4/96"],
    ],
    ["IPv4 cidr", cidr(4), ["10.0.0.0/8", "255.255.255.255/32", "10.0.0.0/33", "01.0.0.0/8"]],
    [
        "IPv6 cidr or empty",
        cidrOrEmpty(6),
        ["", "fd00::/64", "0:0:0:0:0:ffff:1:2/128", "1::8/129", "1:2:3:4:5:6:7::/64"],
    ],
    ["interface", interfaceName, ["eth0", "antrea-gw0", ".", "..", "a/b", "abcdefghijklmnop"]],
    ["interface or empty", interfaceNameOrEmpty, ["", "eth0.100", "eth0:1", "a b"]],
    [
        "API server",
        apiServer,
        [
            "",
            "10.0.0.1",
            "10.0.0.256",
            "10.0.0.1:6443",
            "https://10.0.0.1:6443/",
            "http://foo bar",
            "fd00::1",
            "[fd00::1]:6443",
            "https://api.example.org",
            "api-1.example.org:443",
            "1.2.3",
            "a..b",
            "-a",
            "host:0",
            "host:65536",
            "host:65535",
            "ftp://a",
            `${"a".repeat(64)}.org`,
            `${"a.".repeat(130)}org`,
            "0x10",
            "1-1",
        ],
    ],
    [
        "cipher suites",
        tlsCipherSuites,
        ["", "TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384", "FOO"],
    ],
    ["TLS version", tlsMinVersion, ["", "VersionTLS12", "VersionTLS14"]],
    ["word", oneOf("system", "netdev"), ["system", "System", ""]],
    ["word in any case", oneOfAnyCase("encap", "noEncap"), ["noencap", "NOENCAP", "none"]],
];

/** Texts near the samples: a character changed, doubled or taken away. */
function near(samples: readonly string[]): fc.Arbitrary<string> {
    return fc
        .tuple(fc.constantFrom(...samples), fc.nat(60), fc.constantFrom(..."0129afg:./-[]_ "), fc.nat(2))
        .map(([text, place, character, how]) => {
            const at = text.length === 0 ? 0 : place % text.length;
            return text.slice(0, at) + (how === 0 ? "" : character) + text.slice(how === 2 ? at : at + 1);
        });
}

describe("the test of a kind of value, as data", () => {
    it.each(leaves)("takes of %s what the settings take, and nothing else", (_name, leaf, samples) => {
        const { test } = valueTests.of(leaf)!;
        const agrees = (text: string): void => {
            expect([text, passes(test, text)]).toEqual([text, leaf.safeParse(text).success]);
        };
        samples.forEach(agrees);
        fc.assert(fc.property(near(samples), agrees), { numRuns: 2000, seed: 1 });
    });

    it("has the limits of numbers and of durations", () => {
        expect(valueTests.of(wholeNumber(16, 30))).toEqual({
            rule: "must be a whole number from 16 to 30",
            test: { kind: "number", ranges: [[16, 30]] },
        });
        expect(valueTests.of(duration(1000, "1s"))?.test).toEqual({ kind: "duration", minMs: 1000, maxMs: Infinity });
        expect(valueTests.of(durationFrom("1s", "10m"))?.test).toEqual({
            kind: "duration",
            minMs: 1000,
            maxMs: 600_000,
        });
    });
});
