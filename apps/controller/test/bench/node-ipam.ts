import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TestApiServer, eventually, freePort } from "@antrea/kube/testing";
import { withController, type BundledController } from "./bundled-controller.ts";

export interface NodeIpamBenchmark {
    readonly nodes: number;
    /** From taking over to the last Node's podCIDRs. */
    readonly seconds: number;
    /** Resident memory of the bundled controller before the first Node was there, in MiB. */
    readonly idleMiB: number;
    /** The highest resident memory, in MiB. */
    readonly peakMiB: number;
}

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
    const isReady = ({ output }: BundledController): boolean => output().includes('"took over the ledger"');
    const run = <T>(work: (controller: BundledController) => Promise<T>): Promise<T> =>
        withController({ path, isReady, timeoutMs: 60_000 }, work);
    const idleMiB = await run(async ({ memory }) => {
        await new Promise((resolve) => setTimeout(resolve, 5_000));
        return memory("VmRSS");
    });
    const writers = Array.from({ length: 20 }, async (_, writer) => {
        for (let index = writer; index < count; index += 20) await server.addNode(`node-${index}`);
    });
    await Promise.all(writers);
    // Awaited here: the server must live until then.
    return await run(async ({ output, memory }) => {
        const began = performance.now();
        await eventually(() => output().split('"assigned podCIDRs"').length > count, { timeoutMs: 300_000 });
        const seconds = Math.round(performance.now() - began) / 1000;
        return { nodes: count, seconds, idleMiB, peakMiB: memory("VmHWM") };
    });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
    console.log(JSON.stringify(await measureNodeIpam(Number(process.argv[2] ?? 5_000))));
}
