import { setTimeout as sleep } from "node:timers/promises";
import { BenchError } from "../error.ts";
import { inParallel } from "../in-parallel.ts";
import { networkCount, NetworksStage } from "../networks/stage.ts";
import { attach, atOnce, detach, type PodCall } from "../networks/ways.ts";
import { figure, typical, type Result } from "../result.ts";

const podCount = 128;
const width = 8;
const quietMs = 5_000;
/** Every check of the agent runs once in it. */
const minuteMs = 60_000;
const minutes = 2;
const restarts = 3;
const maxMb = 200;
const maxCpuSeconds = 0.2;
const maxReadySeconds = 5;
const bytesOfMib = 1.048576;

/** What 2,048 interfaces of 128 Pods cost an agent that has nothing to do, and its start. */
export async function networksMany(): Promise<readonly Result[]> {
    await using stage = await NetworksStage.start();
    const { environment, namespaces, node } = stage;
    const names = Array.from({ length: podCount }, (_, index) => `pod-${index}`);
    const calls = await stage.createPods(namespaces.add(...names), networkCount);
    await eachPod(calls, (call) => attach(atOnce, call, environment));
    await refuseOthers(stage);
    await stage.settle();
    await sleep(quietMs);
    const after = mbOf(node.memory().agent.now);
    const cpuSeconds: number[] = [];
    for (let minute = 0; minute < minutes; minute++) {
        const before = node.agentCpuMs();
        await sleep(minuteMs);
        cpuSeconds.push((node.agentCpuMs() - before) / 1000);
    }
    const ready: number[] = [];
    for (let start = 0; start < restarts; start++) ready.push(await node.restartAgent());
    await sleep(quietMs);
    const restarted = mbOf(node.memory().agent.now);
    await refuseOthers(stage);
    await eachPod(calls, (call) => detach(atOnce, call, environment));
    await stage.settle();
    await namespaces.delete(...names);
    const what = `${podCount * networkCount} interfaces of ${podCount} Pods: antrea-agent`;
    return [
        figure({
            id: "networks-many-memory",
            what: `${what}, resident memory after their ADDs`,
            value: after,
            unit: "MB",
            max: maxMb,
        }),
        figure({
            id: "networks-many-memory-restarted",
            what: `${what}, resident memory after a restart`,
            value: restarted,
            unit: "MB",
            max: maxMb,
        }),
        figure({
            id: "networks-many-cpu",
            what: `${what}, processor time of a quiet minute with one run of every check, the most of ${minutes}`,
            value: Math.max(...cpuSeconds),
            unit: "s",
            max: maxCpuSeconds,
        }),
        typical({
            id: "networks-many-ready",
            what: `${what}, from the start of its process until it is ready, p50 of ${restarts}`,
            samples: ready,
            unit: "s",
            max: maxReadySeconds,
        }),
    ];
}

/** A few at once, as a Node starts its Pods one by one. */
async function eachPod(calls: readonly PodCall[], work: (call: PodCall) => Promise<unknown>): Promise<void> {
    await inParallel(calls.length, width, async (index) => {
        const call = calls[index];
        if (call !== undefined) await work(call);
    });
}

async function refuseOthers(stage: NetworksStage): Promise<void> {
    const [ports, wanted] = [await stage.podPorts(), podCount * networkCount];
    if (ports === wanted) return;
    throw new BenchError("WRONG_RESULT", "internal", `the Pods have ${ports} interfaces on networks, not ${wanted}`);
}

function mbOf(mib: number): number {
    return mib * bytesOfMib;
}
