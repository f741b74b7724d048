import { execFileSync } from "node:child_process";

/** Wraps a command to run in the network namespace at a path; the process ID stays that of the program. */
export function within(
    netnsPath: string | undefined,
    command: readonly string[],
): readonly [program: string, args: readonly string[]] {
    const [program = "", ...args] = command;
    return netnsPath === undefined ? [program, args] : ["nsenter", [`--net=${netnsPath}`, program, ...args]];
}

/** Runs a command in the network namespace at a path; returns its output. */
export function runWithin(netnsPath: string | undefined, ...command: readonly string[]): string {
    const [program, args] = within(netnsPath, command);
    return execFileSync(program, args, { encoding: "utf8", maxBuffer: 256 << 20, stdio: ["ignore", "pipe", "pipe"] });
}
