import { spawn, spawnSync } from "node:child_process";
import { type CniCmdArgs } from "@antrea/cni";
import { BenchError } from "./error.ts";

/** The environment that a runtime gives to a CNI plugin (CNI spec 1.1, section 2). */
export function pluginEnvironment(
    command: "ADD" | "DEL",
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

/** Runs a program from its start to its end; gives the milliseconds and what it printed. */
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
    const said = `${stdout}${stderr}`;
    throw new BenchError("CALL_FAILED", "environment", `${path} ended with ${status}: ${said}`, { cause: error });
}

/** Like `runPlugin`, beside others; resolves with what it printed. */
export async function startPlugin(path: string, env: NodeJS.ProcessEnv, input: string): Promise<string> {
    const child = spawn(path, { env });
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.once("error", reject);
    child.once("close", (code) => {
        if (code === 0) resolve(said);
        else reject(new BenchError("CALL_FAILED", "environment", `${path} ended with ${code}: ${said}`));
    });
    child.stdin.on("error", () => undefined); // the exit code tells
    child.stdin.end(input);
    return promise;
}
