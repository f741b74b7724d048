import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { runProgram } from "../../src/platform/program.ts";
import { signal } from "../support/signal.ts";

describe("a program", () => {
    it("gets its input and its output is returned", async () => {
        expect(await runProgram("cat", [], "text")).toBe("text");
    });

    it("that is missing, or fails, is an error with its output", async () => {
        await expect(runProgram("/nowhere/program", [])).rejects.toMatchObject({ code: "PROGRAM_MISSING" });
        const failed = { code: "PROGRAM_FAILED", message: expect.stringContaining("ended with 3: no rule") };
        await expect(runProgram("sh", ["-c", "echo no rule >&2; exit 3"])).rejects.toMatchObject(failed);
    });

    it("that something else killed is an error with the signal", async () => {
        const message = "sh -c kill -KILL $$ ended with SIGKILL";
        await expect(runProgram("sh", ["-c", "kill -KILL $$"])).rejects.toMatchObject({ message });
    });
});

describe("a program that does not end", () => {
    const folder = mkdtempSync(join(tmpdir(), "program-"));
    const late = (program: string, errors = ""): object => ({
        code: "PROGRAM_FAILED",
        message: `${program} did not end within 10 s and was stopped${errors}`,
    });
    /** Starts a shell with the script, which has to write a line to the file `mark`; resolves with the line. */
    const start = async (name: string, script: (mark: string) => string) => {
        const mark = join(folder, name);
        const command = script(mark);
        const run = runProgram("sh", ["-c", command]);
        const outcome = expect(run).rejects;
        const line = (): string => (existsSync(mark) ? readFileSync(mark, "utf8") : "");
        while (!line().endsWith("\n")) await new Promise(setImmediate);
        return { outcome, name: `sh -c ${command}`, line: line().trim() };
    };
    beforeEach(() => {
        jest.useFakeTimers({
            doNotFake: ["setImmediate", "nextTick", "queueMicrotask", "performance", "Date", "hrtime"],
        });
    });
    afterEach(() => {
        jest.useRealTimers();
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    it("gets SIGTERM after 10 s", async () => {
        const shell = await start("ends", (mark) => `echo lock held >&2; echo > ${mark}; exec sleep 60`);
        const rejected = shell.outcome.toMatchObject(late(shell.name, ": lock held"));
        jest.advanceTimersByTime(10_000);
        await rejected;
    });

    it("gets SIGKILL after 13 s if it ignores SIGTERM", async () => {
        // An ignored signal stays ignored in the program that replaces the shell.
        const shell = await start("ignores", (mark) => `trap '' TERM; echo $$ > ${mark}; exec sleep 60`);
        const rejected = shell.outcome.toMatchObject(late(shell.name));
        jest.advanceTimersByTime(13_000);
        await rejected;
        // The process ends soon after the signal, and is waited for by Node.js.
        while (existsSync(`/proc/${shell.line}`)) await new Promise(setImmediate);
    });

    it("is given up after 13 s if a process that it started hangs with its pipes", async () => {
        const shell = await start("holds", (mark) => `trap '' TERM; sleep 60 & echo $! > ${mark}; wait`);
        const rejected = shell.outcome.toMatchObject(late(shell.name));
        jest.advanceTimersByTime(13_000);
        await rejected;
        signal(Number(shell.line), "SIGKILL");
    });
});
