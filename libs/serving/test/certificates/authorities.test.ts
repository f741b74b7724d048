import { X509Certificate } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { createSelfSigned } from "../../src/certificates/certificate.ts";
import {
    bundleOf,
    decodeAuthorities,
    dueChange,
    encodeAuthorities,
    issuedAtMs,
    newAuthority,
    pemsOf,
    replaceAtMs,
    type Authorities,
} from "../../src/certificates/authorities.ts";

const dayMs = 86_400_000;
const times = { authorityMs: 300 * dayMs, overlapMs: 3_600_000 };
const start = Date.UTC(2026, 0, 1);
const first = newAuthority(start, times);
const second = newAuthority(start + dayMs, times);
const found: Authorities = { current: first, previous: [] };

describe("an authority", () => {
    const cert = new X509Certificate(first.cert);

    it("is valid from an hour ago, and is to be replaced after two thirds of its time", () => {
        expect(cert.validFromDate).toEqual(new Date(start - 3_600_000));
        expect(cert.validToDate).toEqual(new Date(start + 300 * dayMs));
        expect(issuedAtMs(cert)).toBe(start);
        expect(replaceAtMs(cert)).toBe(start + 200 * dayMs);
    });

    it("has a name of its own", () => {
        expect(cert.subject).not.toBe(new X509Certificate(second.cert).subject);
    });
});

describe("what is due", () => {
    const certsOf = (authorities: Authorities): number => pemsOf(bundleOf(authorities)).length;

    it("nothing, for two thirds of the time", () => {
        expect(dueChange(found, "", start, times)).toBeUndefined();
        expect(dueChange(found, "", start + 200 * dayMs - 1, times)).toBeUndefined();
    });

    it("an authority when there is none; what clients trust stays", () => {
        expect(dueChange(undefined, "", start, times)?.authorities.previous).toEqual([]);
        const due = dueChange(undefined, `${first.cert}\n${first.cert}garbage`, start, times);
        expect(due?.reason).toBe("no authority");
        expect(due?.authorities.previous).toEqual([first.cert.trim()]);
        expect(certsOf(due?.authorities ?? found)).toBe(2);
    });

    it("another one when the Secret cannot be read, or two thirds are over; both are trusted", () => {
        expect(dueChange({ problem: "x" }, first.cert, start, times)).toMatchObject({
            reason: "unreadable",
            authorities: { previous: [first.cert.trim()] },
        });
        expect(dueChange(found, "", start + 200 * dayMs, times)).toMatchObject({
            reason: "replaced in time",
            authorities: { previous: [first.cert.trim()] },
        });
    });

    it("the end of the one before, when the overlap is over", () => {
        const both = { current: second, previous: [first.cert] };
        expect(dueChange(both, "", start + dayMs + times.overlapMs - 1, times)).toBeUndefined();
        expect(dueChange(both, "", start + dayMs + times.overlapMs, times)).toEqual({
            reason: "overlap over",
            authorities: { current: second, previous: [] },
        });
    });

    it("never brings along what has ended or cannot be read, nor more than eight", () => {
        const ended = newAuthority(start - 301 * dayMs, times).cert;
        const garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        expect(dueChange(undefined, ended + garbage + first.cert, start, times)?.authorities.previous).toEqual([
            first.cert.trim(),
        ]);
        const many = Array.from({ length: 10 }, (_, index) => newAuthority(start - index, times).cert).join("");
        expect(dueChange(undefined, many, start, times)?.authorities.previous).toHaveLength(8);
    });
});

describe("the Secret", () => {
    it("holds the authorities", () => {
        const both = { current: second, previous: [first.cert] };
        const read = decodeAuthorities({ data: encodeAuthorities(both) }) as Authorities;
        expect(read.current).toEqual(second);
        expect(bundleOf(read)).toBe(bundleOf(both));
    });

    const fields = encodeAuthorities({ current: first, previous: [] });
    const foreign = createSelfSigned({ commonName: "x", names: ["x"], notBeforeMs: start, validMs: dayMs });
    it.each<[string, Record<string, string>, string]>([
        ["is empty", {}, "cannot be read"],
        ["has garbage", { ...fields, "ca.crt": "AAAA" }, "cannot be read"],
        ["lacks the key", { "ca.crt": fields["ca.crt"] ?? "" }, "cannot be read"],
        [
            "has the key of another",
            { ...fields, "ca.key": Buffer.from(foreign.key).toString("base64") },
            "ca.key is not the key of ca.crt",
        ],
    ])("reports when it %s", (_name, data, problem) => {
        expect(decodeAuthorities({ data })).toEqual({ problem: expect.stringContaining(problem) });
    });
});
