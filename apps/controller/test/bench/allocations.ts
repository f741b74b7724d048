import { writeFile } from "node:fs/promises";
import { request } from "node:https";
import { dirname, join } from "node:path";
import { ipAllocations, ipPools } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { eventually, freePort } from "@antrea/kube/testing";
import { PoolCluster, podOn } from "../pool-cluster.ts";
import { withController, type BundledController } from "./bundled-controller.ts";

export interface AllocationsBenchmark {
    readonly allocations: number;
    /** A bare paged list of all allocations by a client that keeps nothing. */
    readonly listSeconds: number;
    /** From the start of the process to its readiness. */
    readonly readySeconds: number;
    /** The same with no allocations there. */
    readonly emptySeconds: number;
    /** Resident memory of the bundled controller some time after, and the highest, in MiB. */
    readonly residentMiB: number;
    readonly peakMiB: number;
    /** From readiness to the pool's usage. */
    readonly usageSeconds: number;
}

/** Starts the bundled controller (build it first) on a real API server and etcd with this many allocations of one pool. */
export async function measureAllocations(count: number): Promise<AllocationsBenchmark> {
    await using cluster = await PoolCluster.start();
    const path = join(dirname(cluster.server.kubeconfig()), "bench.conf");
    const port = await freePort();
    const config = {
        clientConnection: { kubeconfig: cluster.server.kubeconfig() },
        apiPort: port,
        featureGates: { AntreaIPAM: true },
        leaderElection: { leaseDuration: "3s", renewDeadline: "2s", retryPeriod: "200ms" },
    };
    await writeFile(path, JSON.stringify(config));
    const emptySeconds = await run({ path, port }, ({ seconds }) => Promise.resolve(seconds));
    await cluster.pool("bench", "10.128.0.0/12");
    const first = parseIp("10.128.1.0").value;
    const writers = Array.from({ length: 32 }, async (_, writer) => {
        for (let index = writer; index < count; index += 32) {
            const address = formatIp({ family: 4, value: first + BigInt(index) });
            const pod = podOn(`worker-node-${index % 1_000}`, `some-deployment-6d4cf56db6-${index}`);
            await cluster.claim(address, "bench", pod);
        }
    });
    await Promise.all(writers);
    const listed = performance.now();
    let seen = 0;
    for await (const page of cluster.api.pages(ipAllocations)) seen += page.items.length;
    const listSeconds = (performance.now() - listed) / 1_000;
    if (seen !== count) throw new Error(`${seen} allocations of ${count}`);
    return await run({ path, port }, async ({ seconds: readySeconds, memory }) => {
        const ready = performance.now();
        const counted = async (): Promise<boolean> =>
            (await cluster.api.get(ipPools, { name: "bench" })).status?.usage?.used === count;
        await eventually(counted, { timeoutMs: 60_000 });
        const usageSeconds = (performance.now() - ready) / 1_000;
        await new Promise((resolve) => setTimeout(resolve, 10_000));
        const [residentMiB, peakMiB] = [memory("VmRSS"), memory("VmHWM")];
        return { allocations: count, listSeconds, readySeconds, emptySeconds, residentMiB, peakMiB, usageSeconds };
    });
}

async function run<T>(
    { path, port }: { readonly path: string; readonly port: number },
    work: (started: { readonly seconds: number; readonly memory: BundledController["memory"] }) => Promise<T>,
): Promise<T> {
    const began = performance.now();
    return withController(
        // as the image runs it
        { path, nodeOptions: ["--max-semi-space-size=8"], isReady: () => ready(port), timeoutMs: 120_000 },
        ({ memory }) => work({ seconds: (performance.now() - began) / 1_000, memory }),
    );
}

function ready(port: number): Promise<boolean> {
    return new Promise((resolve) => {
        request({ host: "127.0.0.1", port, path: "/readyz", rejectUnauthorized: false, agent: false }, (response) => {
            response.resume();
            resolve(response.statusCode === 200);
        })
            .on("error", () => resolve(false))
            .end();
    });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
    console.log(JSON.stringify(await measureAllocations(Number(process.argv[2] ?? 100_000))));
}
