import { spawn, spawnSync } from "node:child_process";
import { type CniCmdArgs, type CniCommand } from "@antrea/cni";
import { BenchError } from "./error.ts";

/** The environment of a CNI plugin (CNI spec 1.1, section 2). */
export function pluginEnvironment(
    command: CniCommand,
    call: Omit<CniCmdArgs, "networkConfiguration">,
): NodeJS.ProcessEnv {
    return {
        PATH: process.env.PATH,
        CNI_COMMAND: command,
        CNI_CONTAINERID: call.containerId,
        CNI_NETNS: call.netns,
        CNI_IFNAME: call.ifname,
        CNI_ARGS: call.args,
        CNI_PATH: call.path,
    };
}

/** Runs a program to its end; returns the milliseconds and its output. */
export function runPlugin(
    path: string,
    env: NodeJS.ProcessEnv,
    input: string,
    args: readonly string[] = [],
): { readonly ms: number; readonly output: string } {
    const begin = performance.now();
    const { status, stdout, stderr, error } = spawnSync(path, args, { env, input, encoding: "utf8" });
    const ms = performance.now() - begin;
    if (status === 0) return { ms, output: stdout };
    const output = `${stdout}${stderr}`;
    throw new BenchError("CALL_FAILED", "environment", `${path} ended with ${status}: ${output}`, { cause: error });
}

/** The result of one plugin run. */
export interface PluginAnswer {
    /** From before the process is created to its end. */
    readonly ms: number;
    /** Null if a signal ended it. */
    readonly code: number | null;
    /** The complete output: a result, or an error object (CNI spec 1.1, section 5). */
    readonly output: string;
}

/** Runs a plugin without blocking. Rejects only if it cannot be started: a failure is a result. */
export async function execPlugin(path: string, env: NodeJS.ProcessEnv, input: string): Promise<PluginAnswer> {
    const begin = performance.now();
    const child = spawn(path, { env });
    const { promise, resolve, reject } = Promise.withResolvers<PluginAnswer>();
    let output = "";
    for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.once("error", reject);
    child.once("close", (code) => resolve({ ms: performance.now() - begin, code, output }));
    child.stdin.on("error", () => undefined); // the exit code is evaluated
    child.stdin.end(input);
    return promise;
}

/** Runs a plugin that must succeed; resolves with its output. */
export async function startPlugin(path: string, env: NodeJS.ProcessEnv, input: string): Promise<string> {
    const { code, output } = await execPlugin(path, env, input);
    if (code === 0) return output;
    throw new BenchError("CALL_FAILED", "environment", `${path} ended with ${code}: ${output}`);
}
