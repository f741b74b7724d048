import { setTimeout as sleep } from "node:timers/promises";
import { type Memory } from "../daemon.ts";
import { comparison, compared, figure, typical, type Result } from "../result.ts";
import { createServices, endpointsEach } from "../services/service-objects.ts";
import { startAgentNode, startProxyNode, type ServingNode } from "../services/serving-node.ts";
import { sizes } from "../services/sizes.ts";
import { ServicesStage } from "../services/stage.ts";
import { secondsUntilServed } from "../services/until-served.ts";
import { inTurn, median } from "../statistics.ts";

const quietMs = 5_000;
const maxSyncSeconds = 3;
const maxGrownMib = 100;
const peer = "kube-proxy, nftables";

interface Start {
    readonly seconds: number;
    readonly cpuSeconds: number;
    readonly memory: Memory;
}

/** Agent and kube-proxy start on a Node of a cluster with many Services, in turn: until the last is served, and memory. */
export async function servicesStart(): Promise<readonly Result[]> {
    await using stage = await ServicesStage.start();
    const idle = await atRest(stage);
    await createServices(stage.api, sizes.services);
    const ours: (Start & { readonly vswitchd: Memory; readonly syncSeconds: number })[] = [];
    const theirs: Start[] = [];
    for (let round = 0; round < sizes.starts; round++) {
        await inTurn(
            round,
            async () => {
                await using node = await startAgentNode(stage);
                const start = await measured(node);
                ours.push({ ...start, vswitchd: node.vswitchdMemory(), syncSeconds: node.lastServed().seconds });
            },
            async () => {
                await using node = await startProxyNode(stage);
                theirs.push(await measured(node));
            },
        );
    }
    const what = `${sizes.services} Services of ${endpointsEach} endpoints`;
    const pairs = (of: (start: Start) => number): { ours: readonly number[]; peer: readonly number[] } => ({
        ours: ours.map(of),
        peer: theirs.map(of),
    });
    const agentMib = median(ours.map(({ memory }) => memory.now));
    const vswitchdMib = median(ours.map(({ vswitchd }) => vswitchd.now));
    return [
        comparison({
            id: "services-start-time",
            what: `${what}: the last one is served, from the start of the process`,
            peer,
            pairs: pairs(({ seconds }) => seconds),
            unit: "s",
            maxRatio: 1,
        }),
        typical({
            id: "services-start-sync",
            what: `${what}: OVS has all of them, from when the agent has read them`,
            samples: ours.map(({ syncSeconds }) => syncSeconds),
            unit: "s",
            max: maxSyncSeconds,
        }),
        comparison({
            id: "services-start-cpu",
            what: `${what}: processor time of the process until 5 s after that`,
            peer,
            pairs: pairs(({ cpuSeconds }) => cpuSeconds),
            unit: "s",
        }),
        comparison({
            id: "services-memory-agent",
            what: `${what}: antrea-agent, resident memory`,
            peer,
            pairs: pairs(({ memory }) => memory.now),
            unit: "MiB",
            maxRatio: 1,
        }),
        comparison({
            id: "services-memory-agent-peak",
            what: `${what}: antrea-agent, its peak until then`,
            peer,
            pairs: pairs(({ memory }) => memory.peak),
            unit: "MiB",
        }),
        figure({
            id: "services-memory-agent-grown",
            what: `${what}: antrea-agent, resident memory above that without Services`,
            value: agentMib - idle.agent.now,
            unit: "MiB",
            max: maxGrownMib,
        }),
        compared({
            id: "services-memory-vswitchd",
            what: `${what}: ovs-vswitchd, resident memory`,
            value: vswitchdMib,
            unit: "MiB",
            peer: { what: "without Services", value: idle.vswitchd.now },
        }),
    ];
}

/** Memory of a Node without Services. */
async function atRest(stage: ServicesStage): Promise<{ readonly agent: Memory; readonly vswitchd: Memory }> {
    await using node = await startAgentNode(stage);
    await sleep(quietMs);
    return { agent: node.memory(), vswitchd: node.vswitchdMemory() };
}

async function measured(node: ServingNode): Promise<Start> {
    const seconds = await secondsUntilServed(node, sizes.services);
    await sleep(quietMs);
    return { seconds, cpuSeconds: node.cpuMs() / 1000, memory: node.memory() };
}
