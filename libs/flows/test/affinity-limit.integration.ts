import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { parseMac } from "@antrea/ip";
import { frame } from "@antrea/openflow/testing";
import { Table, type ServicePortFlows } from "../src/index.ts";
import {
    addServicePorts,
    endpoint,
    mac,
    ofPort,
    portFlows,
    servedPort,
    serviceNode,
    startServiceSwitch,
} from "./service-examples.ts";
import { type TestSwitch } from "./switch.ts";

// Two ports of one Service with affinity, of which OVS is to remember five clients instead of 65,536.
const node = serviceNode("noEncap", true);
const vip = "10.96.0.10";
const limit = 5;
const ports = [80, 443] as const;
const endpoints = Array.from({ length: 8 }, (_, at) => endpoint(`10.11.0.${at + 1}`));
const clients = Array.from({ length: 12 }, (_, at) => `192.0.2.${at + 10}`);

function limited(port: number, at: number): ServicePortFlows {
    const served = servedPort(vip, endpoints, { name: `p${port}`, port });
    const made = portFlows(node, at + 1, served, { uid: "a", affinitySeconds: 60 });
    const flows = made.flows.flows.map((flow) => ({
        ...flow,
        actions: flow.actions.map((action) => (action.type === "learn" ? { ...action, limit } : action)),
    }));
    return { ...made, flows: { ...made.flows, flows } };
}

let ovs: TestSwitch;

beforeAll(async () => {
    ovs = await startServiceSwitch(node, ports.map(limited));
    await addServicePorts(ovs, node);
});
afterAll(() => ovs[Symbol.asyncDispose]());

/** Begins a connection of each client to each port; returns the endpoint of each. */
async function begin(sport: number): Promise<ReadonlyMap<string, string>> {
    const macs = { src: parseMac(mac.gw), dst: parseMac(mac.service) };
    await ovs.ovs.ask("dpctl/flush-conntrack");
    await ovs.receive(
        clients.flatMap((src) => ports.map((dport) => frame({ src, dst: vip, sport, dport }, "tcp", macs))),
        ofPort.gw,
    );
    const text = await ovs.ovs.ask("dpctl/dump-conntrack");
    const pattern = /orig=\(src=([^,]+),dst=10\.96\.0\.10,[^)]*dport=(\d+)\),reply=\(src=([^,]+),/g;
    return new Map(Array.from(text.matchAll(pattern), ([, src, dport, to = ""]) => [`${src} ${dport}`, to]));
}

it("of each port so many clients are remembered, and all others have one endpoint by their address", async () => {
    const first = await begin(20_000);
    expect(first.size).toBe(clients.length * ports.length);
    expect(new Set(first.values()).size).toBeGreaterThan(2);
    const learned = (await ovs.ovs.ofctl("dump-flows", ovs.bridge, `table=${Table.SessionAffinity}`)).split("\n");
    for (const port of ports) expect(learned.filter((line) => line.includes(`tp_dst=${port} `))).toHaveLength(limit);
    expect(await begin(20_001)).toEqual(first);
});
