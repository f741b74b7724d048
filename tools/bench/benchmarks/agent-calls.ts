import { podCall, timed } from "../cni-client.ts";
import { type Helper } from "../helper.ts";
import { type NodeUnderTest } from "../node-under-test.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { comparison, typical, type Result } from "../result.ts";
import { inTurn } from "../statistics.ts";

const counted = 200;
const warmUp = 10;

/** Benchmark 1: ADD and DEL of the agent against the minimal implementation, alternating, on one Open vSwitch. */
export async function agentCalls(
    node: NodeUnderTest,
    floor: Helper,
    namespaces: PodNamespaces,
): Promise<readonly Result[]> {
    const add = { ours: [] as number[], peer: [] as number[] };
    const del = { ours: [] as number[], peer: [] as number[] };
    const hops: number[] = [];
    const [ours = "", theirs = ""] = namespaces.add("ours", "floor");
    for (let index = -warmUp; index < counted; index++) {
        const id = index + warmUp;
        const call = podCall(id, ours);
        const times = { add: 0, del: 0, floorAdd: 0, floorDel: 0 };
        await inTurn(
            id,
            async () => {
                times.add = await timed(() => node.cni.call("CmdAdd", call));
                await floor.ask("settle");
            },
            async () => {
                times.floorAdd = await floor.ask<number>("add", { index: id, netns: theirs });
                await floor.ask("settle");
            },
        );
        await inTurn(
            id,
            async () => {
                times.del = await timed(() => node.cni.call("CmdDel", call));
                await floor.ask("settle");
            },
            async () => {
                times.floorDel = await floor.ask<number>("del", { index: id });
                await floor.ask("settle");
            },
        );
        const hop = await timed(() => node.cni.call("CmdStatus", call));
        await namespaces.clear();
        await floor.ask("settle");
        if (index < 0) continue;
        add.ours.push(times.add);
        add.peer.push(times.floorAdd);
        del.ours.push(times.del);
        del.peer.push(times.floorDel);
        hops.push(hop);
    }
    await namespaces.delete("ours", "floor");
    const peer = "floor: the same netlink and OVSDB steps in a straight line";
    return [
        comparison({ id: "agent-add-p50", what: "agent ADD, p50", peer, pairs: add, maxRatio: 1.3 }),
        comparison({ id: "agent-add-p99", what: "agent ADD, p99", peer, pairs: add, share: 0.99, maxRatio: 1.3 }),
        comparison({ id: "agent-del-p50", what: "agent DEL, p50", peer, pairs: del, maxRatio: 1.3 }),
        comparison({ id: "agent-del-p99", what: "agent DEL, p99", peer, pairs: del, share: 0.99, maxRatio: 1.3 }),
        typical({ id: "agent-del-answer", what: "agent DEL answers, p50", samples: del.ours, unit: "ms", max: 10 }),
        typical({ id: "agent-hop", what: "agent STATUS, p50: a call without work", samples: hops, unit: "ms" }),
    ];
}
