import { setTimeout as sleep } from "node:timers/promises";
import { podCall } from "../cni-client.ts";
import { BenchError } from "../error.ts";
import { type NodeUnderTest } from "../node-under-test.ts";
import { type PodNamespaces } from "../pod-namespaces.ts";
import { fact, figure, type Result } from "../result.ts";

const podCount = 100;
const quietMs = 5_000;
const maxMemoryMib = 120;

/** Benchmarks 4 and 6: 100 concurrent ADDs, and the memory of agent and controller before and with these Pods. */
export async function burst(
    node: NodeUnderTest,
    idle: ReturnType<NodeUnderTest["memory"]>,
    namespaces: PodNamespaces,
): Promise<readonly Result[]> {
    await node.createPodNamespace();
    await node.createPods(Array.from({ length: podCount }, (_, index) => `bench-${index}`));
    const names = Array.from({ length: podCount }, (_, index) => `burst-${index}`);
    const calls = namespaces.add(...names).map((path, index) => podCall(2000 + index, path));
    const begin = performance.now();
    const outcomes = await Promise.allSettled(calls.map((call) => node.cni.call("CmdAdd", call)));
    const addMs = performance.now() - begin;
    const answers = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
    const distinct = new Set(answers.flatMap(addressesOf)).size;
    await sleep(quietMs);
    const busy = node.memory();
    const delBegin = performance.now();
    await Promise.all(calls.map((call) => node.cni.call("CmdDel", call)));
    const delMs = performance.now() - delBegin;
    // When a DEL is answered, its flows are deleted and its port is removed from the database. Whether ovs-vswitchd
    // closes the first ports, at some 10 ms each, before or after it processes the flows of the last DEL is random, and
    // moves the last answer by a second. ovs-vsctl returns when all ports are closed, which is the same work in either
    // case.
    await node.ovs.vsctl("set", "Open_vSwitch", ".", "external_ids:bench-burst=done");
    const delSettledMs = performance.now() - delBegin;
    await namespaces.delete(...names);
    return [
        fact({
            id: "burst-add",
            what: `${podCount} ADDs at once, until the last answer`,
            value: addMs,
            unit: "ms",
            goal: "all succeed, no address twice",
            holds: answers.length === podCount && distinct === 2 * podCount,
        }),
        figure({
            id: "burst-del",
            what: `their ${podCount} DELs at once, until the last answer`,
            value: delMs,
            unit: "ms",
        }),
        figure({
            id: "burst-del-settled",
            what: `their ${podCount} DELs at once, until ovs-vswitchd has no port of them`,
            value: delSettledMs,
            unit: "ms",
        }),
        ...memoryOf("idle", "idle, after start", idle),
        ...memoryOf("pods", `with ${podCount} Pods, after all calls above`, busy),
    ];
}

function addressesOf(answer: string): readonly string[] {
    const { ips } = JSON.parse(answer) as { readonly ips?: readonly { readonly address: string }[] };
    if (ips?.length !== 2) throw new BenchError("WRONG_RESULT", "internal", `not two addresses: ${answer}`);
    return ips.map((ip) => ip.address);
}

function memoryOf(id: string, when: string, memory: ReturnType<NodeUnderTest["memory"]>): readonly Result[] {
    return (["agent", "controller"] as const).map((program) =>
        figure({
            id: `memory-${program}-${id}`,
            what: `antrea-${program}, resident memory ${when}`,
            value: memory[program].now,
            unit: "MiB",
            max: maxMemoryMib,
        }),
    );
}
