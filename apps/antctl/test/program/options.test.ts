import { describe, expect, it } from "@jest/globals";
import { KubeError } from "@antrea/kube";
import { AntreaError } from "@antrea/errors";
import { CliError } from "../../src/errors.ts";
import { failureOf, findKubeconfig, readDuration, readTimeout } from "../../src/program/index.ts";

describe("readTimeout", () => {
    it.each([
        ["30s", 30_000],
        ["5", 5_000],
        ["1m30s", 90_000],
        ["500ms", 500],
        ["2h", 7_200_000],
        ["0", 86_400_000],
        ["0s", 86_400_000],
        ["999h", 86_400_000],
    ])("%s", (text, ms) => {
        expect(readTimeout(text)).toBe(ms);
    });

    it.each(["", "s", "5x", "1.5s", "-1s", "1s ", "1s2", "s1"])("refuses %j", (text) => {
        expect(() => readTimeout(text)).toThrow("It must be a duration such as 30s or 1m, or 0 for none.");
    });
});

describe("readDuration", () => {
    it.each([
        ["0", 0],
        ["0s", 0],
        ["1m30s", 90_000],
        ["999h", 86_400_000],
    ])("%s", (text, ms) => {
        expect(readDuration(text)).toBe(ms);
    });
});

describe("findKubeconfig", () => {
    const there = (): boolean => true;
    it.each<[string, string | undefined, Record<string, string>, boolean, string | readonly string[] | undefined]>([
        ["the option first", "/a:b", { KUBECONFIG: "/c", HOME: "/h" }, true, "/a:b"],
        ["then KUBECONFIG", undefined, { KUBECONFIG: "/c", HOME: "/h" }, true, ["/c"]],
        ["several files", undefined, { KUBECONFIG: "/c::/d:" }, true, ["/c", "/d"]],
        ["then that of the home folder", undefined, { KUBECONFIG: "", HOME: "/h" }, true, "/h/.kube/config"],
        ["then the service account", undefined, { HOME: "/h" }, false, undefined],
    ])("%s", (_name, option, environment, exists, found) => {
        expect(findKubeconfig(option, environment, exists ? there : () => false)).toEqual(found);
    });
});

describe("failureOf", () => {
    it.each<[string, unknown, number, RegExp, RegExp]>([
        ["a wrong command line", new CliError("USAGE", "caller", "no", "do"), 64, /^no$/, /^do$/],
        ["wrong input", new CliError("BAD_INPUT", "caller", "a\nb", "do"), 1, /^a b$/, /^do$/],
        ["no kubeconfig", new KubeError("BAD_CONFIG", "none"), 1, /^none$/, /--kubeconfig/],
        ["no permission", new KubeError("FORBIDDEN", "no"), 1, /^no$/, /docs\/antctl\.md/],
        [
            "no connection",
            new KubeError("CONNECTION_FAILED", "no", { cause: new Error("ECONNREFUSED") }),
            1,
            /^no: ECONNREFUSED$/,
            /cluster-info/,
        ],
        ["another answer", new KubeError("SERVER_ERROR", "500"), 1, /^500$/, /message/],
        ["an error of ours", new AntreaError("X", "environment", "x"), 1, /^x$/, /again/],
        ["a defect", new TypeError("undefined"), 1, /should not: undefined/, /report/],
    ])("%s", (_name, error, exitCode, what, next) => {
        const failure = failureOf(error);
        expect(failure.exitCode).toBe(exitCode);
        expect(failure.what).toMatch(what);
        expect(failure.next).toMatch(next);
        expect(`${failure.what}${failure.next}`).not.toMatch(/\n/);
    });
});
