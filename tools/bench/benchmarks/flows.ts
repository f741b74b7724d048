import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { withCookies } from "@antrea/flows";
import { formatFlow } from "@antrea/openflow";
import { PrivateOvs } from "@antrea/openflow/testing";
import { BenchError } from "../error.ts";
import { ByteCounter } from "../flows/byte-counter.ts";
import { flowsOfNode } from "../flows/node-flows.ts";
import { Helper } from "../helper.ts";
import { nodeOptionsOf, workPath } from "../paths.ts";
import { runPlugin } from "../plugin.ts";
import { compared, comparison, figure, typical, type Result } from "../result.ts";
import { inTurn, median } from "../statistics.ts";

const flowCount = 15_000;
const counted = 20;
const warmUp = 3;
const starts = 5;
const bridge = "br-flows";
const addFlows = ["-O", "OpenFlow15", "--bundle", "add-flows"];
const maxSeconds = 0.3;
const peerName = "ovs-ofctl --bundle add-flows, the whole process";

interface SetAnswer {
    readonly buildMs: number;
    readonly ms: number;
    /** Increase of the peak resident memory meanwhile. */
    readonly grownMib: number;
}

/** 15,000 flows from their inputs into Open vSwitch, by the agent's code and by ovs-ofctl from a file. */
export async function manyFlows(): Promise<readonly Result[]> {
    await using ovs = await PrivateOvs.start();
    await ovs.addBridge(bridge);
    const file = workPath("flows.txt");
    const flows = flowsOfNode(flowCount).flatMap(({ set }) => withCookies(set, 1));
    writeFileSync(file, flows.map((flow) => `${formatFlow(flow)}\n`).join(""));
    const target = ovs.mgmtSocket(bridge);
    const addAll = (...wrapper: readonly string[]): number => {
        const [program = "", ...args] = [...wrapper, "ovs-ofctl", ...addFlows, `unix:${target}`, file];
        return runPlugin(program, ovs.env, "", args).ms;
    };
    const reset = async (): Promise<void> => void (await ovs.ofctl("del-flows", bridge));
    const check = (): Promise<void> => refuseOthers(ovs);

    const pairs = { ours: [] as number[], peer: [] as number[] };
    const replays: number[] = [];
    const builds: number[] = [];
    await using client = new Helper("flows/flow-client.ts", { nodeOptions: nodeOptionsOf("agent") });
    await client.ask("open", { socketPath: target });
    for (let index = -warmUp; index < counted; index++) {
        const times = { ours: 0, build: 0, peer: 0 };
        await inTurn(
            index + warmUp,
            async () => {
                const { ms, buildMs } = await client.ask<SetAnswer>("set", { count: flowCount });
                times.ours = ms / 1000;
                times.build = buildMs;
                await check();
                await reset();
            },
            async () => {
                times.peer = addAll() / 1000;
                await check();
                await reset();
            },
        );
        const replay = (await client.ask<number>("replay", { count: flowCount })) / 1000;
        await check();
        await reset();
        if (index < 0) continue;
        pairs.ours.push(times.ours);
        pairs.peer.push(times.peer);
        builds.push(times.build / 1000);
        replays.push(replay);
    }

    const first = await firstSets(target, check, reset);
    const peaks = first.map(() => {
        const report = workPath("time");
        addAll("/usr/bin/time", "--format=%M", `--output=${report}`);
        return Number(readFileSync(report, "utf8")) / 1024;
    });
    await reset();
    const bytes = await bytesOf(target, file, reset);
    const what = `${flowCount} flows into OVS`;
    const common = { unit: "s", max: maxSeconds };
    return [
        comparison({
            id: "flows-time",
            what: `${what}, from build to barrier`,
            peer: peerName,
            pairs,
            ...common,
        }),
        typical({ id: "flows-build", what: "of that the build from Pods and peers", samples: builds, unit: "s" }),
        typical({
            id: "flows-time-first",
            what: `${what}, the first time in a process`,
            samples: first.map(({ ms }) => ms / 1000),
            ...common,
        }),
        typical({
            id: "flows-replay",
            what: `${what}, replay after a connection, with the search for other flows`,
            samples: replays,
            unit: "s",
        }),
        compared({
            id: "flows-bytes",
            what: `${what}, bytes on the connection`,
            value: bytes.ours,
            unit: "B",
            peer: { what: peerName, value: bytes.peer },
        }),
        compared({
            id: "flows-memory",
            what: `${what}, by how much memory grows at its highest`,
            unit: "MiB",
            value: median(first.map(({ grownMib }) => grownMib)),
            peer: { what: `${peerName}, its peak`, value: median(peaks) },
        }),
        figure({ id: "flows-bytes-each", what: "of these for a flow", value: bytes.ours / flowCount, unit: "B" }),
    ];
}

/** The same in new processes that have sent no flows, as after a start. */
async function firstSets(
    socketPath: string,
    check: () => Promise<void>,
    reset: () => Promise<void>,
): Promise<readonly SetAnswer[]> {
    const answers: SetAnswer[] = [];
    for (let start = 0; start < starts; start++) {
        await using fresh = new Helper("flows/flow-client.ts", { nodeOptions: nodeOptionsOf("agent") });
        await fresh.ask("open", { socketPath });
        answers.push(await fresh.ask<SetAnswer>("set", { count: flowCount }));
        await check();
        await reset();
    }
    return answers;
}

/** Untimed, since counting is slow. */
async function bytesOf(
    target: string,
    file: string,
    reset: () => Promise<void>,
): Promise<{ readonly ours: number; readonly peer: number }> {
    await using counter = await ByteCounter.open(target);
    await using client = new Helper("flows/flow-client.ts");
    await client.ask("open", { socketPath: counter.socketPath });
    counter.take();
    await client.ask("set", { count: flowCount });
    const ours = counter.take();
    await reset();
    await promisify(execFile)("ovs-ofctl", [...addFlows, `unix:${counter.socketPath}`, file]);
    const peer = counter.take();
    await reset();
    return { ours, peer };
}

async function refuseOthers(ovs: PrivateOvs): Promise<void> {
    const found = Number(/flow_count=(\d+)/.exec(await ovs.ofctl("dump-aggregate", bridge))?.[1]);
    if (found === flowCount) return;
    throw new BenchError("WRONG_RESULT", "internal", `${found} flows are in OVS instead of ${flowCount}`);
}
