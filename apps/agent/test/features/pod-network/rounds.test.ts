import { beforeEach, describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import { podOfPorts } from "@antrea/flows";
import { parseIp } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { NeighbourState } from "@antrea/netlink";
import type { KnownPod } from "../../../src/features/pod-network/index.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { addressOf, podRecord } from "../../support/records.ts";
import { timeoutsBy } from "../../support/timeouts.ts";
import { FakeNode, type FakeNodeOptions } from "./fake-node.ts";
import { type PodRecord, toAlias, toExternalIds } from "../../../src/platform/pod-interfaces/index.ts";

const { signal } = new AbortController();
const container = "ab12".repeat(16);

let log: LogEntry[];
let node: FakeNode;

function begin(options: FakeNodeOptions = {}): void {
    log = [];
    node = new FakeNode({ ...options, logger: listLogger(log) });
}

beforeEach(() => begin());

const messages = (): readonly string[] => log.filter(({ level }) => level === "warn").map(({ message }) => message);

async function wired(): Promise<string> {
    await node.add();
    node.steps.clear();
    log.length = 0;
    const [name = ""] = node.stored.keys();
    return name;
}

/** A round that is under way. */
function begun(): { readonly outcome: Promise<unknown>; isOver: boolean } {
    const outcome = node.reconciler.reconcile(signal).catch((error: unknown) => error);
    const round = { outcome, isOver: false };
    void outcome.then(() => (round.isOver = true));
    return round;
}

function putPort(record: PodRecord, ofPort: number | undefined): void {
    const externalIds = new Map(Object.entries(toExternalIds(record)));
    node.stored.set(record.hostIfName, { name: record.hostIfName, ofPort, externalIds });
    node.putLink(record.hostIfName, toAlias(record));
}

describe("a round of the reconcile", () => {
    it("changes nothing, and asks the API server nothing, when all is right", async () => {
        await wired();
        await node.reconciler.reconcile(signal);
        expect(node.steps.asked.filter((name) => !["link", "links"].includes(name))).toEqual([]);
        expect(node.podsAsked).toBe(0);
    });

    it.each([
        ["is down", { up: false }],
        ["has another MTU than new ones get", { mtu: 1500 }],
        ["is not in the group of Pods' links", { group: 0 }],
    ])("sets right a host end that %s", async (_, changes) => {
        const name = await wired();
        const right = node.links.get(name);
        if (right === undefined) throw new Error("no link");
        node.links.set(name, { ...right, ...changes });
        await node.reconciler.reconcile(signal);
        expect(node.links.get(name)).toEqual(right);
    });

    it.each([
        ["is lost", undefined],
        ["has another number", 9],
    ])("puts a port in place that %s", async (_, ofPort) => {
        const name = await wired();
        const port = node.stored.get(name);
        if (ofPort === undefined || port === undefined) node.stored.clear();
        else node.stored.set(name, { ...port, ofPort });
        await node.reconciler.reconcile(signal);
        expect(node.stored.get(name)?.ofPort).toBe(podOfPorts.first);
    });

    it("goes on with the other interfaces when one cannot be restored, and reports which and why", async () => {
        const name = await wired();
        await node.add({ containerId: "cd34".repeat(16), podName: "web-1", podUid: "uid-1" });
        node.stored.clear();
        let ports = 0;
        node.steps.failure = (_, step) => (step === "ensurePort" && (ports += 1) === 1 ? "before" : undefined);
        await node.reconciler.reconcile(signal);
        expect(node.stored.size).toBe(1);
        expect(log.find(({ level }) => level === "warn")).toMatchObject({
            message: "could not restore a Pod interface",
            fields: { link: name, reason: "ensurePort failed" },
        });
    });

    it("removes no interface whose link an ADD made again since the round read the links", async () => {
        const name = await wired();
        const link = node.links.get(name);
        if (link === undefined) throw new Error("no link");
        node.links.delete(name);
        node.steps.failure = (_, step) => {
            if (step === "link") node.links.set(name, link);
            return undefined;
        };
        await node.reconciler.reconcile(signal);
        expect(node.network.interfaces()).toHaveLength(1);
        expect(node.stored.has(name)).toBe(true);
    });

    it("reports which interface of a gone sandbox cannot be removed", async () => {
        const name = await wired();
        node.links.delete(name);
        node.steps.failure = (_, step) => (step === "deletePort" ? "before" : undefined);
        await node.reconciler.reconcile(signal).catch(() => undefined);
        expect(messages()).toEqual(["unwiring is left to the reconcile"]);
        expect(node.network.interfaces()).toHaveLength(1);
    });

    it("restores an interface whose namespace cannot be opened, but for what is inside, and reports it", async () => {
        begin({ pools: true });
        await wired();
        node.stored.clear();
        node.namespaces.clear();
        await node.reconciler.reconcile(signal);
        expect(node.stored.size).toBe(1);
        expect(log.find(({ level }) => level === "warn")).toMatchObject({
            message: "link of a Pod cannot be updated",
            fields: { pod: "default/web-0", reason: expect.stringContaining("is gone") },
        });
    });

    it("leaves ports and links of others alone", async () => {
        await wired();
        node.stored.set("antrea-gw0", {
            name: "antrea-gw0",
            ofPort: 2,
            externalIds: new Map([["antrea-type", "gateway"]]),
        });
        node.stored.set("eth1", { name: "eth1", ofPort: 3, externalIds: new Map() });
        node.putLink("veth7", "uplink of the printer");
        node.putLink("veth8", "");
        const ours = node.links.get("veth8");
        if (ours !== undefined)
            node.links.set("dummy0", { ...ours, name: "dummy0", kind: "dummy", alias: "antrea1 released" });
        const before = [...node.links.keys(), ...node.stored.keys()];
        for (let round = 0; round < 3; round += 1) await node.reconciler.reconcile(signal);
        expect([...node.links.keys(), ...node.stored.keys()]).toEqual(before);
    });

    it("knows the port of a release that did not write the interface's name, which is eth0 then", async () => {
        const name = await wired();
        const port = node.stored.get(name);
        const externalIds = new Map(port?.externalIds);
        externalIds.delete("if-dev");
        node.stored.set(name, { name, ofPort: port?.ofPort, externalIds });
        await node.reconciler.reconcile(signal);
        expect(node.stored.has(name)).toBe(true);
    });
});

describe("neighbours that a Pod of a pool has learned", () => {
    const learned = (mac: string) => ({
        index: 2,
        ip: parseIp("10.20.0.9"),
        mac,
        state: NeighbourState.REACHABLE,
        flags: 0,
    });
    const gateway = learned("02:00:00:00:00:01");
    const underlay = learned("02:00:00:00:00:99");

    it.each([
        ["the gateway's, once it is bridged", { pools: true, bridging: true }, gateway, ["10.20.0.9"]],
        ["the underlay's while it is bridged", { pools: true, bridging: true }, underlay, []],
        ["the underlay's, once it is behind the gateway", { pools: true }, underlay, ["10.20.0.9"]],
        ["the gateway's while it is behind the gateway", { pools: true }, gateway, []],
        ["those of a Pod of the Node's subnet", {}, underlay, []],
    ])("are forgotten when the agent starts with another mode: %s", async (_, options, neighbour, forgotten) => {
        begin(options);
        await wired();
        node.neighbours = [neighbour];
        await node.reconciler.restoreAll(signal);
        expect(node.forgotten).toEqual(forgotten);
    });
});

describe("a start", () => {
    const one = podRecord();
    const two = podRecord({
        containerId: "cd34".repeat(16),
        hostIfName: "web-1-fedcba",
        podName: "web-1",
        podUid: "uid-1",
        addresses: [addressOf("10.10.1.6/24")],
    });
    const pod: KnownPod = {
        uid: "uid-77",
        namespace: "default",
        name: "lost",
        hostNetwork: false,
        ended: false,
        hasSandbox: true,
        podIps: [parseIp("10.10.1.77")],
    };

    it.each([
        ["has no number", undefined],
        ["could not be opened by OVS", -1],
    ])("gives an interface whose port %s a number that no other one has", async (_, ofPort) => {
        putPort(one, ofPort);
        putPort(two, podOfPorts.first);
        await node.reconciler.rebuild(signal);
        const numbers = node.network.interfaces().map((known) => known.ofPort);
        expect(numbers).toContain(podOfPorts.first);
        expect(new Set(numbers).size).toBe(2);
        expect(Math.min(...numbers)).toBe(podOfPorts.first);
    });

    it("keeps the address of an interface that it cannot take over, and reports which", async () => {
        putPort(one, undefined);
        for (let number: number = podOfPorts.first; number <= podOfPorts.last; number += 1) {
            node.network.ofPorts.note(number);
        }
        await node.reconciler.rebuild(signal);
        expect(node.network.interfaces()).toEqual([]);
        expect(node.subnet.ownerOf(parseIp("10.10.1.5"))).toBeDefined();
        expect(log.find(({ level }) => level === "warn")).toMatchObject({
            message: "a Pod interface cannot be taken over",
            fields: { port: one.hostIfName, reason: expect.stringContaining("in use") },
        });
    });

    it("reports how many interfaces it found, and which Pod has an address that is not of this Node any more", async () => {
        putPort(
            podRecord({
                containerId: "ef56".repeat(16),
                hostIfName: "web-2-fedcba",
                podName: "web-2",
                podUid: "uid-2",
                addresses: [{ ...addressOf("10.20.0.7/24"), pool: "pool1" }],
            }),
            podOfPorts.first + 2,
        );
        const moved = { ...two, addresses: [addressOf("10.99.0.6/24")] };
        putPort(one, podOfPorts.first);
        putPort(moved, podOfPorts.first + 1);
        await node.reconciler.rebuild(signal);
        expect(log.filter(({ level }) => level === "warn")).toMatchObject([
            { fields: { pod: "default/web-1", address: "10.99.0.6" } },
        ]);
        expect(log.at(-1)).toMatchObject({
            message: "Pod interfaces rebuilt",
            fields: { interfaces: 3, dropped: 0 },
        });
    });

    it("holds what the API server knows once, and asks again only as long as anything is held", async () => {
        node.pods = [pod];
        await node.reconciler.rebuild(signal);
        await node.reconciler.holdKnownAddresses(signal);
        expect(node.podsAsked).toBe(1);
        await node.reconciler.reconcile(signal);
        expect(node.podsAsked).toBe(2);
        node.pods = [];
        await node.reconciler.reconcile(signal);
        await node.reconciler.reconcile(signal);
        expect(node.podsAsked).toBe(3);
    });

    it("waits 3 s for an API server that does not answer, and takes over the interfaces then", async () => {
        putPort(one, podOfPorts.first);
        node.steps.hanging.add("pods");
        using _ = timeoutsBy(node.clock);
        let isOver = false;
        void node.reconciler.rebuild(signal).then(() => (isOver = true));
        await eventually(() => node.steps.asked.includes("pods"));
        await node.clock.advance(2_999);
        expect([isOver, node.network.interfaces().length]).toEqual([false, 0]);
        await node.clock.advance(1);
        await settle();
        expect([isOver, node.network.interfaces().length]).toEqual([true, 1]);
    });

    it("waits 5 s for the API server about what is held, so that the next round puts back what OVS lost meanwhile", async () => {
        node.pods = [pod];
        await node.reconciler.rebuild(signal);
        const name = await wired();
        node.steps.hanging.add("pods");
        using _ = timeoutsBy(node.clock);
        const round = begun();
        await eventually(() => node.steps.asked.includes("pods"));
        node.stored.clear();
        await node.clock.advance(4_999);
        expect(round.isOver).toBe(false);
        await node.clock.advance(1);
        expect(round.isOver).toBe(true);
        expect(await round.outcome).toMatchObject({ fault: "aborted" });
        expect(node.subnet.ownerOf(parseIp("10.10.1.77"))).toBe("pod/uid-77");
        node.steps.hanging.clear();
        await node.reconciler.reconcile(signal);
        expect([...node.stored.keys()]).toEqual([name]);
    });

    it("gives a Pod the address again that it had before the Node restarted, and nobody else", async () => {
        node.pods = [{ ...pod, podIps: [parseIp("10.10.1.2")] }];
        await node.reconciler.rebuild(signal);
        await node.add();
        await node.add({ containerId: "cd34".repeat(16), podUid: "uid-77", podName: "lost" });
        const addresses = node.network.interfaces().map(({ record }) => [record.podName, record.addresses[0]?.ip]);
        expect(addresses).toEqual([
            ["web-0", parseIp("10.10.1.3")],
            ["lost", parseIp("10.10.1.2")],
        ]);
    });

    it("takes an interface for isolated by its link alone, if the link is its own", async () => {
        putPort(one, podOfPorts.first);
        putPort(two, podOfPorts.first + 1);
        const [first, second] = [one, two].map(({ hostIfName }) => node.links.get(hostIfName));
        if (first === undefined || second === undefined) throw new Error("no links");
        node.links.set(first.name, { ...first, alias: toAlias({ ...one, isolated: true }) });
        node.links.set(second.name, { ...second, alias: toAlias({ ...one, isolated: true }) });
        await node.reconciler.rebuild(signal);
        const isolated = node.network.interfaces().map((known) => node.network.isIsolated(known));
        expect(isolated).toEqual([true, false]);
        expect(node.network.find(container, "eth0")?.record.isolated).toBe(true);
    });
});
