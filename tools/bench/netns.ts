import { execFileSync } from "node:child_process";

/** A command, run in the network namespace at a path: the process stays the same, so its id is that of the program. */
export function within(
    netnsPath: string | undefined,
    command: readonly string[],
): readonly [program: string, args: readonly string[]] {
    const [program = "", ...args] = command;
    return netnsPath === undefined ? [program, args] : ["nsenter", [`--net=${netnsPath}`, program, ...args]];
}

/** Runs a command in the network namespace at a path; gives what it printed. */
export function runWithin(netnsPath: string | undefined, ...command: readonly string[]): string {
    const [program, args] = within(netnsPath, command);
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}
