import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { optionalTextOf } from "@antrea/ovsdb";
import { OvsdbSession } from "@antrea/ovsdb/session";
import {
    monitoredColumns,
    NicBridge,
    nicsWithBridges,
    SwitchBridge,
} from "../../../../src/platform/ovs/bridge/index.ts";
import { silentLogger } from "../../../support/logger.ts";
import { TestNode } from "../../../support/test-node.ts";

const { signal } = new AbortController();
const hostPort = { name: "host0", type: "internal", ofPortRequest: 2, externalIds: { "antrea-type": "host" } } as const;
const nicPort = { name: "nic0~", type: "", ofPortRequest: 1, externalIds: { "antrea-type": "uplink" } } as const;

let node: TestNode;
let database: OvsdbSession;
let bridge: NicBridge;

const bridgeOf = (nic: string): NicBridge => new NicBridge({ database }, { nic, datapathType: "netdev" });

beforeAll(async () => {
    node = await TestNode.start();
    database = new OvsdbSession({ logger: silentLogger }, { socketPath: node.ovs.dbSocket, monitor: monitoredColumns });
    database.start(signal);
    await database.ready(signal);
    execFileSync("ip", ["link", "add", "nic0~", "type", "veth", "peer", "name", "wire0"]);
    bridge = bridgeOf("nic0");
});
afterEach(() => bridge.delete());
afterAll(async () => {
    await database?.close();
    await node?.[Symbol.asyncDispose]();
});

/** Columns of a row, one a line; texts without quotes. */
async function columns(table: string, name: string, ...names: readonly string[]): Promise<readonly string[]> {
    return (await node.ovs.vsctl("get", table, name, ...names)).trim().replaceAll('"', "").split("\n");
}

/** The copy of the database has what ovs-vsctl wrote. */
async function untilCopied(isThere: () => boolean): Promise<void> {
    await database.until(() => (isThere() ? true : undefined), { timeoutMs: 50_000 });
}

describe("the bridge of a NIC", () => {
    it("has the name of the NIC, or one of the same length for a long name, which differs where the names do", () => {
        expect(["eth0", "enp129s0f0n1"].map((nic) => bridgeOf(nic).name)).toEqual(["eth0~br", "enp129s0f0n1~br"]);
        const names = ["enp129s0f0np0", "enp129s0f0np1"].map((nic) => bridgeOf(nic).name);
        for (const name of names) expect(name).toMatch(/^[0-9a-f]{12}~br$/);
        expect(new Set(names).size).toBe(2);
        expect(bridgeOf("enp129s0f0np0").name).toBe(names[0]);
    });

    it("is made with its first port, switches by itself, and its host port is in no VLAN", async () => {
        expect([bridge.exists, nicsWithBridges(database)]).toEqual([false, []]);
        await bridge.ensurePort(hostPort);
        await bridge.ensurePort(nicPort);
        await bridge.attach();
        await bridge.attach();
        expect([bridge.exists, nicsWithBridges(database)]).toEqual([true, ["nic0"]]);
        expect(await columns("bridge", "nic0~br", "fail_mode", "datapath_type")).toEqual(["standalone", "netdev"]);
        expect(await columns("port", "host0", "tag", "vlan_mode")).toEqual(["0", "access"]);
        expect(await columns("port", "nic0~", "tag", "vlan_mode")).toEqual(["[]", "[]"]);
        expect((await node.ovs.vsctl("list-ports", "nic0~br")).trim().split("\n")).toEqual([
            "host0",
            "nic0~",
            "patch-nic0~br",
        ]);
        expect([await bridge.ofPort("nic0~", 50_000), await bridge.ofPort("host0", 50_000)]).toEqual([1, 2]);
        expect([bridge.bridgeOf("nic0~"), bridge.port("other")]).toEqual(["nic0~br", undefined]);
    });

    it("is connected to the bridge of networks by a port that is protected like a NIC", async () => {
        const networks = new SwitchBridge(
            { database },
            { bridge: "br1", datapathType: "netdev", multicastSnooping: false },
        );
        await bridge.ensurePort(nicPort);
        await bridge.attach();
        await networks.ensure([bridge.patch]);
        await networks.opened([bridge.patch.name], 50_000);
        expect(await columns("port", bridge.patch.name, "protected", "vlan_mode", "tag")).toEqual([
            "true",
            "trunk",
            "[]",
        ]);
        expect(await columns("interface", bridge.patch.name, "type", "options:peer")).toEqual([
            "patch",
            "patch-nic0~br",
        ]);
        expect(await columns("interface", "patch-nic0~br", "options:peer", "error")).toEqual(["patch-nic0", "[]"]);
        expect(networks.nics()).toMatchObject([{ name: "patch-nic0", error: undefined }]);
        await networks.ensure([]);
        expect(networks.nics()).toEqual([]);
        await networks.delete();
    });

    it("is put right when somebody changes it, and made again when somebody deletes it", async () => {
        await bridge.ensurePort(hostPort);
        await node.ovs.vsctl("set", "bridge", "nic0~br", "fail_mode=secure", "--", "set", "port", "host0", "tag=7");
        await untilCopied(() =>
            [...database.rows("Bridge").values()].some((row) => optionalTextOf(row, "fail_mode") === "secure"),
        );
        await bridge.ensurePort(hostPort);
        expect(await columns("bridge", "nic0~br", "fail_mode")).toEqual(["standalone"]);
        expect(await columns("port", "host0", "tag")).toEqual(["0"]);
        await node.ovs.vsctl("del-br", "nic0~br");
        await untilCopied(() => !bridge.exists);
        await expect(bridge.attach()).rejects.toMatchObject({ code: "BRIDGE_MISSING" });
        await bridge.ensurePort(hostPort);
        expect(await columns("port", "host0", "vlan_mode")).toEqual(["access"]);
    });

    it("that somebody else made is not touched", async () => {
        await node.ovs.addBridge("nic0~br");
        await untilCopied(() => bridge.exists);
        await expect(bridge.ensurePort(hostPort)).rejects.toMatchObject({
            code: "FOREIGN_BRIDGE",
            message: expect.stringContaining('next: delete the bridge with "ovs-vsctl del-br nic0~br"'),
        });
        await bridge.delete();
        expect(await node.ovs.vsctl("list-br")).toContain("nic0~br");
        await node.ovs.vsctl("del-br", "nic0~br");
        await untilCopied(() => !bridge.exists);
    });
});
