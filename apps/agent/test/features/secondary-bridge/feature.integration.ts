import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { join } from "node:path";
import { ManualClock } from "@antrea/async/testing";
import { secondaryBridgeCondition } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import type { Node } from "@antrea/kube";
import { Netlink } from "@antrea/netlink";
import { OpenFlowConnection } from "@antrea/openflow/connection";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { Jobs, Metrics } from "@antrea/runtime";
import {
    secondaryBridge,
    type BridgePlatform,
    type SecondaryBridgeFeature,
} from "../../../src/features/secondary-bridge/feature.ts";
import { buildNicUplinks, nicUplinkParts } from "../../../src/features/secondary-bridge/nic-uplink-parts.ts";
import { NodeSysctls } from "../../../src/platform/host/gateway/index.ts";
import { podLinkGroup } from "../../../src/platform/kernel-ids.ts";
import {
    monitoredColumns,
    NicBridge,
    OvsBridge,
    ownSwitchBridges,
    SwitchBridge,
    type SwitchBridgeOptions,
} from "../../../src/platform/ovs/bridge/index.ts";
import { eventually } from "../../support/eventually.ts";
import { listLogger, silentLogger, type LogEntry } from "../../support/logger.ts";
import { TestNode } from "../../support/test-node.ts";

type Condition = NonNullable<NonNullable<Node["status"]>["conditions"]>[number] & { readonly $patch?: string };

/** The Node object: conditions are merged by their types, as the API server does it. */
class NodeObject {
    conditions: readonly Condition[] = [];
    /** The API server, as far as connections to it are tried. */
    server = "";

    readonly api = {
        find: () => Promise.resolve({ status: { conditions: this.conditions } }),
        patch: (_resource: unknown, _ref: unknown, { body }: { readonly body: Node }) => {
            for (const one of (body.status?.conditions ?? []) as readonly Condition[]) {
                const others = this.conditions.filter(({ type }) => type !== one.type);
                this.conditions = one.$patch === "delete" ? others : [...others, one];
            }
            return Promise.resolve({});
        },
    };

    get bridge(): readonly string[] {
        const own = this.conditions.filter(({ type }) => type === secondaryBridgeCondition);
        return own.map(({ status, reason, message }) => `${status} ${reason} ${message}`);
    }
}

interface Started {
    readonly feature: SecondaryBridgeFeature;
    /** A minute later. */
    readonly later: () => Promise<void>;
    readonly passes: (ms: number) => Promise<void>;
    /** The graceful end of the agent, as far as NICs are given back. */
    readonly end: () => Promise<void>;
    readonly log: readonly LogEntry[];
    readonly scrape: () => Promise<string>;
}

let node: TestNode;
let database: OvsdbSession;
let netlink: Netlink;
/** That of the Pod network. */
let integration: OvsBridge;
let object: NodeObject;
let jobs: Jobs[];
let features: SecondaryBridgeFeature[];
let apiServer: Server;

beforeAll(async () => {
    apiServer = createServer((socket) => socket.destroy());
    node = await TestNode.start();
    netlink = Netlink.open();
    await new Promise<void>((resolve) => apiServer.listen(0, "127.0.0.1", resolve));
    database = new OvsdbSession(
        { logger: silentLogger },
        { socketPath: node.ovs.dbSocket, monitor: monitoredColumns, lock: "antrea_agent" },
    );
    database.start(new AbortController().signal);
    await database.ready(new AbortController().signal);
    await database.lockAcquired(new AbortController().signal);
    integration = new OvsBridge({ database }, { bridge: "br-int", datapathType: "netdev" });
    await integration.ensure();
});
afterAll(async () => {
    apiServer?.close();
    await database?.close();
    netlink?.[Symbol.dispose]();
    await node?.[Symbol.asyncDispose]();
});

beforeEach(() => {
    object = new NodeObject();
    object.server = `https://127.0.0.1:${(apiServer.address() as AddressInfo).port}`;
    [jobs, features] = [[], []];
    for (const name of ["nic0", "nic1"]) addLink(name);
});
afterEach(async () => {
    await stopAll();
    for (const name of ownSwitchBridges(database)) await bridgeOf({ bridge: name, multicastSnooping: false }).delete();
    for (const name of ["nic0", "nic1", "pod0"]) removeLink(name);
});

/** The end of all agents. */
async function stopAll(): Promise<void> {
    await Promise.all(jobs.map((one) => one.stop()));
    for (const feature of features) await feature.stop?.();
    [jobs, features] = [[], []];
}

function addLink(name: string): void {
    execFileSync("ip", ["link", "add", name, "type", "veth", "peer", "name", `${name}-peer`]);
}

function removeLink(name: string): void {
    // It may be gone already.
    execFileSync("sh", ["-c", `ip link del ${name} 2>/dev/null || true`]);
}

/** The link group of a NIC, and whether it has IPv6. */
function settingsOf(name: string): readonly [group: number, disableIpv6: string] {
    const group = /group (\S+)/.exec(execFileSync("ip", ["-N", "-o", "link", "show", name], { encoding: "utf8" }))?.[1];
    return [Number(group), readFileSync(`/proc/sys/net/ipv6/conf/${name}/disable_ipv6`, "utf8").trim()];
}

function isUp(name: string): boolean {
    return /[<,]UP[,>]/.test(execFileSync("ip", ["-o", "link", "show", name], { encoding: "utf8" }));
}

const bridgeOf = (options: Omit<SwitchBridgeOptions, "datapathType">): SwitchBridge =>
    new SwitchBridge({ database }, { ...options, datapathType: "netdev" });

/** The connection to ovs-vswitchd, as far as it is asked for. */
const openflow = { state: { kind: "ready" } };

/** An agent whose configuration has a bridge with these NICs, or none. */
const start = (...nics: readonly string[]): Promise<Started> => startWith("br1", nics);

async function startWith(
    bridgeName: string,
    physicalInterfaces: readonly string[],
    { isBridging = false } = {},
): Promise<Started> {
    const [log, clock]: [LogEntry[], ManualClock] = [[], new ManualClock()];
    const metrics = new Metrics({ processMetrics: false });
    const own = new Jobs({ logger: silentLogger, clock });
    const ovsBridges =
        physicalInterfaces.length === 0 ? [] : [{ bridgeName, physicalInterfaces, enableMulticastSnooping: true }];
    const platform = {
        bridge: integration,
        clock,
        config: { secondaryNetwork: { ovsBridges }, uplink: { checkTimeout: 60_000 }, enableBridgingMode: isBridging },
        database,
        datapath: { copiesFrames: true, mustComputeChecksums: true },
        environment: { nodeName: "worker", stateFolder: node.ovs.runDir, bootId: "boot" },
        gates: { enabled: (name: string) => name === "SecondaryNetwork" },
        jobs: own,
        kube: {
            api: object.api,
            connection: () => Promise.resolve({ server: new URL(object.server) }),
            close: () => undefined,
        },
        logger: listLogger(log),
        metrics,
        netlink,
        openflow,
        sysctls: new NodeSysctls({ logger: silentLogger }, { folder: node.ovs.runDir, bootId: "boot" }),
        switchBridges: {
            names: () => ownSwitchBridges(database),
            of: bridgeOf,
            nic: (nic: string) => new NicBridge({ database }, { nic, datapathType: "netdev" }),
            connection: (name: string) =>
                new OpenFlowConnection({ logger: silentLogger }, { socketPath: node.ovs.mgmtSocket(name) }),
        },
        transport: { state: { name: "nic0" }, check: () => Promise.resolve() },
    };
    const uplinks = buildNicUplinks(platform as unknown as Parameters<typeof buildNicUplinks>[0], () => false);
    const feature = secondaryBridge(platform as unknown as BridgePlatform, uplinks);
    const parts = nicUplinkParts(platform as unknown as Parameters<typeof nicUplinkParts>[0], uplinks);
    await parts.recovery.start?.(new AbortController().signal);
    jobs.push(own);
    features.push(feature);
    await feature.stage?.(new AbortController().signal);
    await feature.start?.(new AbortController().signal);
    own.start();
    // NICs without addresses become ports after some seconds.
    if (physicalInterfaces.length > 0) {
        await eventually(
            async () => {
                await clock.advance(1_000);
                return object.bridge[0] ?? "becomes a port";
            },
            (text) => !text.includes("becomes a port"),
        );
    }
    return {
        feature,
        later: () => clock.advance(60_000),
        passes: async (ms) => {
            await clock.advance(ms);
        },
        end: async () => void (await parts.end.stop?.()),
        log,
        scrape: () => metrics.text(),
    };
}

async function portNames(): Promise<readonly string[]> {
    return (await node.ovs.vsctl("list-ports", "br1")).split("\n").filter((name) => name !== "");
}

async function bridgeNames(): Promise<readonly string[]> {
    return (await node.ovs.vsctl("list-br")).split("\n").filter((name) => name !== "");
}

const reported = (text: RegExp): Promise<readonly string[]> =>
    eventually(
        () => object.bridge,
        ([found]) => found !== undefined && text.test(found),
    );

describe("a bridge that is configured", () => {
    it("is there when the start is over, with its NICs, which are up, and its condition is True", async () => {
        const { feature, log } = await start("nic0", "nic1");
        expect(await portNames()).toEqual(["nic0", "nic1"]);
        expect(await node.ovs.vsctl("get", "bridge", "br1", "mcast_snooping_enable")).toBe("true\n");
        expect([isUp("nic0"), isUp("nic1")]).toEqual([true, true]);
        expect([settingsOf("nic0"), settingsOf("nic1")]).toEqual([
            [podLinkGroup, "1"],
            [podLinkGroup, "1"],
        ]);
        expect(feature.served?.state).toMatchObject({ mtu: 1500, problem: undefined });
        expect(feature.served?.ports.exists).toBe(true);
        expect(await reported(/^True/)).toEqual(["True BridgeReady the NICs nic0, nic1 are ports of br1"]);
        expect(log).toEqual([]);
    });

    it("is checked when a NIC comes or goes, and the Node names the one that is missing", async () => {
        removeLink("nic1");
        const { feature, passes, scrape } = await start("nic0", "nic1");
        expect(await portNames()).toEqual(["nic0"]);
        for (const isConnected of ["true", "false"]) {
            expect(await scrape()).toContain(`antrea_agent_secondary_bridge_nics{connected="${isConnected}"} 1\n`);
        }
        expect((await reported(/^False/))[0]).toMatch(/^False NICMissing nic1 does not exist; /);
        addLink("nic1");
        await reported(/^False NICNotConnected nic1 has no address and no route; /);
        const connected = async (): Promise<string> => {
            await passes(1_000);
            return object.bridge[0] ?? "";
        };
        expect(await eventually(connected, (text) => text.startsWith("True"))).toMatch(/the NICs nic0, nic1 are ports/);
        expect(await portNames()).toEqual(["nic0", "nic1"]);
        removeLink("nic0");
        expect((await reported(/^False/))[0]).toMatch(/^False NICMissing nic0 does not exist; (?!.*no NIC)/);
        expect(feature.served?.state.problem).toBeUndefined();
    });

    it("is checked each minute", async () => {
        const { later } = await start("nic0");
        await reported(/^True/);
        await node.ovs.vsctl("set", "port", "nic0", "protected=false");
        const isProtected = async (): Promise<string> =>
            (await node.ovs.vsctl("get", "port", "nic0", "protected")).trim();
        expect(await isProtected()).toBe("false");
        await later();
        expect(await eventually(isProtected, (text) => text === "true")).toBe("true");
    });

    it("announces the address of a Pod in its VLAN only, as from the Pod", async () => {
        const { feature, later } = await start("nic0");
        execFileSync("ip", ["link", "set", "nic0-peer", "up"]);
        addLink("pod0");
        const served = feature.served;
        await served?.ports.ensurePorts([{ name: "pod0", vlan: 100, externalIds: { "container-id": "pod0" } }]);
        await served?.ports.opened(["pod0"], 50_000);
        const ofPort = served?.ports.ports()[0]?.ofPort ?? 0;
        const seen = spawn("tcpdump", ["-l", "-n", "-e", "-i", "nic0-peer", "arp"], {
            stdio: ["ignore", "pipe", "ignore"],
        });
        let output = "";
        seen.stdout.on("data", (bytes: Buffer) => (output += bytes.toString()));
        try {
            await eventually(
                async () => {
                    served?.announce({ ofPort, mac: "02:00:00:00:00:07", ips: [parseIp("192.0.2.7")] });
                    await later();
                    return output;
                },
                (text) => text.includes("192.0.2.7"),
            );
        } finally {
            seen.kill();
        }
        const lines = output.split("\n").filter((line) => line.includes("192.0.2.7"));
        expect(lines[0]).toMatch(/02:00:00:00:00:07 > ff:ff:ff:ff:ff:ff, .*vlan 100,/);
        expect(lines.every((line) => line.includes("vlan 100,"))).toBe(true);
    });

    it("leaves a NIC alone that another bridge has", async () => {
        await node.ovs.vsctl("add-port", "br-int", "nic0");
        await eventually(
            () => integration.bridgeOf("nic0"),
            (name) => name === "br-int",
        );
        const { feature } = await start("nic0");
        expect(feature.served?.state.problem).toMatch(
            /^no NIC of br1 is connected: nic0 is a port of OVS bridge br-int; /,
        );
        expect(await portNames()).toEqual([]);
        expect(await node.ovs.vsctl("port-to-br", "nic0")).toBe("br-int\n");
        expect(isUp("nic0")).toBe(false);
        await node.ovs.vsctl("del-port", "br-int", "nic0");
        await eventually(
            () => integration.bridgeOf("nic0"),
            (name) => name !== "br-int",
        );
    });

    it("is made again as soon as the database is there again without it, whatever the time", async () => {
        const [file, backup] = ["conf.db", "backup.db"].map((name) => join(node.ovs.runDir, name));
        if (file === undefined || backup === undefined) throw new Error("no path");
        copyFileSync(file, backup);
        await start("nic0");
        await node.ovs.killDatabase();
        copyFileSync(backup, file);
        await node.ovs.startDatabase();
        expect(await eventually(bridgeNames, (names) => names.includes("br1"))).toEqual(["br-int", "br1"]);
        expect(await portNames()).toEqual(["nic0"]);
    });
});

describe("a NIC that the Node uses", () => {
    const addressesOf = (name: string): string =>
        execFileSync("ip", ["-d", "addr", "show", name], { encoding: "utf8" });

    beforeEach(() => {
        execFileSync("ip", ["link", "set", "nic0", "up"]);
        execFileSync("ip", ["link", "set", "nic0-peer", "up"]);
        execFileSync("ip", ["addr", "add", "192.0.2.1/24", "dev", "nic0"]);
    });

    /** The condition of the Node, when it is so or the time for that is over. */
    const reportedBy = ({ passes }: Started, text: RegExp): Promise<string> =>
        eventually(
            async () => {
                await passes(1_000);
                return object.bridge[0] ?? "";
            },
            (found) => text.test(found),
        );

    it("is connected with a host port, which the Node's condition reports, and is given back at the end", async () => {
        const agent = await start("nic0", "nic1");
        const { end } = agent;
        await reportedBy(agent, /^True/);
        expect(object.bridge).toEqual(["True BridgeReady the NICs nic0, nic1 are ports of br1"]);
        expect(await eventually(portNames, (names) => names.includes("patch-nic0"))).toEqual(["nic1", "patch-nic0"]);
        expect(addressesOf("nic0")).toContain("inet 192.0.2.1/24");
        expect(settingsOf("nic0~")).toEqual([podLinkGroup, "1"]);
        await Promise.all(jobs.map((one) => one.stop()));
        await end();
        expect(addressesOf("nic0")).toContain("inet 192.0.2.1/24");
        expect(settingsOf("nic0")).toEqual([0, "0"]);
        expect(object.bridge[0]).toMatch(/^False NICNotConnected the agent has ended, and the Node has nic0 back; /);
    });

    it("is given back while ovs-vswitchd is away, and connected again afterwards; the others stay ports", async () => {
        const agent = await start("nic0", "nic1");
        expect(await reportedBy(agent, /^True/)).toMatch(/^True/);
        openflow.state = { kind: "disconnected" };
        await node.ovs.killVswitchd();
        try {
            expect(await reportedBy(agent, /given back/)).toMatch(
                /^False NICNotConnected nic0 was given back to the Node: OVS has been away for 5 s; /,
            );
            expect(addressesOf("nic0")).toMatch(/veth[^]*inet 192\.0\.2\.1\/24/);
            expect(await eventually(portNames, (names) => !names.includes("patch-nic0"))).toEqual(["nic1"]);
        } finally {
            await node.ovs.startVswitchd();
            openflow.state = { kind: "ready" };
        }
        expect(await reportedBy(agent, /^True/)).toBe("True BridgeReady the NICs nic0, nic1 are ports of br1");
        expect(addressesOf("nic0")).toMatch(/tun type tap[^]*inet 192\.0\.2\.1\/24/);
        await Promise.all(jobs.map((one) => one.stop()));
        await agent.end();
    });

    it("is left to bridging mode, and the Node's condition reports it", async () => {
        await startWith("br1", ["nic0", "nic1"], { isBridging: true });
        expect((await reported(/^False/))[0]).toMatch(/^False NICTaken nic0 is the uplink of bridging mode; /);
        expect(await portNames()).toEqual(["nic1"]);
        expect(settingsOf("nic0")).toEqual([0, "0"]);
    });
});

describe("a bridge that is no longer configured", () => {
    it("gives its NICs back as they were", async () => {
        await start("nic0", "nic1");
        await stopAll();
        await start("nic1");
        expect([settingsOf("nic0"), settingsOf("nic1")[0]]).toEqual([[0, "0"], podLinkGroup]);
        await stopAll();
        await start();
        await eventually(bridgeNames, (names) => !names.includes("br1"));
        expect(
            await eventually(
                () => settingsOf("nic1"),
                ([, isDisabled]) => isDisabled === "0",
            ),
        ).toEqual([0, "0"]);
    });

    it("goes at once where another one takes its place, which gets the NIC and the ports of Pods", async () => {
        const { feature } = await start("nic0");
        addLink("pod0");
        await feature.served?.ports.ensurePorts([{ name: "pod0", vlan: 7, externalIds: { "container-id": "pod0" } }]);
        await stopAll();
        const { feature: next } = await startWith("br2", ["nic0"]);
        expect(await bridgeNames()).toEqual(["br-int", "br2"]);
        for (const name of ["nic0", "pod0"]) expect((await node.ovs.vsctl("port-to-br", name)).trim()).toBe("br2");
        expect(next.served?.state).toMatchObject({ connected: 1, problem: undefined });
        expect(settingsOf("nic0")).toEqual([podLinkGroup, "1"]);
    });

    it("gives back the NICs that the one in its place does not have", async () => {
        await start("nic0", "nic1");
        await stopAll();
        await startWith("br2", ["nic1"]);
        expect((await node.ovs.vsctl("list-ports", "br2")).trim()).toBe("nic1");
        expect([settingsOf("nic0"), settingsOf("nic1")]).toEqual([
            [0, "0"],
            [podLinkGroup, "1"],
        ]);
    });

    it("stays where the name of the next one is that of somebody else's bridge, and so do its Pods", async () => {
        const { feature } = await start("nic0");
        addLink("pod0");
        await feature.served?.ports.ensurePorts([{ name: "pod0", vlan: 7, externalIds: { "container-id": "pod0" } }]);
        await stopAll();
        await node.ovs.addBridge("br-other");
        await startWith("br-other", ["nic0"]);
        try {
            expect((await reported(/br-other/))[0]).toMatch(
                /^False BridgeNotReady .* OVS has a bridge br-other that this agent did not make; /,
            );
            expect(await portNames()).toEqual(["nic0", "pod0"]);
            expect((await node.ovs.vsctl("list-ports", "br-other")).trim()).toBe("");
        } finally {
            await node.ovs.vsctl("del-br", "br-other");
        }
    });

    it("gives its NICs back also if an agent was killed when it had deleted the bridge", async () => {
        await start("nic0");
        await stopAll();
        await node.ovs.vsctl("del-br", "br1");
        await eventually(
            () => ownSwitchBridges(database),
            (names) => names.length === 0,
        );
        expect(settingsOf("nic0")).toEqual([podLinkGroup, "1"]);
        await start();
        expect(
            await eventually(
                () => settingsOf("nic0"),
                ([, isDisabled]) => isDisabled === "0",
            ),
        ).toEqual([0, "0"]);
    });

    it("is deleted, with the condition of the Node, and bridges of others stay", async () => {
        await start("nic0");
        await reported(/^True/);
        await stopAll();
        object.conditions = [...object.conditions, { type: "Ready", status: "True" } as Condition];
        await node.ovs.addBridge("br-other");
        const { feature, log } = await start();
        expect(feature.served).toBeUndefined();
        expect(await eventually(bridgeNames, (names) => !names.includes("br1"))).toEqual(["br-int", "br-other"]);
        expect(
            await eventually(
                () => object.conditions.map(({ type }) => type),
                (types) => types.length === 1,
            ),
        ).toEqual(["Ready"]);
        expect(log.map(({ message, fields }) => [message, fields["bridge"]])).toEqual([
            ["bridge that is no longer configured deleted", "br1"],
        ]);
        await node.ovs.vsctl("del-br", "br-other");
    });

    it("is kept as long as Pods are connected to it, which are not touched", async () => {
        const { feature } = await start("nic0");
        for (const name of ["pod0", "pod1"]) addLink(name);
        await feature.served?.ports.ensurePorts(
            ["pod0", "pod1"].map((name) => ({ name, vlan: 100, externalIds: { "container-id": name } })),
        );
        await stopAll();
        const { later } = await start();
        removeLink("pod1");
        await later();
        expect(await eventually(portNames, (names) => !names.includes("pod1"))).toEqual(["nic0", "pod0"]);
        await later();
        expect(await portNames()).toEqual(["nic0", "pod0"]);
        removeLink("pod0");
        await later();
        expect(await eventually(bridgeNames, (names) => !names.includes("br1"))).toEqual(["br-int"]);
    });
});
