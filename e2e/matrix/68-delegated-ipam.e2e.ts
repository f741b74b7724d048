import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { answers, inPod, longestGap } from "../fixture/bridging-streams.ts";
import { apply, kubectl, onNode, shellOnNode, workers } from "../fixture/cluster.ts";
import { allocationsOf, expectConsistent, setIpam, TestPools } from "../fixture/ipam.ts";
import { callNetwork, installMetaPlugin, sandboxOf, type ResultJson } from "../fixture/meta-plugin.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

// What of addresses for interfaces of other plugins takes long, or disturbs a Node.

const [first = "", second = ""] = workers;
const space = "e2e-delegated-long";
const pool = "e2e-mac-long";
const network = {
    cniVersion: "1.0.0",
    name: "e2e-macvlan-long",
    type: "macvlan",
    master: "eth0",
    mode: "bridge",
    ipam: { type: "antrea", ippools: [pool] },
};

let stack: AsyncDisposableStack;
let namespace: TestNamespace;

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    await setIpam(true);
    await installMetaPlugin();
    stack.use(await TestPools.create({ [pool]: [{ cidr: "10.27.0.0/24", gateway: "10.27.0.1", prefixLength: 24 }] }));
    namespace = stack.use(await TestNamespace.create(space));
});
afterAll(() => stack.disposeAsync());

const addressOf = ({ ips = [] }: ResultJson): string => ips[0]?.address.split("/")[0] ?? "";
/** The container that has the address of a Pod; undefined if it has none. */
const owner = async (pod: string): Promise<string | undefined> =>
    (await allocationsOf(pool)).find(({ spec }) => spec.pod?.name === pod)?.spec.pod?.containerID;
const freed = (pod: string): Promise<boolean> =>
    eventually(
        `the address of ${pod} is free`,
        async () => ((await owner(pod)) === undefined ? true : undefined),
        240_000,
    );

describe("without a DEL, the address of an interface", () => {
    it("is that of the next sandbox of the Pod, when the one before has ended", async () => {
        await namespace.start([{ name: "again", node: first }]);
        const before = await sandboxOf(space, "again");
        const address = addressOf(await callNetwork("ADD", before, network));
        await onNode(first, ["crictl", "stopp", before.id]);
        const next = await eventually("the kubelet makes another sandbox", async () => {
            const found = await sandboxOf(space, "again");
            return found.id === before.id ? undefined : found;
        });
        // kept meanwhile, as the Pod is not over
        expect(await owner("again")).toBe(before.id);
        expect(addressOf(await callNetwork("ADD", next, network))).toBe(address);
        expect(await owner("again")).toBe(next.id);
        await callNetwork("CHECK", next, network);
        await namespace.delete("again");
        await freed("again");
    });

    it("stays with a container that lives on, though its Pod is deleted by force, until the container ends", async () => {
        await namespace.start([{ name: "forced", node: first }]);
        const forced = await sandboxOf(space, "forced");
        await callNetwork("ADD", forced, network);
        // it would end the container
        await shellOnNode(first, "systemctl stop kubelet");
        try {
            await kubectl(["-n", space, "delete", "pod", "forced", "--force", "--grace-period=0"]);
            // in which the agent searches for unused allocations twice
            await pause(150_000);
            expect(await owner("forced")).toBe(forced.id);
        } finally {
            await shellOnNode(first, "systemctl start kubelet");
        }
        await freed("forced");
        await expectConsistent();
    });
});

it("the Pod of a StatefulSet moves to another Node with the address of its macvlan, and is reached there within 3 s", async () => {
    await namespace.start([
        { name: "a", node: first },
        { name: "b", node: second },
    ]);
    for (const peer of ["a", "b"]) await callNetwork("ADD", await sandboxOf(space, peer), network);
    const annotations = { "k8s.v1.cni.cncf.io/networks": network.name };
    await apply(statefulSet(space, { name: "kept", replicas: 1, annotations }));
    await rolledOut(space, "statefulset/kept");
    const before = await sandboxOf(space, "kept-0");
    const ip = addressOf(await callNetwork("ADD", before, network));
    const reached = (peer: string): Promise<string> =>
        eventually(`${ip} answers ${peer}`, () => namespace.exec(peer, `ping -c 1 -W 1 -I net1 ${ip}`), 30_000);
    for (const peer of ["a", "b"]) await reached(peer);
    const watching = Promise.all(["a", "b"].map((peer) => answers(inPod(namespace, peer), ip, 60)));
    await kubectl(["cordon", before.node]);
    try {
        await callNetwork("DEL", before, network);
        await namespace.delete("kept-0");
        await eventually("the set makes its Pod again", () => namespace.ready(["kept-0"]));
    } finally {
        await kubectl(["uncordon", before.node]);
    }
    const next = await sandboxOf(space, "kept-0");
    expect(next.node).not.toBe(before.node);
    expect(addressOf(await callNetwork("ADD", next, network))).toBe(ip);
    const made = Date.now();
    for (const arrivals of await watching) {
        expect(arrivals.times.at(-1)).toBeGreaterThan(made);
        const { to, ms } = longestGap(arrivals);
        // otherwise it was never away
        expect(ms).toBeGreaterThan(300);
        expect(to - made).toBeLessThan(3_000);
    }
    const [allocation] = (await allocationsOf(pool)).filter(({ spec }) => spec.pod?.name === "kept-0");
    expect(allocation?.spec.owner).toMatchObject({ kind: "StatefulSet", name: "kept", index: 0, interface: "net1" });
    await kubectl(["-n", space, "delete", "statefulset", "kept", "--wait"]);
});
