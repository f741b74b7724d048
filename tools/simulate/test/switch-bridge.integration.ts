import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { monitoredColumns, SwitchBridge } from "@antrea/agent/platform/ovs/bridge";
import { TestNode } from "@antrea/agent/testing/test-node";
import { OvsdbSession } from "@antrea/ovsdb/session";
import { historyLogger } from "../cluster/quiet.ts";
import { switchCases, type SwitchNode } from "./switch-bridge-cases.ts";

const { signal } = new AbortController();
let node: TestNode;
let database: OvsdbSession;
let switches: SwitchNode;
const links = new Set<string>();

function removeLink(name: string): void {
    links.delete(name);
    execFileSync("ip", ["link", "delete", name]);
}

beforeAll(async () => {
    node = await TestNode.start();
    const logger = historyLogger(() => undefined, "ovsdb");
    database = new OvsdbSession({ logger }, { socketPath: node.ovs.dbSocket, monitor: monitoredColumns });
    database.start(signal);
    await database.ready(signal);
    const options = { bridge: "br1", datapathType: "netdev", multicastSnooping: false } as const;
    switches = {
        bridge: new SwitchBridge({ database }, options),
        addLink: (name) => {
            links.add(name);
            execFileSync("ip", ["link", "add", name, "type", "veth", "peer", "name", `${name}-peer`]);
            for (const end of [name, `${name}-peer`]) execFileSync("ip", ["link", "set", end, "up"]);
        },
        removeLink,
    };
});
afterAll(async () => {
    await database?.close();
    await node?.[Symbol.asyncDispose]();
});
afterEach(async () => {
    await switches.bridge.delete();
    for (const name of [...links]) removeLink(name);
});

describe("a bridge of Open vSwitch for networks, with the same responses as the simulated one", () => {
    it.each(switchCases)("$name", async ({ run, expected }) => {
        expect(await run(switches)).toEqual(expected);
    });
});
