import { expect, it } from "@jest/globals";
import { parsePrefix } from "@antrea/ip";
import { isRoutedToPod } from "../../../src/features/pod-network/index.ts";
import { FakeNode } from "./fake-node.ts";

const route = parsePrefix("10.20.0.7/32");

it("the route to a Pod of a pool is wanted while the Pod is wired, and not while it is removed or isolated", async () => {
    const node = new FakeNode({ pools: true });
    const isWanted = (): boolean => isRoutedToPod(node.podInterfaces, route);
    expect(isWanted()).toBe(false);
    await node.add();
    expect([isWanted(), isRoutedToPod(node.podInterfaces, parsePrefix("10.20.0.0/24"))]).toEqual([true, false]);
    const [known] = node.network.interfaces();
    if (known === undefined) throw new Error("nothing is wired");
    await node.network.isolate(known);
    expect(isWanted()).toBe(false);
    await node.network.reconnect(known);
    expect(isWanted()).toBe(true);
    // as the kernel reports it: while the agent deletes it
    const seen: boolean[] = [];
    node.steps.failure = (_, name) => {
        if (name === "remove route") seen.push(isWanted());
        return undefined;
    };
    await node.clock.advance(1);
    await node.network.delete(node.request().containerId, "eth0");
    expect([...seen, isWanted()]).toEqual([false, false]);
});

it.each(["the DEL", "the isolation"])(
    "%s of a Pod takes no route away that another Pod of this Node has its address by",
    async (how) => {
        const node = new FakeNode({ pools: true });
        await node.add();
        // Isolated: the allocation of its address has gone to the next one.
        const [first] = node.network.interfaces();
        if (first === undefined) throw new Error("nothing is wired");
        if (how === "the DEL") await node.network.isolate(first);
        const other = { containerId: "cd34".repeat(16), podName: "web-1", podUid: "uid-web-1" };
        await node.add(other);
        node.steps.clear();
        expect([...node.routes]).toEqual(["10.20.0.7"]);
        if (how === "the DEL") await node.network.delete(first.record.containerId, "eth0");
        else await node.network.isolate(first);
        expect([...node.routes]).toEqual(["10.20.0.7"]);
        expect(node.steps.done).not.toContain("remove route");
        await node.clock.advance(1);
        await node.network.delete(other.containerId, "eth0");
        expect([...node.routes]).toEqual([]);
    },
);
