import { type BunApi } from "./bun.ts";
import { callAgent } from "./call-agent.ts";
import { LastGoodStatus } from "./last-good-status.ts";
import { run } from "./run.ts";

declare const Bun: BunApi;

const defaultSocketPath = "/var/run/antrea/cni.sock";

// Bytecode is compiled as a CommonJS module, which has no top-level `await`.
async function main(): Promise<void> {
    const socketPath = Bun.env["ANTREA_CNI_SOCKET"] ?? defaultSocketPath;
    const { output, exitCode } = await run({
        environment: Bun.env,
        readInput: () => Bun.stdin.bytes(),
        callAgent: (path, message) => callAgent(Bun, socketPath, path, message),
        // Only STATUS uses the file system; a static import would be loaded on each call.
        lastGoodStatus: {
            keep: () => lastGoodStatus(socketPath).keep(),
            check: () => lastGoodStatus(socketPath).check(),
        },
    });
    await Bun.write(Bun.stdout, output);
    process.exit(exitCode);
}

function lastGoodStatus(socketPath: string): LastGoodStatus {
    const folder = socketPath.slice(0, socketPath.lastIndexOf("/") + 1);
    return new LastGoodStatus(process.getBuiltinModule("node:fs"), { file: `${folder}cni-status`, pid: process.pid });
}

void main();
