import { beforeEach, describe, expect, it } from "@jest/globals";
import { podRecord } from "../../support/records.ts";
import { FakeNode } from "./fake-node.ts";
import {
    type PodRecord,
    toAlias,
    toExternalIds,
    unfinishedExternalIds,
} from "../../../src/platform/pod-interfaces/index.ts";

const { signal } = new AbortController();
const record = podRecord();
const rival = podRecord({ containerId: "cd34".repeat(16), hostIfName: "web-1-fedcba" });

let node: FakeNode;

beforeEach(() => {
    node = new FakeNode();
});

function putPort(one: PodRecord, externalIds: Readonly<Record<string, string>> = toExternalIds(one)): void {
    node.stored.set(one.hostIfName, {
        name: one.hostIfName,
        ofPort: 32784,
        externalIds: new Map(Object.entries(externalIds)),
    });
}

const upOf = (one: PodRecord): boolean | undefined => node.links.get(one.hostIfName)?.up;

// On the kernel datapath a link without a port hands what the Pod sends to the Node's own stack.
describe("the host end of a Pod that still runs when its port goes", () => {
    it("is switched off with a DEL", async () => {
        await node.add();
        const [known] = node.network.interfaces();
        await node.network.delete(known?.record.containerId ?? "", "eth0");
        expect([...node.links.values()].filter(({ kind }) => kind === "veth")).toMatchObject([
            { up: false, alias: "antrea1 released" },
        ]);
        // OVS gives a link that it closes the flags back that it knows: it must have heard of this before.
        const order = node.steps.done.filter((name) => ["close link", "remove flows", "deletePort"].includes(name));
        expect(order).toEqual(["close link", "remove flows", "deletePort"]);
    });

    it("is switched off when another interface has its address", async () => {
        for (const one of [record, rival]) {
            putPort(one);
            node.putLink(one.hostIfName, toAlias(one));
        }
        await node.reconciler.rebuild(signal);
        expect(node.network.interfaces().map((known) => known.record.containerId)).toEqual([record.containerId]);
        expect([upOf(record), upOf(rival)]).toEqual([true, false]);
    });

    it("is switched off when the port turns out to have no record", async () => {
        await node.reconciler.rebuild(signal);
        putPort(record);
        node.putLink(record.hostIfName, toAlias(record));
        await node.reconciler.reconcile(signal);
        expect([...node.stored.keys()]).toEqual([]);
        expect(upOf(record)).toBe(false);
    });

    it("stays on when the link itself has the record that its port lacks", async () => {
        putPort(record, unfinishedExternalIds(record));
        node.putLink(record.hostIfName, toAlias(record));
        await node.reconciler.rebuild(signal);
        expect(node.network.find(record.containerId, record.ifName)).toBeDefined();
        expect(upOf(record)).toBe(true);
    });

    it("of somebody else is left alone", async () => {
        for (const one of [record, rival]) putPort(one);
        node.putLink(record.hostIfName, toAlias(record));
        node.putLink(rival.hostIfName, "uplink of the printer");
        await node.reconciler.rebuild(signal);
        expect(node.network.find(rival.containerId, rival.ifName)).toBeUndefined();
        expect(node.links.get(rival.hostIfName)).toMatchObject({ up: true, alias: "uplink of the printer" });
    });
});
