import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { eventually } from "../../../support/eventually.ts";
import { silentLogger } from "../../../support/logger.ts";
import { TestNode } from "../../../support/test-node.ts";
import {
    monitoredColumns,
    ownSwitchBridges,
    SwitchBridge,
    type AccessPort,
} from "../../../../src/platform/ovs/bridge/index.ts";

let node: TestNode;
let database: OvsdbSession;
let bridge: SwitchBridge;
const { signal } = new AbortController();

const bridgeOf = (name: string, multicastSnooping = false): SwitchBridge =>
    new SwitchBridge({ database }, { bridge: name, datapathType: "netdev", multicastSnooping });

beforeAll(async () => {
    node = await TestNode.start();
    database = new OvsdbSession({ logger: silentLogger }, { socketPath: node.ovs.dbSocket, monitor: monitoredColumns });
    database.start(signal);
    await database.ready(signal);
    for (const name of ["nic0", "nic1", "pod0", "pod1", "pod2"]) addLink(name);
    bridge = bridgeOf("br1");
});
afterAll(async () => {
    await database?.close();
    await node?.[Symbol.asyncDispose]();
});

afterEach(async () => {
    await bridge.delete();
    expect(await bridges()).toEqual([]);
});

function addLink(name: string): void {
    execFileSync("ip", ["link", "add", name, "type", "veth", "peer", "name", `${name}-peer`]);
    for (const end of [name, `${name}-peer`]) execFileSync("ip", ["link", "set", end, "up"]);
}

async function list(...args: readonly string[]): Promise<readonly string[]> {
    const names = (await node.ovs.vsctl(...args)).split("\n").filter((name) => name !== "");
    return names.sort();
}

const bridges = (): Promise<readonly string[]> => list("list-br");
const nicNames = (): readonly string[] =>
    bridge
        .nics()
        .map(({ name }) => name)
        .sort();
const portNames = (): Promise<readonly string[]> => list("list-ports", "br1");

/** Columns of a row, one a line; texts without quotes. */
async function columns(table: string, name: string, ...names: readonly string[]): Promise<readonly string[]> {
    return (await node.ovs.vsctl("get", table, name, ...names)).trim().replaceAll('"', "").split("\n");
}

function access(name: string, vlan: number, ids: Readonly<Record<string, string>> = {}): AccessPort {
    return { name, vlan, externalIds: { "container-id": `c-${name}`, ...ids } };
}

/** The copy of the database has what ovs-vsctl wrote. */
async function untilCopied(isThere: () => boolean): Promise<void> {
    await database.until(() => (isThere() ? true : undefined), { timeoutMs: 50_000 });
}

describe("the bridge", () => {
    it("switches by itself, with its NICs as trunks between which nothing passes", async () => {
        expect([bridge.name, bridge.exists, bridge.ports(), bridge.nics()]).toEqual(["br1", false, [], []]);
        await bridge.ensure(["nic0", "nic1"]);
        expect(bridge.exists).toBe(true);
        expect(await columns("bridge", "br1", "fail_mode", "datapath_type", "mcast_snooping_enable")).toEqual([
            "standalone",
            "netdev",
            "false",
        ]);
        expect(await portNames()).toEqual(["nic0", "nic1"]);
        for (const nic of ["nic0", "nic1"]) {
            expect(await columns("port", nic, "vlan_mode", "protected", "tag", "trunks")).toEqual([
                "trunk",
                "true",
                "[]",
                "[]",
            ]);
        }
        expect(nicNames()).toEqual(["nic0", "nic1"]);
        expect(bridge.ports()).toEqual([]);
        expect(await columns("interface", "br1", "type")).toEqual(["internal"]);
    });

    it("is put right when somebody changes it", async () => {
        await bridge.ensure(["nic0"]);
        for (const change of ["fail_mode=secure", "mcast_snooping_enable=true"]) {
            await node.ovs.vsctl("set", "bridge", "br1", change);
            await bridge.ensure(["nic0"]);
            expect(await columns("bridge", "br1", "fail_mode", "mcast_snooping_enable")).toEqual([
                "standalone",
                "false",
            ]);
        }
    });

    it("is put right when somebody changes the port of a NIC", async () => {
        await bridge.ensure(["nic0", "nic1"]);
        for (const change of ["protected=false", "vlan_mode=access", "tag=5"]) {
            await node.ovs.vsctl("set", "port", "nic0", change);
            await bridge.ensure(["nic0", "nic1"]);
            expect(await columns("port", "nic0", "vlan_mode", "protected", "tag")).toEqual(["trunk", "true", "[]"]);
        }
    });

    it("sends nothing when all is right", async () => {
        let sent = 0;
        const counted = {
            rows: (table: string) => database.rows(table),
            until: () => Promise.reject(new Error("nothing to wait for")),
            transact: (...args: Parameters<OvsdbSession["transact"]>) => {
                sent += 1;
                return database.transact(...args);
            },
        };
        const same = new SwitchBridge(
            { database: counted as never },
            { bridge: "br1", datapathType: "netdev", multicastSnooping: false },
        );
        for (let times = 0; times < 2; times += 1) await same.ensure(["nic0"]);
        expect(sent).toBe(1);
        await same.ensure(["nic0", "nic1"]);
        expect(sent).toBe(2);
    });

    it("snoops multicast if that is configured, also from a later start on", async () => {
        for (const isOn of [true, false, true]) {
            await bridgeOf("br1", isOn).ensure([]);
            expect(await columns("bridge", "br1", "mcast_snooping_enable")).toEqual([String(isOn)]);
        }
    });

    it("has exactly the NICs of the last call, and keeps the ports of Pods", async () => {
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100)]);
        const uuid = await columns("port", "nic0", "_uuid");
        for (const nics of [["nic1", "nic0"], ["nic1", "nic0"], ["nic0"]]) {
            await bridge.ensure(nics);
            expect(await portNames()).toEqual([...nics, "pod0"].sort());
            expect(nicNames()).toEqual([...nics].sort());
            // One that stays is not made anew: its traffic goes on.
            expect(await columns("port", "nic0", "_uuid")).toEqual(uuid);
        }
        for (const nics of [[], ["nic0", "nic1"]]) {
            await bridge.ensure(nics);
            expect([nicNames(), await portNames()]).toEqual([nics, [...nics, "pod0"]]);
        }
        expect(await list("--bare", "--columns=name", "find", "interface", "name=nic1")).toEqual(["nic1"]);
    });

    it("reports why OVS cannot open a NIC", async () => {
        await bridge.ensure(["nic0", "no-nic"]);
        await untilCopied(() => bridge.nics().some(({ error }) => error !== undefined));
        const errors = new Map(bridge.nics().map(({ name, error }) => [name, error]));
        expect(errors).toEqual(
            new Map([
                ["nic0", undefined],
                ["no-nic", expect.stringContaining("no-nic")],
            ]),
        );
    });

    it("is made again with its NICs after the database was lost, but not by those who need it", async () => {
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100)]);
        await node.loseDatabase();
        await untilCopied(() => !bridge.exists);
        await database.ready(signal);
        expect([bridge.ports(), bridge.nics()]).toEqual([[], []]);
        await expect(bridge.ensurePorts([access("pod0", 100)])).rejects.toMatchObject({
            code: "BRIDGE_MISSING",
            message: expect.stringMatching(/^OVS has no bridge br1 yet; next: wait, .* the condition /),
        });
        await bridge.deletePorts(["pod0"]);
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100)]);
        await bridge.opened(["pod0"], 50_000);
        expect(await portNames()).toEqual(["nic0", "pod0"]);
    });
});

describe("a bridge that goes", () => {
    it("takes all its ports along, and may be gone already", async () => {
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100)]);
        await bridge.delete();
        await bridge.delete();
        expect(bridge.exists).toBe(false);
        for (const name of ["br1", "nic0", "pod0"]) {
            expect(await list("--columns=name", "find", "port", `name=${name}`)).toEqual([]);
            expect(await list("--columns=name", "find", "interface", `name=${name}`)).toEqual([]);
        }
    });

    it("is one that this agent or an earlier one made: others are not listed, and stay", async () => {
        await bridge.ensure([]);
        await bridgeOf("br2").ensure([]);
        await node.ovs.addBridge("br-other");
        const ids = "external_ids:container-id=c1";
        await node.ovs.vsctl("add-port", "br-other", "pod2", "--", "set", "port", "pod2", ids);
        const other = bridgeOf("br-other");
        const portCount = (): number =>
            [...database.rows("Port").values()].filter(({ name }) => name === "pod2").length;
        await untilCopied(() => portCount() === 1);
        expect([other.exists, other.ports(), other.nics()]).toEqual([false, [], []]);
        expect(() => other.refuseForeign()).toThrow(/did not make; next: choose another bridgeName/);
        await expect(other.ensurePorts([access("pod0", 7)])).rejects.toMatchObject({ code: "BRIDGE_MISSING" });
        await other.deletePorts(["pod2"]);
        expect(await list("list-ports", "br-other")).toEqual(["pod2"]);
        bridge.refuseForeign();
        expect([...ownSwitchBridges(database)].sort()).toEqual(["br1", "br2"]);
        await other.delete();
        expect(await bridges()).toEqual(["br-other", "br1", "br2"]);
        await bridgeOf("br2").delete();
        expect(ownSwitchBridges(database)).toEqual(["br1"]);
        await node.ovs.vsctl("del-br", "br-other");
    });
});

describe("a bridge that takes the place of others", () => {
    const statesOfPod0 = async (): Promise<readonly string[]> =>
        (await columns("Port", "pod0", "tag", "vlan_mode", "external_ids")).concat(
            await columns("Interface", "pod0", "error"),
        );

    it("has their ports, with records and VLANs, after one transaction", async () => {
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100)]);
        await bridge.opened(["pod0"], 50_000);
        const before = await statesOfPod0();
        const [id] = await columns("Port", "pod0", "_uuid");
        const next = bridgeOf("br2");
        let transactions = 0;
        const { transact } = database;
        database.transact = (...call) => {
            transactions += 1;
            return transact.apply(database, call);
        };
        try {
            expect(await next.takeOver()).toEqual(["br1"]);
            expect(transactions).toBe(1);
            expect(await next.takeOver()).toEqual([]);
            expect(transactions).toBe(1);
        } finally {
            database.transact = transact;
        }
        expect([await bridges(), await list("list-ports", "br2")]).toEqual([["br2"], ["nic0", "pod0"]]);
        expect([next.ports().map(({ name, vlan }) => [name, vlan]), bridge.exists]).toEqual([[["pod0", 100]], false]);
        expect([await statesOfPod0(), await columns("Port", "pod0", "_uuid")]).toEqual([before, [id]]);
        expect(await columns("Bridge", "br2", "fail_mode")).toEqual(["standalone"]);
        expect(await list("--columns=name", "find", "port", "name=br1")).toEqual([]);
        // Open vSwitch has them in the new bridge.
        await eventually(
            () => node.ovs.appctl("dpif/show"),
            (text) => /br2:[^]*pod0 /.test(text) && !text.includes("br1:"),
        );
        await next.ensure(["nic1"]);
        expect(await list("list-ports", "br2")).toEqual(["nic1", "pod0"]);
        // And the other way, to a bridge that exists, as after a release that made it first.
        await bridge.ensure(["nic0"]);
        expect(await bridge.takeOver()).toEqual(["br2"]);
        expect([await bridges(), await portNames()]).toEqual([["br1"], ["nic0", "nic1", "pod0"]]);
    });

    it("takes nothing of somebody else's, nor in the name of one", async () => {
        await bridge.ensure(["nic0"]);
        await node.ovs.addBridge("br-other");
        await untilCopied(() => [...database.rows("Bridge").values()].some(({ name }) => name === "br-other"));
        await expect(bridgeOf("br-other").takeOver()).rejects.toMatchObject({ code: "FOREIGN_BRIDGE" });
        expect(await bridge.takeOver()).toEqual([]);
        expect(await bridges()).toEqual(["br-other", "br1"]);
        await node.ovs.vsctl("del-br", "br-other");
    });
});

describe("the ports of Pods", () => {
    const numberOf = (name: string): number => bridge.ports().find((port) => port.name === name)?.ofPort ?? -1;

    /** The names of the ports that OVS sends a broadcast frame to, of the NICs and Pods. */
    async function receivers(inPort: string, vlan: number | undefined): Promise<readonly string[]> {
        const [shown, port] = [await node.ovs.appctl("dpif/show"), await columns("interface", inPort, "ofport")];
        const flow = `in_port=${port[0]},dl_src=02:00:00:00:00:01,dl_dst=ff:ff:ff:ff:ff:ff`;
        const tagged = vlan === undefined ? flow : `${flow},dl_vlan=${vlan},dl_vlan_pcp=0`;
        const traced = await node.ovs.appctl("ofproto/trace", "br1", tagged);
        const actions = /^Datapath actions: (.*)$/m.exec(traced)?.[1] ?? "";
        const numbers = actions.split(",").filter((action) => /^\d+$/.test(action));
        const nameOf = (number: string): string => new RegExp(`(\\S+) \\d+/${number}:`).exec(shown)?.[1] ?? number;
        return numbers
            .map(nameOf)
            .filter((name) => name !== "br1")
            .sort();
    }

    it("are access ports of their VLAN, of no VLAN too, with their record alone", async () => {
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100, { vlan: "100" }), access("pod1", 0), access("pod2", 4094)]);
        const opened = await bridge.opened(["pod0", "pod2"], 50_000);
        expect(new Map(opened.map(({ name, vlan }) => [name, vlan]))).toEqual(
            new Map([
                ["pod0", 100],
                ["pod2", 4094],
            ]),
        );
        expect(opened.every(({ ofPort }) => ofPort !== undefined && ofPort > 0)).toBe(true);
        await bridge.opened(["pod0", "pod1", "pod2"], 50_000);
        for (const [name, vlan] of [
            ["pod0", "100"],
            ["pod1", "0"],
            ["pod2", "4094"],
        ] as const) {
            expect(await columns("port", name, "tag", "vlan_mode", "protected")).toEqual([vlan, "access", "false"]);
        }
        expect(bridge.ports()).toHaveLength(3);
        expect(bridge.ports().find(({ name }) => name === "pod0")).toMatchObject({
            externalIds: new Map([
                ["container-id", "c-pod0"],
                ["vlan", "100"],
            ]),
            vlan: 100,
            error: undefined,
        });
        expect(bridge.ports().find(({ name }) => name === "pod1")?.vlan).toBe(0);
        expect(numberOf("pod0")).toBeGreaterThan(0);
    });

    it("exchange frames within their VLAN only, whatever tags they send, and NICs none with NICs", async () => {
        await bridge.ensure(["nic0", "nic1"]);
        await bridge.ensurePorts([access("pod0", 100), access("pod1", 100), access("pod2", 0)]);
        await bridge.opened(["pod0", "pod1", "pod2"], 50_000);
        await untilCopied(() => bridge.nics().length === 2);
        expect(await receivers("pod0", undefined)).toEqual(["nic0", "nic1", "pod1"]);
        expect(await receivers("pod2", undefined)).toEqual(["nic0", "nic1"]);
        for (const pod of ["pod0", "pod2"])
            for (const vlan of [100, 200]) expect(await receivers(pod, vlan)).toEqual([]);
        expect(await receivers("nic0", 100)).toEqual(["pod0", "pod1"]);
        expect(await receivers("nic0", undefined)).toEqual(["pod2"]);
        expect(await receivers("nic0", 300)).toEqual([]);
    });

    it("are updated by their names", async () => {
        await bridge.ensure([]);
        await bridge.ensurePorts([access("pod0", 100, { old: "1" })]);
        await bridge.opened(["pod0"], 50_000);
        const before = numberOf("pod0");
        await bridge.ensurePorts([access("pod0", 200, { new: "1" }), access("pod1", 0)]);
        expect(await columns("port", "pod0", "tag", "external_ids")).toEqual(["200", "{container-id=c-pod0, new=1}"]);
        expect(await portNames()).toEqual(["pod0", "pod1"]);
        await bridge.ensurePorts([]);
        await bridge.opened(["pod0", "pod1"], 50_000);
        // The link was not opened anew.
        expect(numberOf("pod0")).toBe(before);
        await bridge.opened([], 1);
    });

    it("go with their records, also those that are gone or on their way", async () => {
        await bridge.ensure(["nic0"]);
        await bridge.ensurePorts([access("pod0", 100), access("pod1", 100)]);
        const adding = bridge.ensurePorts([access("pod2", 100)]);
        await bridge.deletePorts(["pod0", "pod2", "unknown"]);
        await adding;
        expect(await portNames()).toEqual(["nic0", "pod1"]);
        await bridge.deletePorts(["pod0", "pod2", "unknown"]);
        expect(await portNames()).toEqual(["nic0", "pod1"]);
        expect(bridge.ports().map(({ name }) => name)).toEqual(["pod1"]);
        for (const name of ["pod0", "pod2"]) {
            expect(await list("--columns=name", "find", "interface", `name=${name}`)).toEqual([]);
        }
    });

    it("without a link are refused with the words of OVS; one that is not there is waited for", async () => {
        await bridge.ensure([]);
        await bridge.ensurePorts([access("pod0", 0), access("no-link", 0)]);
        await expect(bridge.opened(["pod0", "no-link"], 50_000)).rejects.toMatchObject({
            name: "OvsBridgeError",
            code: "PORT_REFUSED",
            message: expect.stringMatching(/port no-link to br1: .*no-link.*; see the log of ovs-vswitchd/),
            details: { port: "no-link", reason: expect.stringContaining(" no-link ") },
        });
        await bridge.opened(["pod0"], 50_000);
        await expect(bridge.opened(["pod0", "pod1"], 200)).rejects.toMatchObject({
            code: "TIMEOUT",
            message: "the numbers of new ports of br1 from ovs-vswitchd did not come within 200 ms",
        });
        await expect(bridge.opened(["pod1"], 50_000, AbortSignal.abort())).rejects.toMatchObject({ code: "ABORTED" });
    });

    it("of a link that comes later are opened then", async () => {
        await bridge.ensure([]);
        await bridge.ensurePorts([access("late", 0)]);
        await eventually(
            () => bridge.ports().find(({ name }) => name === "late")?.error,
            (error) => error !== undefined,
        );
        addLink("late");
        const port = await eventually(
            () => bridge.ports().find(({ name }) => name === "late"),
            (found) => (found?.ofPort ?? -1) > 0,
        );
        expect(port).toMatchObject({ error: undefined });
        await bridge.opened(["late"], 50_000);
    });
});
