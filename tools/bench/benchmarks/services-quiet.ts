import { setTimeout as sleep } from "node:timers/promises";
import { Echoes } from "../bridging/echoes.ts";
import { placeOf } from "../data-plane/load-node.ts";
import { BenchError } from "../error.ts";
import { fact, figure, type Result } from "../result.ts";
import { type AnswersInput, type Connections } from "../services/client.ts";
import { clusterIp, createServices, servicePort } from "../services/service-objects.ts";
import { startTappedNode, type TappedNode } from "../services/serving-node.ts";
import { sizes } from "../services/sizes.ts";
import { ServicesStage } from "../services/stage.ts";
import { sampleOf, secondsUntilServed } from "../services/until-served.ts";

/** The journal and the first checks of a start are over then. */
const settleMs = 15_000;
const echoSeconds = 0.01;
const lateMs = 20;
const maxCpuPercent = 1;
/** The client goes on after a restart. */
const afterMs = 1_000;
const restartLimitMs = 300_000;
const pollMs = 100;

/** A Node with many Services of which none changes, and the restart of its agent. */
export async function servicesQuiet(): Promise<readonly Result[]> {
    await using stage = await ServicesStage.start();
    await createServices(stage.api, sizes.services);
    await using node = await startTappedNode(stage);
    await secondsUntilServed(node, sizes.services);
    await sleep(settleMs);
    return [...(await quiet(node)), ...(await restart(node))];
}

async function quiet(node: TappedNode): Promise<readonly Result[]> {
    const gateway = placeOf(0).podCidr.replace(/0\/24$/, "1");
    await using echoes = new Echoes(gateway, node.clientNetns, echoSeconds);
    const [writes, messages] = [node.tap.writes, node.tap.messages];
    const [cpuMs, vswitchdMs] = [node.cpuMs(), node.vswitchdCpuMs()];
    const begin = performance.now();
    await sleep(sizes.quietMs);
    const ms = performance.now() - begin;
    const percent = (spentMs: number): number => (100 * spentMs) / ms;
    const cpu = percent(node.cpuMs() - cpuMs);
    const vswitchd = percent(node.vswitchdCpuMs() - vswitchdMs);
    const end = Date.now();
    await sleep(lateMs);
    const { roundTrips } = echoes;
    const lost = echoes.lost + echoes.unanswered(end);
    const late = roundTrips.filter((roundTrip) => roundTrip > lateMs).length + lost;
    if (roundTrips.length === 0)
        throw new BenchError("WRONG_RESULT", "environment", `${gateway} does not answer to pings`);
    const what = `${Math.round(ms / 1000)} s without changes, ${sizes.services} Services`;
    const written = node.tap.writes - writes;
    return [
        fact({
            id: "services-quiet-writes",
            what: `${what}: flows and groups written`,
            value: written,
            unit: "writes",
            goal: "none",
            holds: written === 0,
        }),
        figure({
            id: "services-quiet-messages",
            what: `${what}: OpenFlow messages`,
            value: node.tap.messages - messages,
            unit: "messages",
        }),
        figure({
            id: "services-quiet-cpu",
            what: `${what}: antrea-agent, processor time`,
            value: cpu,
            unit: "%",
            max: maxCpuPercent,
        }),
        figure({
            id: "services-quiet-cpu-vswitchd",
            what: `${what}: ovs-vswitchd, processor time`,
            value: vswitchd,
            unit: "%",
        }),
        fact({
            id: "services-quiet-late",
            what: `${what}: of ${roundTrips.length + lost} pings through OVS more than ${lateMs} ms late, or lost`,
            value: late,
            unit: "pings",
            goal: "none",
            holds: late === 0,
        }),
        figure({
            id: "services-quiet-slowest",
            what: `${what}: the slowest of these pings`,
            value: Math.max(...roundTrips),
            unit: "ms",
        }),
    ];
}

/** SIGTERM and a new start, while a client connects to Services one after another. */
async function restart(node: TappedNode): Promise<readonly Result[]> {
    const addresses = sampleOf(sizes.services).map(clusterIp);
    const input: Pick<AnswersInput, "addresses" | "port"> = { addresses, port: servicePort };
    await node.client.ask("startConnecting", input);
    await sleep(afterMs);
    const begin = Date.now();
    await node.restart();
    while (Date.parse(node.lastServed().time) < begin) {
        if (Date.now() > begin + restartLimitMs) {
            throw new BenchError("NOT_READY", "internal", "the restarted agent has not all Services in OVS");
        }
        await sleep(pollMs);
    }
    const seconds = (Date.now() - begin) / 1000;
    await sleep(afterMs);
    const { answered, failed, slowestMs } = await node.client.ask<Connections>("stopConnecting");
    const what = `the agent restarts, ${sizes.services} Services`;
    return [
        figure({
            id: "services-restart-time",
            what: `${what}: OVS has all of the new one, from SIGTERM`,
            value: seconds,
            unit: "s",
        }),
        fact({
            id: "services-restart-failed",
            what: `${what}: of ${answered + failed} connections meanwhile that failed`,
            value: failed,
            unit: "connections",
            goal: "none",
            holds: failed === 0,
        }),
        figure({
            id: "services-restart-slowest",
            what: `${what}: the slowest of these connections`,
            value: slowestMs,
            unit: "ms",
        }),
    ];
}
