import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { type IpAddress } from "@antrea/ip";
import { createKubeClients, type ApiClient } from "@antrea/kube";
import { agentKubeconfig } from "@antrea/chart/testing/chart-server";
import { allocationOf, podOf } from "../allocations/simulated-agent.ts";
import { antreaConfig, podCall, timed } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { Helper } from "../helper.ts";
import { openHostLocal } from "../ipam/host-local.ts";
import { nodeName } from "../node-under-test.ts";
import { shimPath, workPath } from "../paths.ts";
import { pluginEnvironment, runPlugin } from "../plugin.ts";
import { NetworksStage } from "../networks/stage.ts";
import { type PodCall } from "../networks/ways.ts";
import { comparison, type Result } from "../result.ts";
import { rotated } from "../statistics.ts";

const counted = 100;
const warmUp = 10;
const maxRatio = 1.2;
// 240.0.0.0/4: outside every pool.
const firstAddress = 0xf000_0000n;

const sides = ["ours", "parts", "host-local"] as const;
type Side = (typeof sides)[number];
type Times = Readonly<Record<Side, number[]>>;
type Command = "ADD" | "DEL";

/** What one side does for a call, in milliseconds. */
type Work = (command: Command, index: number) => Promise<number>;

/**
 * The address of an interface that another plugin makes: the whole process of antrea-cni, against what it cannot do without,
 * and host-local beside it.
 */
export async function networksIpam(): Promise<readonly Result[]> {
    await using stage = await NetworksStage.start();
    await using answers = new Helper("answer-server.ts");
    await using hostLocal = openHostLocal();
    const socketPath = workPath("networks-answer.sock");
    await answers.ask("open", { socketPath });
    using clients = createKubeClients({
        kubeconfig: await agentKubeconfig(stage.server, nodeName),
        userAgent: "bench-create/0",
    });
    const [path = ""] = stage.namespaces.add("pod");
    const [call = podCall(0, path)] = await stage.createPods([path], 0);
    await stage.node.cni.call("CmdAdd", call);
    const works: Readonly<Record<Side, Work>> = {
        ours: async (command) => oursOf(stage, call, command),
        parts: (command, index) => partsOf(clients.api, socketPath, call, command, index),
        "host-local": async (command, index) => {
            const { config, environment, program } = hostLocal;
            const env = { ...pluginEnvironment(command, podCall(index, path)), ...environment };
            return runPlugin(program, env, JSON.stringify(config)).ms;
        },
    };
    const empty = (): Times => ({ ours: [], parts: [], "host-local": [] });
    const times: Readonly<Record<Command, Times>> = { ADD: empty(), DEL: empty() };
    for (let index = 0; index < warmUp + counted; index++) {
        for (const command of ["ADD", "DEL"] as const) {
            for (const side of rotated(sides, index)) {
                const ms = await works[side](command, index);
                if (index >= warmUp) times[command][side].push(ms);
            }
        }
    }
    await stage.node.cni.call("CmdDel", call);
    await stage.namespaces.delete("pod");
    return (["ADD", "DEL"] as const).flatMap((command) => resultsOf(command, times[command]));
}

function oursOf(stage: NetworksStage, call: PodCall, command: Command): number {
    const ippools = stage.networks.slice(0, 1).map(({ name }) => name);
    const config = { cniVersion: "1.0.0", name: "macnet", type: "macvlan", ipam: { type: "antrea", ippools } };
    const env = { ...pluginEnvironment(command, { ...call, ifname: "net1" }), ...stage.environment };
    const { ms, output } = runPlugin(shimPath, env, JSON.stringify(config));
    if (command === "DEL" || output.includes('"10.101.')) return ms;
    throw new BenchError("WRONG_RESULT", "internal", `an ADD for an address printed ${output}`);
}

/** The plugin with an agent that answers at once, and the bare write of an allocation, with the rights of the agent. */
async function partsOf(
    api: ApiClient,
    socketPath: string,
    call: PodCall,
    command: Command,
    index: number,
): Promise<number> {
    const env = { ...pluginEnvironment(command, call), ANTREA_CNI_SOCKET: socketPath };
    const { ms } = runPlugin(shimPath, env, antreaConfig);
    const allocation = bareAllocation(index);
    const write = (): Promise<unknown> =>
        command === "ADD"
            ? api.create(ipAllocations, allocation)
            : api.delete(ipAllocations, { name: allocation.metadata?.name ?? "" });
    return ms + (await timed(write));
}

function bareAllocation(index: number): IpAllocation {
    const ip: IpAddress = { family: 4, value: firstAddress + BigInt(index) };
    return allocationOf(ip, "bench", nodeName, podOf({ agent: 0, round: 0 }, index));
}

function resultsOf(command: Command, times: Times): readonly Result[] {
    const write = command === "ADD" ? "create" : "delete";
    const id = `networks-ipam-${command.toLowerCase()}`;
    const what = `${command} of an address for another plugin, whole process`;
    const peer = `antrea-cni answered at once, and a bare ${write} of an allocation`;
    const parts = { peer, pairs: { ours: times.ours, peer: times.parts } };
    const local = { peer: "host-local 1.9.1", pairs: { ours: times.ours, peer: times["host-local"] } };
    return [
        comparison({ id: `${id}-p50`, what: `${what}, p50`, ...parts, maxRatio }),
        comparison({ id: `${id}-p99`, what: `${what}, p99`, ...parts, share: 0.99 }),
        comparison({ id: `${id}-host-local-p50`, what: `${what}, p50, beside host-local`, ...local }),
    ];
}
