import { join } from "node:path";
import { podCall, antreaConfig } from "../cni-client.ts";
import { type Helper } from "../helper.ts";
import { type NodeUnderTest } from "../node-under-test.ts";
import { cniPluginsPath, shimPath, workPath } from "../paths.ts";
import { pluginEnvironment, runPlugin } from "../plugin.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { comparison, type Result } from "../result.ts";
import { inTurn } from "../statistics.ts";

const counted = 100;
const warmUp = 5;

/** Dual stack with default routes, as for Pods of Antrea. */
const bridgeConfig = (): string =>
    JSON.stringify({
        cniVersion: "1.1.0",
        name: "peer",
        type: "bridge",
        bridge: "cni0",
        isDefaultGateway: true,
        ipam: {
            type: "host-local",
            dataDir: workPath("host-local"),
            ranges: [[{ subnet: "10.201.0.0/24" }], [{ subnet: "fd00:201::/64" }]],
        },
    });

/** Benchmark 2: complete processes of antrea-cni with the agent, and of bridge with host-local. */
export async function pluginCalls(
    node: NodeUnderTest,
    floor: Helper,
    namespaces: PodNamespaces,
): Promise<readonly Result[]> {
    const add = { ours: [] as number[], peer: [] as number[] };
    const del = { ours: [] as number[], peer: [] as number[] };
    const [ours = "", theirs = ""] = namespaces.add("ours", "peer");
    const bridge = join(cniPluginsPath(), "bridge");
    for (let index = -warmUp; index < counted; index++) {
        const id = 1000 + index + warmUp;
        const oursCall = podCall(id, ours);
        const peerCall = { ...podCall(id, theirs), path: cniPluginsPath() };
        const run = async (command: "ADD" | "DEL", into: typeof add): Promise<void> => {
            const times = { ours: 0, peer: 0 };
            await inTurn(
                id,
                async () => {
                    const environment = { ...pluginEnvironment(command, oursCall), ANTREA_CNI_SOCKET: node.cniSocket };
                    times.ours = runPlugin(shimPath, environment, antreaConfig).ms;
                    await floor.ask("settle");
                },
                async () => {
                    times.peer = runPlugin(bridge, pluginEnvironment(command, peerCall), bridgeConfig()).ms;
                    await floor.ask("settle");
                },
            );
            if (index < 0) return;
            into.ours.push(times.ours);
            into.peer.push(times.peer);
        };
        await run("ADD", add);
        await run("DEL", del);
        await namespaces.clear();
        await floor.ask("settle");
    }
    await namespaces.delete("ours", "peer");
    const peer = "bridge + host-local 1.9.1";
    return [
        comparison({ id: "plugin-add", what: "whole process ADD, p50", peer, pairs: add, maxRatio: 1.2 }),
        comparison({ id: "plugin-add-p99", what: "whole process ADD, p99", peer, pairs: add, share: 0.99 }),
        comparison({ id: "plugin-del", what: "whole process DEL, p50", peer, pairs: del, maxRatio: 1.2 }),
        comparison({ id: "plugin-del-p99", what: "whole process DEL, p99", peer, pairs: del, share: 0.99 }),
    ];
}
