import { spawn } from "node:child_process";
import { AntreaError } from "@antrea/errors";

/**
 * `PROGRAM_MISSING`: a program cannot be started; `PROGRAM_FAILED`: its exit code is not 0, a signal ended it, or it
 * did not end in time.
 */
export class ProgramError extends AntreaError<"PROGRAM_FAILED" | "PROGRAM_MISSING"> {}

/**
 * Runs a program of the image, found by PATH, with these arguments and `input` (default empty) on standard input;
 * resolves with its whole standard output as UTF-8. Rejects with ProgramError: PROGRAM_MISSING if it cannot be started,
 * PROGRAM_FAILED with its error output if it fails or does not end in time.
 */
export type RunProgram = (program: string, args: readonly string[], input?: string) => Promise<string>;

const timeoutMs = 10_000;
const killMs = 13_000;

/**
 * `RunProgram` with a limit of 10 s: the program then gets SIGTERM, after 13 s SIGKILL. Settles after 13 s at the
 * latest, also if a process that the program started still has its output open.
 */
export const runProgram: RunProgram = (program, args, input = "") =>
    new Promise((resolve, reject) => {
        const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
        let output = "";
        let errors = "";
        let late = false;
        const fail = (how: string): void => {
            const message = [[program, ...args, how].join(" "), errors.trim()].filter((part) => part !== "").join(": ");
            reject(new ProgramError("PROGRAM_FAILED", "environment", message));
        };
        const failLate = (): void => fail(`did not end within ${timeoutMs / 1000} s and was stopped`);
        const terminate = (): void => {
            late = true;
            child.kill("SIGTERM");
        };
        const kill = (): void => {
            child.kill("SIGKILL");
            // A hanging process that the program started may keep the pipes open, and so delay "close" for ever.
            for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe.destroy();
            failLate();
        };
        const timers = [setTimeout(terminate, timeoutMs), setTimeout(kill, killMs)];
        const stopTimers = (): void => {
            for (const timer of timers) clearTimeout(timer);
        };
        child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
        child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
        child.on("error", (cause) => {
            stopTimers();
            const message = `the program ${program} cannot be run; is it on the image?`;
            reject(new ProgramError("PROGRAM_MISSING", "environment", message, { cause }));
        });
        child.on("close", (code, signal) => {
            stopTimers();
            if (code === 0) return resolve(output);
            if (late) return failLate();
            fail(`ended with ${code ?? signal}`);
        });
        child.stdin.on("error", () => undefined);
        child.stdin.end(input);
    });
