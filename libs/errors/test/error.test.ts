import { describe, expect, it } from "@jest/globals";
import { AntreaError, isAborted, isErrorOf, isSystemError, messageOf } from "../src/index.ts";

class PoolError extends AntreaError<"EXHAUSTED" | "OVERLAP", { readonly pool: string }> {}

describe("AntreaError", () => {
    it("carries code, fault, details and the name of its class", () => {
        const error = new PoolError("EXHAUSTED", "environment", "pool p1 is full", { details: { pool: "p1" } });
        expect(error).toMatchObject({
            code: "EXHAUSTED",
            fault: "environment",
            name: "PoolError",
            details: { pool: "p1" },
        });
    });

    it("lists the causes in order", () => {
        const error = new PoolError("OVERLAP", "caller", "outer", { cause: new AntreaError("X", "remote", "inner") });
        expect(messageOf(error)).toBe("outer: inner");
    });

    it.each([
        ["ours", new AntreaError("STOPPED", "aborted", "stopped"), true],
        ["an AbortSignal's", AbortSignal.abort().reason, true],
        ["a failure", new AntreaError("X", "internal", "broken"), false],
        ["a string", "aborted", false],
    ])("knows an abort: %s", (_name, error, expected) => {
        expect(isAborted(error)).toBe(expected);
    });
});

class OtherError extends AntreaError<"EXHAUSTED"> {}

describe("an error of a class", () => {
    const error: unknown = new PoolError("EXHAUSTED", "environment", "pool p1 is full");

    it("is distinguished from one of another class with a code of the same name", () => {
        expect(isErrorOf(PoolError, error)).toBe(true);
        expect(isErrorOf(PoolError, error, "OVERLAP", "EXHAUSTED")).toBe(true);
        expect(isErrorOf(PoolError, error, "OVERLAP")).toBe(false);
        expect(isErrorOf(OtherError, error, "EXHAUSTED")).toBe(false);
        expect(isErrorOf(PoolError, { code: "EXHAUSTED" })).toBe(false);
    });

    it("takes no code that the class does not have", () => {
        // @ts-expect-error no PoolError has this code
        expect(isErrorOf(PoolError, error, "FULL")).toBe(false);
        if (!isErrorOf(PoolError, error, "OVERLAP")) return;
        const code: "OVERLAP" = error.code;
        expect(code).toBe("OVERLAP");
    });
});

describe("an error of the system", () => {
    it.each([
        ["node:fs throws it", Object.assign(new TypeError("no such file"), { code: "ENOENT" }), true],
        ["it comes from another realm", { name: "Error", message: "no such file", code: "ENOENT" }, true],
        ["it has another code", Object.assign(new TypeError("denied"), { code: "EACCES" }), false],
        ["it is one of ours", new AntreaError("ENOENT", "environment", "no such link"), false],
        ["it has a number as its code", Object.assign(new TypeError("refused"), { code: 2 }), false],
        ["it is no error", { code: "ENOENT" }, false],
        ["it is nothing", undefined, false],
    ])("%s", (_name, error, expected) => {
        expect(isSystemError(error, "ENOENT")).toBe(expected);
    });
});
