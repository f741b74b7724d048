import { beforeEach, describe, expect, it } from "@jest/globals";
import { settle } from "@antrea/async/testing";
import { AntreaError } from "@antrea/errors";
import { bridgingTables, nodeTables, Pipeline, podFlows, podOfPorts } from "@antrea/flows";
import { formatIp, parseMac, parsePrefix } from "@antrea/ip";
import { hostInterfaceName } from "../../../src/features/pod-network/names.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { podRecord } from "../../support/records.ts";
import { FakeNode } from "./fake-node.ts";
import type { AddRequest, PodInterface } from "../../../src/platform/pod-interfaces/index.ts";

const first = "ab12".repeat(16);
const second = "cd34".repeat(16);

let log: LogEntry[];
let node: FakeNode;

beforeEach(() => {
    log = [];
    node = new FakeNode({ pools: true, logger: listLogger(log) });
});

const containers = (): readonly string[] => node.network.interfaces().map(({ record }) => record.containerId);

function only(): PodInterface {
    const [known, ...more] = node.network.interfaces();
    if (known === undefined || more.length > 0) throw new Error(`${more.length} more than one interface`);
    return known;
}

async function turns(): Promise<void> {
    for (let turn = 0; turn < 50; turn += 1) await settle();
}

/** The sandbox ended: its end of the pair went with its namespace, and the pair with it. */
function endSandbox(): void {
    for (const { name, kind } of node.links.values()) if (kind === "veth") node.links.delete(name);
}

const whileOvsIsAway = (): void => {
    node.steps.failure = (_, name) => (name === "deletePort" ? "before" : undefined);
};

describe("an ADD under way", () => {
    it("is known by its container and by its Pod until the last of its repetitions ends, however that ends", async () => {
        const isAdding = (): readonly boolean[] =>
            [first, "uid-web-0", second].map((one) => node.network.isAdding(one));
        expect(isAdding()).toEqual([false, false, false]);
        const [stop, stopNext] = [new AbortController(), new AbortController()];
        node.steps.hanging.add("ensurePort");
        const [one, two] = [node.add({}, stop.signal), node.add({}, stopNext.signal)];
        two.catch(() => undefined);
        await turns();
        expect(isAdding()).toEqual([true, true, false]);
        stop.abort();
        await expect(one).rejects.toBeDefined();
        expect(isAdding()).toEqual([true, true, false]);
        stopNext.abort();
        await expect(two).rejects.toBeDefined();
        expect(isAdding()).toEqual([false, false, false]);
    });

    it("reports its end for its container and for its Pod, the last of repetitions only", async () => {
        const ended: string[] = [];
        node.network.onAddsEnd((one) => {
            expect(node.network.isAdding(one)).toBe(false);
            ended.push(one);
        });
        const [stop, stopNext] = [new AbortController(), new AbortController()];
        node.steps.hanging.add("ensurePort");
        const [one, two] = [node.add({}, stop.signal), node.add({ containerId: second }, stopNext.signal)];
        two.catch(() => undefined);
        await turns();
        stop.abort();
        await expect(one).rejects.toBeDefined();
        expect(ended).toEqual([first]);
        stopNext.abort();
        await expect(two).rejects.toBeDefined();
        expect(ended).toEqual([first, second, "uid-web-0"]);
    });

    it("keeps the next sandbox of its Pod waiting, so that they do not fight for one allocation", async () => {
        const order: string[] = [];
        node.steps.failure = (_, name) => void order.push(name);
        const adds = [node.add(), node.add({ containerId: second })];
        await Promise.all(adds.map((add) => add.then(() => order.push("end"))));
        expect(order.indexOf("end")).toBeLessThan(order.lastIndexOf("request"));
        expect(containers()).toEqual([second]);
    });

    it("keeps no other Pod waiting, nor another interface, nor a Pod of which the runtime reports no UID", async () => {
        const requests: readonly Partial<AddRequest>[] = [
            { containerId: first, podUid: "" },
            { containerId: second, podUid: "" },
            { containerId: "ef56".repeat(16), podUid: "uid-web-1", podName: "web-1" },
            { containerId: "0178".repeat(16), podUid: "uid-web-1", podName: "web-1", ifName: "net1" },
        ];
        const stop = new AbortController();
        node.steps.hanging.add("ensurePort");
        const adds = requests.map((one) => node.add(one, stop.signal));
        await turns();
        expect(node.steps.asked.filter((name) => name === "ensurePort")).toHaveLength(requests.length);
        stop.abort();
        await Promise.allSettled(adds);
    });

    it("counts as the newest of all, and from its answer on as old as that", async () => {
        await node.clock.advance(5);
        const ages: number[] = [];
        node.steps.failure = (_, name) => {
            if (name === "set flows") ages.push(...node.network.interfaces().map(({ addedAt }) => addedAt));
            return undefined;
        };
        await node.add();
        expect(ages).toEqual([Infinity]);
        expect(only().addedAt).toBe(5);
        await node.clock.advance(5);
        await node.add();
        expect(only().addedAt).toBe(10);
    });

    it("that was stopped reports by whom, and whose fault that is", async () => {
        const away = new AntreaError("SHUTDOWN", "environment", "the agent ends");
        for (const [reason, fault] of [
            [away, "environment"],
            [new Error("hung up"), "aborted"],
        ] as const) {
            const stop = new AbortController();
            node.steps.failure = (_, name) => (name === "pod batch" ? void stop.abort(reason) : undefined);
            await expect(node.add({}, stop.signal)).rejects.toMatchObject({ code: "CANCELLED", fault, cause: reason });
        }
    });

    it("that was asked for before the DEL of its container is refused, and not for ever", async () => {
        const late = node.request();
        await node.clock.advance(1);
        await node.network.delete(first, "eth0");
        await expect(node.network.add(late, new AbortController().signal)).rejects.toMatchObject({
            code: "DELETED_MEANWHILE",
            fault: "caller",
            message: expect.stringContaining(first),
        });
        expect(node.steps.asked).not.toContain("request");
        await node.clock.advance(1);
        await node.add();
        expect(containers()).toEqual([first]);
    });

    it("makes link and port while the API server is asked for addresses", async () => {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        node.steps.waits.set("claim", promise);
        const adding = node.add();
        await turns();
        expect(node.steps.done).toEqual(expect.arrayContaining(["createVeth", "ensurePort", "checksum offload"]));
        expect(node.network.interfaces()).toEqual([]);
        resolve(undefined);
        await adding;
        expect(containers()).toEqual([first]);
    });

    it("whose DEL did not wait for it finds that out, and leaves nothing", async () => {
        const { promise, resolve } = Promise.withResolvers<undefined>();
        node.steps.waits.set("ofPort", promise);
        const adding = node.add();
        adding.catch(() => undefined);
        await turns();
        const deleted = node.network.delete(first, "eth0");
        await node.clock.advance(5_000);
        await deleted;
        resolve(undefined);
        await expect(adding).rejects.toMatchObject({ code: "DELETED_MEANWHILE", fault: "caller" });
        expect(node.taken()).toMatchObject({
            interfaces: 0,
            ports: [],
            flows: 0,
            links: [],
            allocations: [],
            routes: [],
        });
    });

    it("leaves link and port of somebody else alone that have the name of its own", async () => {
        for (const pools of [false, true]) {
            node = new FakeNode({ pools });
            const name = hostInterfaceName("web-0", first, "eth0");
            node.putLink(name, "uplink of the printer");
            node.stored.set(name, { name, ofPort: 3, externalIds: new Map() });
            await expect(node.add()).rejects.toMatchObject({ code: "NAME_TAKEN" });
            expect(node.taken()).toMatchObject({ addresses: 0, interfaces: 0, allocations: [] });
            expect(node.network.ofPorts.used.size).toBe(0);
            expect(node.links.get(name)?.alias).toBe("uplink of the printer");
            if (!pools) expect(node.stored.has(name)).toBe(true);
        }
    });

    it("logs Pod, container and addresses of a new interface", async () => {
        await node.add();
        expect(log.find(({ message }) => message === "Pod interface added")).toMatchObject({
            level: "info",
            fields: { pod: "default/web-0", container: first, addresses: ["10.20.0.7"] },
        });
    });
});

describe("an ADD while the Node's subnet may be another's", () => {
    beforeEach(() => {
        node = new FakeNode({ logger: listLogger(log) });
        node.confirmSubnet = () => Promise.reject(new AntreaError("SUBNET_LOST", "environment", "the Node is gone"));
    });

    it("is refused, and takes nothing", async () => {
        await expect(node.add()).rejects.toMatchObject({ code: "SUBNET_LOST" });
        expect([containers(), node.subnet.usage()]).toMatchObject([[], [{ used: 0 }]]);
    });

    it("is answered all the same for what is wired, and for a Pod of a pool", async () => {
        node.confirmSubnet = () => Promise.resolve();
        const answered = await node.add();
        node.confirmSubnet = () => Promise.reject(new TypeError("nobody needs to know"));
        expect(await node.add()).toEqual(answered);
        node = new FakeNode({ pools: true });
        node.confirmSubnet = () => Promise.reject(new TypeError("nobody needs to know"));
        await node.add();
        expect(containers()).toHaveLength(1);
    });
});

describe("an ADD that is repeated", () => {
    it("into another namespace is refused with both, as long as the first one lives", async () => {
        await node.add();
        await expect(node.add({ netns: "/run/netns/other" })).rejects.toMatchObject({
            code: "OTHER_NETNS",
            fault: "caller",
            message: expect.stringContaining("in /run/netns/ab12ab12 already, not in /run/netns/other"),
        });
        endSandbox();
        await node.add({ netns: "/run/netns/other" });
        expect(only().record.netns).toBe("/run/netns/other");
    });

    it("completes a record that was rebuilt from a link, which does not name the Pod", async () => {
        const known = podRecord({ netns: "", podName: "", podNamespace: "", podUid: "" });
        const { netns } = node.request();
        node.putLink(known.hostIfName, "", { netns, ifName: "eth0" });
        node.network.adopt(known, 40_000);
        await node.add();
        expect(only().record).toMatchObject({ podName: "web-0", podNamespace: "default", podUid: "uid-web-0", netns });
        expect(node.stored.get(known.hostIfName)?.externalIds.get("pod-name")).toBe("web-0");
    });

    it("makes the interface anew when its sandbox is gone, with the allocation that it has", async () => {
        await node.add();
        endSandbox();
        node.steps.clear();
        await node.add();
        expect(node.steps.done).toContain("deletePort");
        expect(node.steps.done).not.toContain("release");
        expect([...node.links.values()].filter(({ kind }) => kind === "veth")).toHaveLength(1);
    });

    it("fails as late, and takes nothing, while OVS cannot remove what was there", async () => {
        await node.add();
        endSandbox();
        whileOvsIsAway();
        await expect(node.add()).rejects.toMatchObject({
            code: "STILL_REMOVED",
            fault: "timeout",
            message: expect.stringContaining(first),
        });
        expect(node.network.isLeaving(only())).toBe(true);
        expect([...node.allocations]).toEqual([first]);
    });
});

describe("the next sandbox of a Pod with an address of a pool", () => {
    it("fails as late while OVS cannot remove the earlier one: two interfaces must not have the address", async () => {
        await node.add();
        whileOvsIsAway();
        await expect(node.add({ containerId: second })).rejects.toMatchObject({
            code: "STILL_REMOVED",
            fault: "timeout",
            message: expect.stringContaining("default/web-0"),
        });
        expect(containers()).toEqual([first]);
        expect([...node.allocations]).toEqual([first]);
    });

    it.each([
        ["another interface of the Pod", { ifName: "net1" }],
        ["another Pod", { podUid: "uid-web-1", podName: "web-1" }],
        ["a Pod of which the runtime reported no UID", { podUid: "" }],
    ])("leaves %s alone", async (_, changes) => {
        await node.add(changes);
        node.steps.clear();
        await node.add({ containerId: second, ...("podUid" in changes && changes.podUid === "" ? changes : {}) });
        expect(containers()).toEqual([first, second]);
        expect(node.steps.done).not.toContain("deletePort");
    });
});

describe("names and numbers", () => {
    it("of two containers whose links would have one name differ", async () => {
        const seen = new Map<string, string>();
        let met: readonly string[] | undefined;
        for (let at = 0; met === undefined; at += 1) {
            const id = at.toString(16).padStart(64, "0");
            const name = hostInterfaceName("web-0", id, "eth0");
            const earlier = seen.get(name);
            if (earlier !== undefined) met = [earlier, id];
            seen.set(name, id);
        }
        for (const [at, containerId] of met.entries()) {
            await node.add({ containerId, podUid: `uid-${at}`, netns: `/run/netns/${at}` });
        }
        expect(containers()).toEqual(met);
        expect(node.stored.size).toBe(2);
        expect([...node.links.values()].filter(({ kind }) => kind === "veth")).toHaveLength(2);
    });

    it("that are all in use fail the ADD, which gives its address back", async () => {
        node = new FakeNode();
        for (let number: number = podOfPorts.first; number <= podOfPorts.last; number += 1) {
            node.network.ofPorts.note(number);
        }
        await expect(node.add()).rejects.toMatchObject({ code: "NO_PORT_NUMBER", fault: "environment" });
        expect(node.taken()).toMatchObject({ addresses: 0, interfaces: 0, links: [], ports: [] });
    });
});

describe("a DEL", () => {
    it("gives back what an ADD claimed that never came to its record", async () => {
        node.allocations.add(first);
        await node.network.delete(first, "eth0");
        expect([...node.allocations]).toEqual([]);
    });

    it("of an interface on another network, which the agent does not make now, leaves what is in use until the container ends", async () => {
        await node.add();
        const { allocations } = node.taken();
        expect(allocations).not.toEqual([]);
        await node.network.delete(first, "net1");
        expect(node.taken().allocations).toEqual(allocations);
    });

    it("that waits for other work is left to the reconcile, and the log reports whose it is and why", async () => {
        await node.add();
        const { promise: work, resolve } = Promise.withResolvers<undefined>();
        const working = node.network.exclusively(first, () => work);
        const deleted = node.network.delete(first, "eth0");
        await node.clock.advance(5_000);
        await deleted;
        expect(log.at(-1)).toMatchObject({
            message: "unwiring is left to the reconcile",
            fields: {
                pod: "default/web-0",
                container: first,
                reason: expect.stringContaining("other work on the container took longer than 5 s"),
            },
        });
        resolve(undefined);
        await working;
        await node.reconciler.reconcile(new AbortController().signal);
        expect(node.taken()).toMatchObject({ interfaces: 0, ports: [], allocations: [] });
    });

    it("that OVS kept from its end is not undone by putting the interface in place again", async () => {
        await node.add();
        whileOvsIsAway();
        await node.network.delete(first, "eth0");
        node.steps.clear();
        await node.network.restore(only());
        expect(node.steps.asked).toEqual([]);
        expect(node.ovs.flows).toEqual([]);
    });
});

describe("an isolated interface", () => {
    it("gets port and link in place again, and neither flows nor a route nor its VLAN", async () => {
        for (const bridging of [false, true]) {
            node = new FakeNode({ pools: true, bridging });
            await node.add();
            await node.network.isolate(only());
            node.stored.clear();
            await node.network.restore(only());
            expect(node.taken()).toMatchObject({ flows: 0, desired: 0, routes: [], vlanPods: [] });
            expect(node.stored.size).toBe(1);
            await node.reconciler.reconcile(new AbortController().signal);
            expect(node.taken()).toMatchObject({ flows: 0, desired: 0, routes: [], vlanPods: [] });
            node.restart();
            await node.reconciler.rebuild(new AbortController().signal);
            expect(node.taken()).toMatchObject({ interfaces: 1, desired: 0, vlanPods: [] });
        }
    });
});

describe("what a Pod's flows and its VLAN are", () => {
    const kinds = [
        ["of the Node's subnet", { pools: false, bridging: false }, {}],
        ["of the Node's subnet, where Pods of pools are bridged", { pools: false, bridging: true }, {}],
        ["of a pool, behind the gateway", { pools: true, bridging: false }, { foreignSubnet: true }],
        [
            "of a pool, in the underlay",
            { pools: true, bridging: true },
            { bridged: { vlan: 5, hostMac: Uint8Array.of(2, 0, 0, 0, 0, 2), subnets: [parsePrefix("10.20.0.0/24")] } },
        ],
    ] as const;

    it.each(kinds)("%s: goes by where its address is, also after a restart and a change of OVS", async (_, o, part) => {
        node = new FakeNode({ ...o, services: true });
        await node.add();
        const { record, ofPort } = only();
        const { flows } = podFlows(new Pipeline([...nodeTables, ...bridgingTables]), {
            ofPort,
            mac: parseMac(record.mac),
            ips: record.addresses.map(({ ip }) => ip),
            gatewayMac: Uint8Array.of(2, 0, 0, 0, 0, 1),
            services: true,
            ...part,
        });
        const expectRight = (): void => {
            const desired = node.flowTable.flowsOf(`pod/${first}/eth0`).map(({ cookie: _cookie, ...flow }) => flow);
            expect(desired).toEqual(flows.map(({ cookie: _cookie, ...flow }) => flow));
            expect([...node.vlanPods]).toEqual(o.pools && o.bridging ? [`${first}/eth0`] : []);
            expect([...node.routes]).toEqual(
                o.pools && !o.bridging ? record.addresses.map(({ ip }) => formatIp(ip)) : [],
            );
        };
        expectRight();
        node.vlanPods.clear();
        node.restart();
        await node.reconciler.rebuild(new AbortController().signal);
        expectRight();
        node.vlanPods.clear();
        await node.network.restore(only());
        expectRight();
    });
});
