import { describe, expect, it } from "@jest/globals";
import { KubeError, abortedError, isKubeError, throwIfAborted, type KubeErrorCode } from "../src/errors.ts";

describe("KubeError", () => {
    it.each<[KubeErrorCode, string]>([
        ["BAD_REQUEST", "internal"],
        ["UNAUTHORIZED", "environment"],
        ["FORBIDDEN", "environment"],
        ["NOT_FOUND", "caller"],
        ["ALREADY_EXISTS", "caller"],
        ["CONFLICT", "caller"],
        ["EXPIRED", "environment"],
        ["INVALID", "caller"],
        ["TOO_MANY_REQUESTS", "environment"],
        ["SERVER_TIMEOUT", "timeout"],
        ["UNAVAILABLE", "environment"],
        ["SERVER_ERROR", "environment"],
        ["TIMEOUT", "timeout"],
        ["CONNECTION_FAILED", "environment"],
        ["BAD_ANSWER", "remote"],
        ["TOO_LARGE", "remote"],
        ["BAD_CONFIG", "environment"],
        ["ABORTED", "aborted"],
    ])("%s is the fault of: %s", (code, fault) => {
        expect(new KubeError(code, "x")).toMatchObject({ code, fault, outcomeUnknown: false });
    });

    it("is known by one of its codes, or by any", () => {
        const error = new KubeError("CONFLICT", "x");
        expect(isKubeError(error, "NOT_FOUND", "CONFLICT")).toBe(true);
        expect(isKubeError(error, "NOT_FOUND")).toBe(false);
        expect(isKubeError(error)).toBe(true);
        expect(isKubeError(new Error("CONFLICT"))).toBe(false);
    });

    it("keeps why something was aborted, unless that states no more than that it was", () => {
        const reason = new Error("made up");
        expect(abortedError("the list", reason)).toMatchObject({ message: "the list was aborted", cause: reason });
        expect(abortedError("the list", new KubeError("ABORTED", "x")).cause).toBeUndefined();
        expect(() => throwIfAborted(AbortSignal.abort(), "the list")).toThrow("the list was aborted");
        expect(() => throwIfAborted(new AbortController().signal, "the list")).not.toThrow();
        expect(() => throwIfAborted(undefined, "the list")).not.toThrow();
    });
});
