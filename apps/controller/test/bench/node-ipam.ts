import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TestApiServer, eventually, freePort } from "@antrea/kube/testing";

export interface NodeIpamBenchmark {
    readonly nodes: number;
    /** From taking over to the last Node's podCIDRs. */
    readonly seconds: number;
    /** Resident memory of the bundled controller before the first Node was there, in MiB. */
    readonly idleMiB: number;
    /** The highest resident memory, in MiB. */
    readonly peakMiB: number;
}

const bundle = new URL("../../dist/antrea-controller.mjs", import.meta.url).pathname;

/** Gives Nodes dual-stack podCIDRs by the bundled controller (build it first) on a real API server and etcd. */
export async function measureNodeIpam(count: number): Promise<NodeIpamBenchmark> {
    await using server = await TestApiServer.start();
    const config = {
        clientConnection: { kubeconfig: server.kubeconfig() },
        apiPort: await freePort(),
        nodeIPAM: { enableNodeIPAM: true, clusterCIDRs: ["10.128.0.0/11", "fd00:10:128::/48"] },
    };
    const path = join(dirname(server.kubeconfig()), "bench.conf");
    await writeFile(path, JSON.stringify(config));
    const run = async <T>(work: (out: () => string, memory: (key: string) => number) => Promise<T>): Promise<T> => {
        const env = { PATH: process.env.PATH, POD_NAMESPACE: "default", POD_NAME: "bench", POD_UID: "1" };
        const child = spawn(process.execPath, [bundle, "--config", path], {
            env,
            stdio: ["ignore", "pipe", "inherit"],
        });
        let output = "";
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
        const memory = (key: string): number => {
            const line = new RegExp(`${key}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
            return Math.round(Number(line?.[1]) / 102.4) / 10;
        };
        try {
            await eventually(() => output.includes('"took over the ledger"'), { timeoutMs: 60_000 });
            return await work(() => output, memory);
        } finally {
            child.kill("SIGTERM");
            await ended;
        }
    };
    const idleMiB = await run(async (_out, memory) => {
        await new Promise((resolve) => setTimeout(resolve, 5_000));
        return memory("VmRSS");
    });
    const writers = Array.from({ length: 20 }, async (_, writer) => {
        for (let index = writer; index < count; index += 20) await server.addNode(`node-${index}`);
    });
    await Promise.all(writers);
    // Awaited here: the server must live until then.
    return await run(async (out, memory) => {
        const began = performance.now();
        await eventually(() => out().split('"assigned podCIDRs"').length > count, { timeoutMs: 300_000 });
        const seconds = Math.round(performance.now() - began) / 1000;
        return { nodes: count, seconds, idleMiB, peakMiB: memory("VmHWM") };
    });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
    console.log(JSON.stringify(await measureNodeIpam(Number(process.argv[2] ?? 5_000))));
}
