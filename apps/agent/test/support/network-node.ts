import { execFileSync } from "node:child_process";
import { expect } from "@jest/globals";
import { AntreaError } from "@antrea/errors";
import type { CniCommand } from "../../src/features/cni-server/index.ts";
import { eventually } from "./eventually.ts";
import type { TestNetns } from "./namespace.ts";
import type { NodeState, TestAgent, TestNode } from "./test-node.ts";
import { TestPod, type AddAnswer } from "./test-pod.ts";

/** The NIC of br-secondary. */
export const testNic = "nic0";

/** Adds the NIC to the Node; the other end of its cable is `wire`, in the namespace if there is one. */
export function addNic(outside?: TestNetns): void {
    const place = outside === undefined ? [] : ["netns", outside.name];
    execFileSync("ip", ["link", "add", testNic, "type", "veth", "peer", "name", "wire", ...place]);
    execFileSync("ip", ["link", "set", testNic, "up"]);
    outside?.run("ip", "link", "set", "wire", "up");
}

/** The ports of Pods in br-secondary. */
export async function podPorts(node: TestNode): Promise<readonly string[]> {
    const names = (await node.ovs.vsctl("list-ports", "br-secondary")).split("\n");
    return names.filter((name) => name !== "" && name !== testNic);
}

/** The sandboxes that a test makes. */
export class TestSandboxes {
    #pods: TestPod[] = [];

    /** @param uid of the Pod; another sandbox of a Pod has the same */
    make(name: string, uid?: string): TestPod {
        const pod = new TestPod(name, uid);
        this.#pods.push(pod);
        return pod;
    }

    /** Ends all, by a DEL; after that and one check of the agent the Node must have what it had without Pods. */
    async end(node: TestNode, agent: TestAgent, empty: NodeState): Promise<void> {
        for (const pod of this.#pods.splice(0)) {
            await agent.del(pod);
            pod[Symbol.dispose]();
        }
        const state = (): Promise<NodeState> => agent.resync().then(() => node.state());
        expect(await eventually(state, (found) => found.links.length <= empty.links.length)).toEqual(empty);
    }
}

/** One call for one interface, as a meta plugin makes it. */
export async function callNetwork(
    agent: TestAgent,
    command: CniCommand,
    pod: TestPod,
    ifname: string,
    config: Readonly<Record<string, unknown>>,
): Promise<AddAnswer> {
    const { signal } = new AbortController();
    const bytes = await agent.calls.call(command, pod.args(config, { ifname }), signal);
    return JSON.parse(new TextDecoder().decode(bytes) || "{}") as AddAnswer;
}

/** Code and text of the error by which it fails; "" if it succeeds. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
    try {
        await work;
    } catch (error) {
        if (error instanceof AntreaError) return `${error.code}: ${error.message}`;
        throw error;
    }
    return "";
}
