import { describe, expect, it } from "@jest/globals";
import { AntreaError, isAborted, messageOf } from "../src/index.ts";

class PoolError extends AntreaError<"EXHAUSTED" | "OVERLAP"> {}

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

    it("tells the causes in order", () => {
        const error = new PoolError("OVERLAP", "caller", "outer", { cause: new AntreaError("X", "peer", "inner") });
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
