import { beforeEach, describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import { eventually } from "@antrea/kube/testing";
import { timeoutsBy } from "../../support/timeouts.ts";
import { FakeNode, nothingTaken } from "./fake-node.ts";

/** A DEL leaves the link, which goes with the namespace. */
const released = { ...nothingTaken, links: ["antrea1 released"] };
const { signal } = new AbortController();

let node: FakeNode;

/** Whether it is over `ms` after now. */
async function endsWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
    let ended = false;
    const end = (): void => void (ended = true);
    void work.then(end, end);
    // In small steps: a limit may begin when another is over.
    for (let passed = 0; passed < ms; passed += 500) {
        await node.clock.advance(500);
        for (let turns = 0; turns < 20; turns += 1) await settle();
    }
    return ended;
}

beforeEach(async () => {
    node = new FakeNode({ pools: true, bridging: true });
    await node.add();
});

const deletion = (): Promise<void> => node.network.delete(node.request().containerId, "eth0");

// As while ovs-vswitchd is away: what is sent is not answered.
const awayFor = {
    "restores all": () => node.reconciler.restoreAll(signal),
    isolates: async () => {
        const [known] = node.network.interfaces();
        if (known === undefined) throw new Error("no interface");
        return node.network.exclusively(known.record.containerId, () => node.network.isolate(known));
    },
    reconnects: async () => {
        const [known] = node.network.interfaces();
        if (known === undefined) throw new Error("no interface");
        return node.network.exclusively(known.record.containerId, () => node.network.reconnect(known));
    },
};
const calls = ["set flows", "remove flows", "ensurePort", "ofPort", "deletePort", "join VLAN", "leave VLAN"];

describe.each(Object.entries(awayFor))("OVS that does not answer while the agent %s", (_, work) => {
    beforeEach(() => {
        // The flows of a Pod that has them are not sent again.
        node.flowTable.stage(`pod/${node.request().containerId}/eth0`, { category: 1, flows: [] });
        for (const call of calls) node.steps.hanging.add(call);
    });

    it("keeps no DEL waiting for more than 10 s, and the reconcile ends what it began", async () => {
        const working = work();
        working.catch(() => undefined);
        const deleted = deletion();
        expect(await endsWithin(10_000, deleted)).toBe(true);
        await deleted;
        const [known] = node.network.interfaces();
        expect(known !== undefined && node.network.isLeaving(known)).toBe(true);
        expect([...node.allocations]).toHaveLength(1);
        node.steps.clear();
        expect(await endsWithin(20_000, working)).toBe(true);
        await node.reconciler.reconcile(signal);
        await node.flowTable.repair();
        expect(node.taken()).toEqual(released);
    });

    it("holds the lock of the container no longer than some 20 s", async () => {
        const working = work();
        working.catch(() => undefined);
        expect(await endsWithin(21_000, working)).toBe(true);
        node.steps.clear();
        expect(node.clock.pending).toBe(0);
        await deletion();
        await node.flowTable.repair();
        expect(node.taken()).toEqual(released);
    });
});

it("a DEL whose ADD waits for OVS is answered in 10 s, and the ADD takes back what it made", async () => {
    await deletion();
    node.steps.clear();
    node.steps.hanging.add("ofPort");
    const stop = new AbortController();
    const adding = node.add({ receivedAt: node.clock.monotonic() + 1 }, stop.signal);
    adding.catch(() => undefined);
    await endsWithin(500, adding);
    const deleted = deletion();
    expect(await endsWithin(10_000, deleted)).toBe(true);
    await deleted;
    stop.abort();
    await expect(adding).rejects.toMatchObject({ fault: "aborted" });
    for (let round = 0; round < 3; round += 1) await node.reconciler.reconcile(signal);
    expect(node.taken()).toEqual(nothingTaken);
});

it("a port that nobody owns, which OVS does not delete, keeps no ADD of its container waiting for more than 5 s", async () => {
    const externalIds = new Map(Object.entries({ "antrea-type": "container", "container-id": "c-gone" }));
    node.stored.set("port-gone", { name: "port-gone", ofPort: 40_000, externalIds });
    node.steps.hanging.add("deletePort");
    using _ = timeoutsBy(node.clock);
    const round = node.reconciler.reconcile(signal);
    round.catch(() => undefined);
    await eventually(() => node.steps.asked.includes("deletePort"));
    const work = node.network.exclusively("c-gone", () => Promise.resolve());
    expect(await endsWithin(4_500, work)).toBe(false);
    expect(await endsWithin(500, work)).toBe(true);
    await expect(round).rejects.toMatchObject({ fault: "aborted" });
    node.steps.clear();
    await node.reconciler.reconcile(signal);
    expect([...node.stored.keys()]).not.toContain("port-gone");
});
