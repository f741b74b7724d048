import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp } from "@antrea/ip";
import {
    pendingAlias,
    releasedAlias,
    toAlias,
    toNetworkAlias,
    toNetworkIds,
} from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord, podRecord } from "../../support/records.ts";
import { FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import type { FakeLink } from "./fake-node.ts";

const container = "ab12".repeat(16);
const other = "cd34".repeat(16);
const netns = "/run/netns/ab12ab12";
const nothingHeld = { interfaces: [], ports: [], addresses: [], functions: [] };
const both = [plannedNetwork("eth1", { pool: "100" }), plannedNetwork("eth2", { pool: "200" })];

let networks: FakeNetworks;

beforeEach(async () => {
    networks = new FakeNetworks();
    networks.plans = both;
});

function linkOf(ifName: string): FakeLink {
    const link = [...networks.node.links.values()].find(({ podEnd }) => podEnd?.ifName === ifName);
    if (link === undefined) throw new Error(`no link of ${ifName}`);
    return link;
}

function portOf(ifName: string): string {
    for (const [name, { externalIds }] of networks.ports) if (externalIds.get("if-dev") === ifName) return name;
    throw new Error(`no port of ${ifName}`);
}

function setLink(ifName: string, changes: Partial<FakeLink>): void {
    const link = linkOf(ifName);
    networks.node.links.set(link.name, { ...link, ...changes });
}

function putPort(name: string, externalIds: Readonly<Record<string, string>>): void {
    const ids = new Map(Object.entries(externalIds));
    networks.ports.set(name, { name, ofPort: 50, error: undefined, vlan: 0, externalIds: ids });
}

const records = (): readonly unknown[] => networks.table.list().map(({ record }) => record);
const written = (): readonly unknown[] => networks.table.list().map(({ record }) => toNetworkIds(record));

/** The steps that change something. */
const changes = (): readonly string[] => networks.node.steps.done.filter((step) => !/^link|^pods$/.test(step));

describe("a round of the reconcile", () => {
    beforeEach(async () => {
        await networks.node.add();
        networks.node.steps.clear();
        networks.log.length = 0;
    });

    it("changes nothing when all is right", async () => {
        await networks.round();
        expect(changes()).toEqual([]);
    });

    it.each<[string, Partial<FakeLink>]>([
        ["is down", { up: false }],
        ["is in another group", { group: 0 }],
        ["has the alias of an earlier agent", { alias: `antrea2 ${container}` }],
    ])("sets right a link that %s", async (_, wrong) => {
        const right = linkOf("eth1");
        setLink("eth1", wrong);
        await networks.round();
        expect(linkOf("eth1")).toEqual(right);
    });

    it.each<[string, object | undefined]>([
        ["is lost", undefined],
        ["is in another VLAN", { vlan: 7 }],
        ["is a trunk", { vlan: undefined }],
        ["is not opened", { ofPort: -1 }],
        ["has no number yet", { ofPort: undefined }],
        ["has number 0", { ofPort: 0 }],
    ])("puts a port in place that %s", async (_, wrong) => {
        const name = portOf("eth1");
        const right = networks.ports.get(name);
        if (right === undefined) throw new Error("no port");
        if (wrong === undefined) networks.ports.delete(name);
        else networks.ports.set(name, { ...right, ...wrong });
        await networks.round();
        const port = networks.ports.get(name);
        expect(changes()).toContain("ensure network ports");
        expect(port).toMatchObject({ vlan: 100, externalIds: right.externalIds });
    });

    it("puts back nothing of an interface whose link is gone while its Pod lives", async () => {
        const { name } = linkOf("eth1");
        networks.node.links.delete(name);
        networks.ports.clear();
        await networks.round();
        expect([...networks.ports.keys()]).toEqual([portOf("eth2")]);
        expect(networks.table.list()).toHaveLength(2);
        // Nor is it a reason to come again.
        networks.node.steps.clear();
        await networks.round();
        expect(changes()).toEqual([]);
    });

    it("removes the interfaces of a namespace that has ended, and keeps the addresses for the Pod's next sandbox", async () => {
        networks.endNamespace();
        await networks.round();
        expect(networks.held()).toEqual({ ...nothingHeld, addresses: ["192.168.100.2", "192.168.200.2"] });
        await networks.node.add({ containerId: other });
        expect(networks.held()).toMatchObject({ addresses: ["192.168.100.2", "192.168.200.2"] });
    });

    it("reports which container could not be restored and why, and does the rest", async () => {
        await networks.node.add({ containerId: other, podUid: "uid-1", podName: "web-1" });
        networks.ports.clear();
        let times = 0;
        networks.node.steps.failure = (_, name) =>
            name === "ensure network ports" && (times += 1) === 1 ? "before" : undefined;
        await expect(networks.round()).rejects.toThrow("ensure network ports failed");
        expect(networks.ports.size).toBe(2);
        expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject([
            {
                message: "further interfaces of a container are not restored",
                fields: { container, reason: "ensure network ports failed" },
            },
        ]);
        await networks.round();
        expect(networks.ports.size).toBe(4);
    });

    it("drops ports that nobody has a record of, and closes their links, but not while an ADD may be making them", async () => {
        putPort("stale", toNetworkIds(networkRecord({ containerId: other, hostIfName: "stale" })));
        putPort("nameless", {});
        networks.node.putLink("stale", toNetworkAlias(networkRecord({ containerId: other })));
        const gate = Promise.withResolvers<void>();
        const adding = networks.node.network.adding(
            networks.node.request({ containerId: other }),
            () => gate.promise,
            new AbortController().signal,
        );
        await networks.round();
        expect([...networks.ports.keys()]).toEqual([portOf("eth1"), portOf("eth2"), "stale"]);
        gate.resolve();
        await adding;
        networks.log.length = 0;
        await networks.round();
        expect([...networks.ports.keys()]).toEqual([portOf("eth1"), portOf("eth2")]);
        // Down first: without its port its frames would reach the Node's own network stack.
        expect(changes().slice(-3)).toEqual(["close link", "delete network ports", "deleteLink"]);
        expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject([
            { message: "ports of further interfaces without a record are dropped", fields: { ports: ["stale"] } },
        ]);
    });

    it("fails when such a port cannot be dropped", async () => {
        putPort("stale", { "container-id": other });
        networks.node.steps.failure = (_, name) => (name === "delete network ports" ? "before" : undefined);
        await expect(networks.round()).rejects.toThrow("delete network ports failed");
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.ports.has("stale")).toBe(false);
    });
});

describe("a restart of the agent", () => {
    it("knows the interfaces again from their ports, and changes nothing of them", async () => {
        await networks.node.add();
        const [before, links] = [written(), [...networks.node.links.values()]];
        networks.log.length = 0;
        await networks.restart();
        expect(written()).toEqual(before);
        expect([...networks.node.links.values()]).toEqual(links);
        expect(networks.log.find(({ message }) => message === "further Pod interfaces rebuilt")).toMatchObject({
            level: "info",
            fields: { interfaces: 2 },
        });
        expect(networks.warnings()).toEqual([]);
        await networks.node.clock.advance(1);
        await networks.node.network.delete(container, "eth0");
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("restores what OVS lost meanwhile, and reports for which container it cannot", async () => {
        await networks.node.add();
        setLink("eth1", { up: false });
        await networks.restart();
        expect(linkOf("eth1").up).toBe(true);
        networks.node.steps.failure = (_, name) => (name === "network ports opened" ? "before" : undefined);
        await networks.restart();
        expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject([
            {
                message: "could not restore further Pod interfaces",
                fields: { container, reason: "network ports opened failed" },
            },
        ]);
    });

    it("reports nothing of interfaces on a Node without any", async () => {
        await networks.restart();
        expect(networks.log.filter(({ message }) => message.includes("further"))).toEqual([]);
    });

    const bad = networkRecord({ hostIfName: "bad" });

    it.each<[string, Readonly<Record<string, string>>, boolean]>([
        ["has no MAC address", { "attached-mac": "" }, true],
        ["is not a Pod's", { "antrea-type": "uplink" }, true],
        ["is of another boot of the Node", { "boot-id": "another" }, true],
        ["names no boot", { "boot-id": "" }, false],
    ])("drops a port whose record %s, and closes its link", async (_, change, isDropped) => {
        putPort("bad", { ...toNetworkIds(bad), ...change });
        networks.node.putLink("bad", pendingAlias(container));
        await networks.restart();
        expect(networks.ports.has("bad")).toBe(!isDropped);
        expect(networks.node.links.get("bad")).toMatchObject(
            isDropped ? { up: false, alias: releasedAlias } : { up: true, alias: expect.stringContaining("antrea3") },
        );
        expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject(
            isDropped
                ? [
                      {
                          message: "ports of further interfaces without a valid record are dropped",
                          fields: { ports: ["bad"] },
                      },
                  ]
                : [],
        );
    });

    it("writes such a record anew where the link has it", async () => {
        putPort("bad", { ...toNetworkIds(bad), "attached-mac": "" });
        networks.node.putLink("bad", toNetworkAlias(bad));
        await networks.restart();
        expect(networks.ports.get("bad")?.externalIds.get("attached-mac")).toBe(bad.mac);
        expect(networks.node.links.get("bad")).toMatchObject({ up: true, alias: toNetworkAlias(bad) });
    });

    describe("after the database was lost", () => {
        const lose = (): void => {
            networks.ports.clear();
            networks.node.stored.clear();
        };

        it("knows the interfaces from their links, with the pools and the network of their allocations and their Pod's names", async () => {
            await networks.node.add();
            const addresses = (): unknown =>
                networks.table.list().map(({ record }) => toNetworkIds({ ...record, network: "", netns: "" }));
            const before = addresses() as object[];
            lose();
            networks.networkOf = "default/eth1";
            await networks.restart();
            expect(records()).toMatchObject([
                { network: "default/eth1", netns: "", podName: "" },
                { network: "default/eth1", netns: "", podName: "" },
            ]);
            expect(addresses()).toEqual(before.map((one) => ({ ...one, "pod-namespace": "", "pod-name": "" })));
            await networks.node.add();
            await networks.round();
            expect(records()).toMatchObject([
                { podNamespace: "default", podName: "web-0", podUid: "uid-web-0" },
                { podNamespace: "default", podName: "web-0", podUid: "uid-web-0" },
            ]);
            expect(networks.held()).toMatchObject({ ports: ["eth1", "eth2"] });
        });

        it("keeps the addresses of deleted allocations, and completes them once these are known again", async () => {
            networks.plans = [plannedNetwork("eth1", { pool: "100" })];
            await networks.node.add();
            const [held] = [...networks.allocations.held];
            networks.allocations.held.clear();
            lose();
            await networks.restart();
            const found = (): unknown =>
                networks.table
                    .list()
                    .flatMap(({ record }) => record.addresses)
                    .map(({ ip, pool, gateway }) => `${formatIp(ip)} "${pool}" ${gateway && formatIp(gateway)}`);
            expect(found()).toEqual(['192.168.100.2 "" undefined']);
            expect(records()).toMatchObject([{ network: "" }]);
            await networks.round();
            expect(found()).toEqual(['192.168.100.2 "" undefined']);
            if (held !== undefined) networks.allocations.held.set(...held);
            networks.allocations.held.set("192.168.100.9", { owner: `${container}/eth1`, key: "", pool: "100" });
            networks.networkOf = "default/eth1";
            await networks.round();
            expect(found()).toEqual(['192.168.100.2 "100" 192.168.100.1', '192.168.100.9 "100" 192.168.100.1']);
            expect(records()).toMatchObject([{ network: "default/eth1" }]);
            // Once known they are not asked for again: the Pod has what it was given.
            networks.allocations.held.clear();
            networks.allocations.held.set("192.168.100.10", { owner: `${container}/eth1`, key: "", pool: "100" });
            await networks.round();
            expect(found()).toHaveLength(2);
        });

        it("completes one whose link has no addresses, as an earlier agent left it", async () => {
            networks.plans = [plannedNetwork("eth1", { pool: "100" })];
            await networks.node.add();
            setLink("eth1", { alias: linkOf("eth1").alias.split(" ").slice(0, 9).join(" ") });
            const held = [...networks.allocations.held];
            networks.allocations.held.clear();
            lose();
            await networks.restart();
            expect(records()).toMatchObject([{ addresses: [] }]);
            for (const one of held) networks.allocations.held.set(...one);
            await networks.round();
            expect(records()).toMatchObject([{ addresses: [{ pool: "100", prefixLength: 24 }] }]);
        });

        it("keeps the names that a port has of the Pod, where its own interface is known by its link", async () => {
            await networks.node.add();
            networks.node.stored.clear();
            await networks.restart();
            await networks.round();
            expect(networks.node.network.interfaces()).toMatchObject([{ record: { podName: "" } }]);
            expect(records()).toMatchObject([{ podName: "web-0" }, { podName: "web-0" }]);
        });

        it("knows an interface without IPPools from its link alone", async () => {
            networks.hasPools = false;
            networks.node.restart();
            networks.plans = [plannedNetwork("eth1")];
            await networks.node.add();
            lose();
            await networks.restart();
            await networks.round();
            expect(records()).toMatchObject([{ ifName: "eth1", addresses: [], network: "" }]);
        });

        it("takes links of the Pod network, of others and of another boot for none", async () => {
            networks.node.putLink("own", toAlias(podRecord()));
            networks.node.putLink("printer", "uplink of the printer");
            networks.node.putLink("old", toNetworkAlias(networkRecord({ bootId: "ffffffff-0000" })));
            await networks.restart();
            expect(records()).toEqual([]);
        });

        it("leaves them as they are without a bridge for them", async () => {
            await networks.node.add();
            lose();
            networks.hasBridge = false;
            await networks.restart();
            expect(records()).toEqual([]);
            await networks.round();
            expect(Object.keys(networks.inside(netns))).toEqual(["eth0", "eth1", "eth2"]);
        });
    });

    it("leaves those with their link there that nothing else of their Pod is known of", async () => {
        await networks.node.add();
        const before = networks.held();
        networks.node.stored.clear();
        networks.node.links.delete(linkOf("eth0").name);
        await networks.restart();
        await networks.round();
        expect(networks.node.network.interfaces()).toEqual([]);
        expect(networks.held()).toEqual(before);
    });

    it("ends at its next round the removal of a Pod that ended while no agent was there", async () => {
        await networks.node.add();
        networks.endNamespace();
        await networks.restart();
        await networks.round();
        expect(networks.held()).toMatchObject({ interfaces: [], ports: [] });
    });
});
