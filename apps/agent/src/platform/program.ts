import { spawn } from "node:child_process";
import { AntreaError } from "@antrea/errors";

/** `PROGRAM_MISSING`: a program cannot be started; `PROGRAM_FAILED`: its exit code is not 0, or a signal ended it. */
export class ProgramError extends AntreaError<"PROGRAM_FAILED" | "PROGRAM_MISSING"> {}

/**
 * Runs a program of the image with these arguments and `input` (default empty) on standard input; resolves with its
 * standard output as UTF-8. Rejects with ProgramError: PROGRAM_MISSING if it cannot be started, PROGRAM_FAILED with its
 * error output if its exit code is not 0.
 */
export type RunProgram = (program: string, args: readonly string[], input?: string) => Promise<string>;

const timeoutMs = 10_000;
const killMs = 13_000;

/** Runs a program of the image; after 10 s it gets SIGTERM, after 13 s SIGKILL, which is `PROGRAM_FAILED`. */
export const runProgram: RunProgram = (program, args, input = "") =>
    new Promise((resolve, reject) => {
        const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] });
        const timers = [
            setTimeout(() => child.kill("SIGTERM"), timeoutMs),
            setTimeout(() => child.kill("SIGKILL"), killMs),
        ];
        const stopTimers = (): void => {
            for (const timer of timers) clearTimeout(timer);
        };
        let output = "";
        let errors = "";
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
            const message = `${program} ${args.join(" ")} ended with ${code ?? signal}: ${errors.trim()}`;
            reject(new ProgramError("PROGRAM_FAILED", "environment", message));
        });
        child.stdin.on("error", () => undefined);
        child.stdin.end(input);
    });
