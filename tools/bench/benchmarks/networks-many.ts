import { setTimeout as sleep } from "node:timers/promises";
import { BenchError } from "../error.ts";
import { inParallel } from "../in-parallel.ts";
import { type NodeUnderTest } from "../node-under-test.ts";
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
    await sleep(quietMs);
    const idle = await quietMinute(node);
    const names = Array.from({ length: podCount }, (_, index) => `pod-${index}`);
    const calls = await stage.createPods(namespaces.add(...names), networkCount);
    await eachPod(calls, (call) => attach(atOnce, call, environment));
    await refuseOthers(stage);
    await stage.settle();
    await sleep(quietMs);
    const after = mbOf(node.memory().agent.now);
    const cpuSeconds: number[] = [];
    for (let minute = 0; minute < minutes; minute++) cpuSeconds.push(await quietMinute(node));
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
            what: `${what}, what they add to its processor time in a quiet minute, in which each check runs once, the most of ${minutes}`,
            value: Math.max(0, Math.max(...cpuSeconds) - idle),
            unit: "s",
            max: maxCpuSeconds,
        }),
        figure({
            id: "networks-many-cpu-idle",
            what: "antrea-agent without Pods: its processor time in a quiet minute",
            value: idle,
            unit: "s",
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

/** The processor time of the agent in a minute, in seconds. */
async function quietMinute(node: NodeUnderTest): Promise<number> {
    const before = node.agentCpuMs();
    await sleep(minuteMs);
    return (node.agentCpuMs() - before) / 1000;
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
