import { spawn } from "node:child_process";
import { AntreaError } from "@antrea/errors";

export class ProgramError extends AntreaError<"PROGRAM_FAILED" | "PROGRAM_MISSING"> {}

/**
 * Runs a program of the image with these arguments and gives what it prints. Rejects with ProgramError: PROGRAM_MISSING
 * when there is none, PROGRAM_FAILED with its words when it does not end with 0.
 */
export type RunProgram = (program: string, args: readonly string[], input?: string) => Promise<string>;

const timeoutMs = 10_000;

export const runProgram: RunProgram = (program, args, input = "") =>
    new Promise((resolve, reject) => {
        const child = spawn(program, args, { timeout: timeoutMs, stdio: ["pipe", "pipe", "pipe"] });
        let output = "";
        let errors = "";
        child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
        child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
        child.on("error", (cause) => {
            const message = `the program ${program} cannot be run; is it on the image?`;
            reject(new ProgramError("PROGRAM_MISSING", "environment", message, { cause }));
        });
        child.on("close", (code, signal) => {
            if (code === 0) return resolve(output);
            const message = `${program} ${args.join(" ")} ended with ${code ?? signal}: ${errors.trim()}`;
            reject(new ProgramError("PROGRAM_FAILED", "environment", message));
        });
        child.stdin.on("error", () => undefined);
        child.stdin.end(input);
    });
