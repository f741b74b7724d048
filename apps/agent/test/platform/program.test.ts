import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { runProgram } from "../../src/platform/program.ts";

describe("a program", () => {
    it("gets its input and its output is returned", async () => {
        expect(await runProgram("cat", [], "text")).toBe("text");
    });

    it("that is missing, or fails, is an error with its output", async () => {
        await expect(runProgram("/nowhere/program", [])).rejects.toMatchObject({ code: "PROGRAM_MISSING" });
        const failed = { code: "PROGRAM_FAILED", message: expect.stringContaining("ended with 3: no rule") };
        await expect(runProgram("sh", ["-c", "echo no rule >&2; exit 3"])).rejects.toMatchObject(failed);
    });
});

describe("a program that does not end", () => {
    const ended = (signal: string): object => ({
        code: "PROGRAM_FAILED",
        message: expect.stringContaining(`ended with ${signal}`),
    });
    beforeEach(() => {
        jest.useFakeTimers({
            doNotFake: ["setImmediate", "nextTick", "queueMicrotask", "performance", "Date", "hrtime"],
        });
    });
    afterEach(() => {
        jest.useRealTimers();
    });

    it("gets SIGTERM after 10 s", async () => {
        const run = runProgram("sleep", ["60"]);
        const outcome = expect(run).rejects.toMatchObject(ended("SIGTERM"));
        jest.advanceTimersByTime(10_000);
        await outcome;
    });

    it("gets SIGKILL after 13 s if it ignores SIGTERM", async () => {
        const folder = mkdtempSync(join(tmpdir(), "program-"));
        const mark = join(folder, "ignores");
        // An ignored signal stays ignored in the program that replaces the shell.
        const run = runProgram("sh", ["-c", `trap '' TERM; : > ${mark}; exec sleep 60`]);
        const outcome = expect(run).rejects.toMatchObject(ended("SIGKILL"));
        while (!existsSync(mark)) await new Promise(setImmediate);
        jest.advanceTimersByTime(13_000);
        await outcome;
        rmSync(folder, { recursive: true });
    });
});
