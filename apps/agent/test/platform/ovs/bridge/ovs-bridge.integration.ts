import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { cachedNodeKey } from "../../../../src/platform/node/config/index.ts";
import { eventually } from "../../../support/eventually.ts";
import { TestNode, type TestAgent } from "../../../support/test-node.ts";

let node: TestNode;
let agent: TestAgent;

beforeAll(async () => {
    node = await TestNode.start();
    agent = await node.startAgent();
});

afterAll(async () => {
    await agent?.stop();
    await node?.[Symbol.asyncDispose]();
});

const spec = { type: "internal", ofPortRequest: 40_000, externalIds: { "antrea-type": "test" } } as const;

describe("the bridge", () => {
    it("is made as it must be, and put right when somebody changes it", async () => {
        await node.ovs.vsctl("set", "bridge", node.bridge, "fail_mode=standalone", "external_ids:mine=1");
        await agent.bridge.ensure();
        expect(await node.ovs.vsctl("get", "bridge", node.bridge, "fail_mode", "datapath_type")).toBe(
            "secure\nnetdev\n",
        );
        expect(await node.ovs.vsctl("get", "bridge", node.bridge, "protocols")).toContain("OpenFlow15");
        expect(agent.bridge.externalId("mine")).toBe("1");
    });

    it("has the datapath id of the last MAC address that it was given", async () => {
        const get = ["get", "bridge", node.bridge, "other_config:datapath-id", "other_config:mine"];
        await node.ovs.vsctl("set", "bridge", node.bridge, "other_config:mine=1");
        for (const last of ["01", "02", "02"]) {
            await agent.bridge.fixDatapathId(`02:00:00:00:00:${last}`);
            expect((await node.ovs.vsctl(...get)).replaceAll('"', "")).toBe(`00000200000000${last}\n1\n`);
        }
    });

    it("one external id is set, the others stay", async () => {
        await agent.bridge.setExternalId("mine", "2");
        await agent.bridge.setExternalId("yours", "with, comma");
        expect([agent.bridge.externalId("mine"), agent.bridge.externalId("yours")]).toEqual(["2", "with, comma"]);
    });

    it("has what was stored in it again when it is made again after its database was lost", async () => {
        await node.ovs.vsctl("set", "bridge", node.bridge, "external_ids:earlier=1");
        await eventually(
            async () => agent.bridge.externalId("earlier"),
            (found) => found === "1",
        );
        await agent.bridge.ensure();
        await agent.bridge.setExternalId(cachedNodeKey, "the Node");
        await node.loseDatabase();
        // The copy shows the new database once the session has connected to it; until then a transaction is refused.
        await agent.database.until(() => (agent.bridge.port(node.bridge) === undefined ? true : undefined), {
            timeoutMs: 50_000,
        });
        await agent.database.ready();
        await agent.bridge.ensure();
        const get = (key: string): Promise<string> =>
            node.ovs.vsctl("get", "bridge", node.bridge, `external_ids:${key}`);
        expect([await get(cachedNodeKey), await get("earlier")]).toEqual(['"the Node"\n', '"1"\n']);
    });
});

describe("ports", () => {
    it("get the number asked for; again with another record changes that one", async () => {
        await agent.bridge.ensurePort({ ...spec, name: "port0", mac: "02:00:00:00:00:07", mtuRequest: 1300 });
        expect(await agent.bridge.ofPort("port0", 10_000)).toBe(40_000);
        expect(agent.bridge.port("port0")).toMatchObject({ mac: "02:00:00:00:00:07", error: undefined });
        await agent.bridge.ensurePort({ ...spec, name: "port0", externalIds: { "antrea-type": "other" } });
        expect(agent.bridge.port("port0")?.externalIds).toEqual(new Map([["antrea-type", "other"]]));
        expect(agent.bridge.ports().filter(({ name }) => name === "port0")).toHaveLength(1);
        await agent.bridge.deletePort("port0");
        await agent.bridge.deletePort("port0");
        expect(agent.bridge.port("port0")).toBeUndefined();
        expect(await node.ovs.vsctl("--columns=name", "find", "interface", "name=port0")).toBe("");
    });

    it("that a deletion finds on its way are deleted too", async () => {
        const adding = agent.bridge.ensurePort({ ...spec, name: "port1" });
        await agent.bridge.deletePort("port1");
        await adding;
        expect(agent.bridge.port("port1")).toBeUndefined();
    });

    it("without a device are refused with the words of OVS", async () => {
        await agent.bridge.ensurePort({ ...spec, name: "no-device", type: "" });
        await expect(agent.bridge.ofPort("no-device", 10_000)).rejects.toMatchObject({
            code: "PORT_REFUSED",
            message: expect.stringContaining("no-device"),
        });
        await agent.bridge.deletePort("no-device");
    });

    it("of another bridge are none of ours", async () => {
        await node.ovs.addBridge("br-other");
        await node.ovs.addPort("br-other", "theirs");
        await agent.database.until(
            () =>
                [...agent.database.rows("Port").values()].some((row) => row["name"] === "theirs") ? true : undefined,
            { timeoutMs: 50_000 },
        );
        expect(agent.bridge.port("theirs")).toBeUndefined();
        await agent.bridge.deletePort("theirs");
        expect(await node.ovs.vsctl("list-ports", "br-other")).toBe("theirs\n");
        await node.ovs.vsctl("del-br", "br-other");
    });
});

it("without a bridge reports it", async () => {
    await node.ovs.vsctl("del-br", node.bridge);
    await agent.database.until(() => (agent.database.rows("Bridge").size === 0 ? true : undefined), {
        timeoutMs: 50_000,
    });
    await expect(agent.bridge.ensurePort({ ...spec, name: "port2" })).rejects.toMatchObject({ code: "BRIDGE_MISSING" });
    expect(agent.bridge.ports()).toEqual([]);
    await agent.bridge.deletePort("port2");
});
