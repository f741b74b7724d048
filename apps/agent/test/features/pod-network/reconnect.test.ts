import { beforeEach, describe, expect, it } from "@jest/globals";
import { FakeNode } from "./fake-node.ts";
import type { PodInterface } from "../../../src/platform/pod-interfaces/index.ts";

// In a pool of one address: both Pods have it, as after two agents made up for lost allocations.
const first = { containerId: "1".repeat(64), podName: "first", podUid: "uid-1" };
const second = { containerId: "2".repeat(64), podName: "second", podUid: "uid-2" };

let node: FakeNode;

function known({ containerId }: { readonly containerId: string }): PodInterface {
    const found = node.network.find(containerId, "eth0");
    if (found === undefined) throw new TypeError(`${containerId} is not wired`);
    return found;
}

function isIsolated(of: { readonly containerId: string }): boolean {
    return node.network.isIsolated(known(of));
}

const inUse = {
    code: "ADDRESS_IN_USE",
    fault: "timeout",
    message: expect.stringMatching(/^address 10\.20\.0\.7 of interface eth0 of Pod .*first .* in use by .*second /),
};

beforeEach(async () => {
    node = new FakeNode({ pools: true });
    await node.add(first);
    await node.network.isolate(known(first));
    await node.add(second);
});

describe("an isolated interface whose address another interface of the Node uses", () => {
    it("is not connected, and nothing of it is made", async () => {
        const flows = node.flowTable.size;
        await expect(node.network.reconnect(known(first))).rejects.toMatchObject(inUse);
        expect([isIsolated(first), isIsolated(second), node.flowTable.size]).toEqual([true, false, flows]);
    });

    it("is connected when that one is isolated", async () => {
        await node.network.isolate(known(second));
        await node.network.reconnect(known(first));
        expect([isIsolated(first), isIsolated(second)]).toEqual([false, true]);
    });

    it("is not connected while that one's removal has not ended, and is after", async () => {
        node.steps.failure = (_, name) => (name === "remove flows" ? "before" : undefined);
        await node.clock.advance(1);
        await node.network.delete(second.containerId, "eth0");
        expect(node.network.isLeaving(known(second))).toBe(true);
        await expect(node.network.reconnect(known(first))).rejects.toMatchObject(inUse);
        node.steps.clear();
        await node.clock.advance(1);
        await node.network.delete(second.containerId, "eth0");
        await node.network.reconnect(known(first));
        expect(isIsolated(first)).toBe(false);
    });
});

it("of two isolated interfaces with one address one alone is connected, though both are asked for at once", async () => {
    await node.network.isolate(known(second));
    const results = await Promise.allSettled([first, second].map((one) => node.network.reconnect(known(one))));
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect([isIsolated(first), isIsolated(second)]).toEqual([false, true]);
});

describe("an interface that got its flows, but not its record", () => {
    beforeEach(async () => {
        await node.network.isolate(known(second));
    });

    /** `stays`: its flows cannot be removed either. */
    async function connectHalfWay(stays: boolean): Promise<void> {
        let ports = 0;
        node.steps.failure = (_, name) => {
            if (name === "ensurePort") return (ports += 1) === 2 ? "before" : undefined;
            return stays && name === "remove flows" ? "before" : undefined;
        };
        await expect(node.network.reconnect(known(first))).rejects.toThrow("ensurePort failed");
        node.steps.clear();
    }

    it("has no flows afterwards, and is in nobody's way", async () => {
        const flows = node.ovs.flows.length;
        await connectHalfWay(false);
        expect([isIsolated(first), node.ovs.flows.length]).toEqual([true, flows]);
        await node.network.reconnect(known(second));
        expect([isIsolated(first), isIsolated(second)]).toEqual([true, false]);
    });

    it("keeps others with its address isolated while its flows cannot be removed", async () => {
        await connectHalfWay(true);
        await expect(node.network.reconnect(known(second))).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
        await node.network.isolate(known(first));
        await node.network.reconnect(known(second));
        expect([isIsolated(first), isIsolated(second)]).toEqual([true, false]);
    });

    it("may be connected again itself, and is then in the way as any other", async () => {
        await connectHalfWay(true);
        await node.network.reconnect(known(first));
        expect(isIsolated(first)).toBe(false);
        await expect(node.network.reconnect(known(second))).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
    });
});

it("an interface that could not be connected is in nobody's way", async () => {
    await node.network.isolate(known(second));
    node.steps.failure = (_, name) => (name === "set flows" ? "before" : undefined);
    await expect(node.network.reconnect(known(first))).rejects.toThrow("set flows failed");
    node.steps.clear();
    await node.network.reconnect(known(second));
    expect([isIsolated(first), isIsolated(second)]).toEqual([true, false]);
});
