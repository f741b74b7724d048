import { afterAll, beforeAll, expect, it } from "@jest/globals";
import {
    removeTunnelPorts,
    TunnelPort,
    type TunnelPortOptions,
} from "../../../../src/features/node-routes/tunnel/index.ts";
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

const geneve: TunnelPortOptions = { ofPort: 32768, type: "geneve", destinationPort: 0, csum: false };

async function shown(): Promise<string> {
    const text = await node.ovs.vsctl(
        "--columns=type,ofport,options,error",
        "--format=csv",
        "--no-headings",
        "find",
        "interface",
        "name=antrea-tun0",
    );
    return text.trim().replaceAll('"', "");
}

// One after the other on one port, as an agent does that is started with another configuration.
it.each<[string, Partial<TunnelPortOptions>, string]>([
    ["geneve", {}, "geneve,32768,{key=flow, remote_ip=flow},[]"],
    [
        "another port, with checksums",
        { destinationPort: 6099, csum: true },
        "geneve,32768,{csum=true, dst_port=6099, key=flow, remote_ip=flow},[]",
    ],
    ["back to the defaults", {}, "geneve,32768,{key=flow, remote_ip=flow},[]"],
    ["vxlan", { type: "vxlan" }, "vxlan,32768,{key=flow, remote_ip=flow},[]"],
    ["gre", { type: "gre" }, "gre,32768,{key=flow, remote_ip=flow},[]"],
    ["geneve again", {}, "geneve,32768,{key=flow, remote_ip=flow},[]"],
])("%s", async (_name, options, expected) => {
    const port = new TunnelPort({ ports: agent.bridge }, { ...geneve, ...options });
    expect(await port.ensure()).toBe(32768);
    expect(await port.ensure()).toBe(32768);
    expect(await shown()).toBe(expected);
    expect(agent.bridge.port("antrea-tun0")?.externalIds).toEqual(new Map([["antrea-type", "tunnel"]]));
});

it("without tunnels it goes, and others stay", async () => {
    const other = { type: "internal", ofPortRequest: 40_000, externalIds: { "antrea-type": "test" } } as const;
    await agent.bridge.ensurePort({ ...other, name: "other0" });
    await removeTunnelPorts(agent.bridge);
    await removeTunnelPorts(agent.bridge);
    expect(await shown()).toBe("");
    expect(agent.bridge.port("other0")).toBeDefined();
    await agent.bridge.deletePort("other0");
});
