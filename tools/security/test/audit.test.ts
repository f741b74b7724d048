import { describe, expect, it } from "@jest/globals";
import { verdictOf } from "../audit.ts";
import { problemOf } from "../licences.ts";

const found = (counts: object): string =>
    JSON.stringify({
        metadata: { vulnerabilities: { info: 0, low: 0, moderate: 0, high: 0, critical: 0, total: 0, ...counts } },
    });

describe("what npm audit reports", () => {
    it.each([
        ["nothing found", found({}), "passed", "no known weakness"],
        ["small ones", found({ low: 2, moderate: 1 }), "passed", "known weaknesses: 2 low, 1 moderate"],
        ["one that is high", found({ high: 1 }), "failed", "known weaknesses: 1 high"],
        ["one that is critical", found({ low: 1, critical: 3 }), "failed", "known weaknesses: 1 low, 3 critical"],
        [
            "a registry without the endpoint",
            JSON.stringify({
                message: "405 Method Not Allowed - POST https://registry.example.org/-/npm",
                statusCode: 405,
            }),
            "not checked",
            "the registry has no audit endpoint",
        ],
        [
            "the same as an error",
            JSON.stringify({
                error: { code: "ENOAUDIT", summary: "Your configured registry does not support audit requests." },
            }),
            "not checked",
            "the registry has no audit endpoint",
        ],
        [
            "no registry",
            JSON.stringify({
                message: "request to https://registry.example.org failed, reason: getaddrinfo ENOTFOUND",
            }),
            "not checked",
            "the registry is not reached",
        ],
        [
            "a lock file that is broken",
            JSON.stringify({ error: { code: "ENOLOCK", summary: "This command requires an existing lockfile." } }),
            "failed",
            expect.stringContaining("ENOLOCK"),
        ],
        ["something else", "Segmentation fault", "failed", expect.stringContaining("Segmentation fault")],
        ["an empty answer", "{}", "failed", expect.stringContaining("npm audit failed")],
    ])("%s", (_name, output, kind, text) => {
        expect(verdictOf(output)).toEqual({ kind, text });
    });
});

describe("the licence of a package that ships", () => {
    it.each([
        [["MIT"], undefined],
        [["(MIT OR GPL-3.0-only)"], undefined],
        [["BSD-3-Clause AND Apache-2.0"], undefined],
        [["GPL-3.0-only"], expect.stringContaining("GPL-3.0-only is not one of")],
        [["MIT AND LGPL-2.1-only"], expect.stringContaining("is not one of")],
        [["MIT", "AGPL-3.0-only"], expect.stringContaining("AGPL-3.0-only is not one of")],
        [["SEE LICENSE IN LICENSE.md"], expect.stringContaining("no SPDX expression")],
        [["UNLICENSED"], expect.stringContaining("no SPDX expression")],
        [[], "it names no licence"],
    ])("%j: %j", (licences, problem) => {
        expect(problemOf({ licences })).toEqual(problem);
    });
});
