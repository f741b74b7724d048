import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { Category, cookieOf, Table } from "@antrea/flows";
import { services } from "@antrea/kube";
import { formatActions } from "@antrea/openflow";
import { eventually } from "../../support/eventually.ts";
import { heard, NodeNetwork, outsideIps, proxyAll, run } from "./node-network.ts";

const name = "changed";
const externalIPs = ["198.51.100.7", "2001:db8:1::7", "192.0.2.1"];
const table = ["inet", "antrea-services"] as const;

let network: NodeNetwork;
let clusterIp = "";

beforeAll(async () => {
    network = await NodeNetwork.start();
    const { vips, ...at } = await network.addService(name, {
        type: "NodePort",
        externalIPs,
        sessionAffinity: "ClientIP",
    });
    clusterIp = vips[4];
    for (const family of [4, 6] as const) await network.setEndpoints(name, family, [network.pod(0, family)]);
    const wanted = `a ${outsideIps[4]}`;
    expect(await heard(network.outside, "192.0.2.1", { ...at, wanted })).toEqual([wanted, wanted]);
});
afterAll(() => network?.[Symbol.asyncDispose]());

/** The flows that OVS has of Services, but for learned ones, and the elements of the host's rules; each without its numbers of a start. */
async function state(): Promise<readonly string[]> {
    const flows = (await network.cluster.agent.openflow.dumpFlows())
        .filter(
            ({ cookie, table: at }) => cookieOf(cookie).category === Category.service && at !== Table.SessionAffinity,
        )
        .map(({ table: at, priority, match, actions }) => {
            const text = JSON.stringify(match, (_, value: unknown) =>
                typeof value === "bigint" ? String(value) : value,
            );
            return `${at} ${priority} ${text} ${formatActions(actions).replaceAll(/group:\d+/g, "group")}`;
        });
    const hasTable = run("nft", "list", "tables", "inet").includes(table.join(" "));
    const rules = hasTable ? run("nft", "-n", "list", "table", ...table) : "";
    const elements = [...rules.matchAll(/^\t(?:set|map) (\w+) \{\n[^}]*?elements = \{([^}]*)\}/gm)].flatMap(
        ([, set = "", text = ""]) => text.split(",").map((element) => `${set} ${element.trim()}`),
    );
    return [...flows, ...elements].sort();
}

/** An agent, OVS and rules of the host that know nothing but the objects of now. */
async function startAnew(): Promise<void> {
    const { cluster } = network;
    await cluster.stopAgent();
    await cluster.node.ovs.killVswitchd();
    await cluster.node.ovs.startVswitchd();
    run("nft", "delete", "table", ...table);
    await cluster.startAgent(proxyAll);
}

it.each<[string, () => object]>([
    [
        "the ports",
        () => ({
            ports: [
                { name: "t", port: 81 },
                { name: "u", port: 81, protocol: "UDP" },
            ],
        }),
    ],
    ["the policy for clients outside", () => ({ externalTrafficPolicy: "Local" })],
    ["the affinity", () => ({ sessionAffinity: "None" })],
    ["the external addresses", () => ({ externalIPs: externalIPs.slice(0, 1) })],
    ["the families", () => ({ ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"], clusterIPs: [clusterIp] })],
    ["the policy for clients inside", () => ({ internalTrafficPolicy: "Local" })],
    ["the type", () => ({ type: "ClusterIP", externalIPs: [] })],
])("%s of a Service changed in place leave nothing of before", async (what, spec) => {
    const { cluster } = network;
    // elsewhere, so that policies decide
    for (const family of [4, 6] as const) await network.setEndpoints(name, family, [network.pod(0, family)], "another");
    const before = await state();
    await cluster.api.patch(services, { name, namespace: "default" }, { type: "merge", body: { spec: spec() } });
    await eventually(
        async () => (await state()).join("\n") !== before.join("\n"),
        (isOther) => isOther,
        5_000,
    );
    // the host's rules follow OVS
    await sleep(1_000);
    const changed = await state();
    expect(changed).not.toEqual(before);
    if (what === "the affinity") expect(await cluster.learnedFlows()).toBe(0);
    await startAnew();
    const anew = await eventually(state, (now) => now.join("\n") === changed.join("\n"), 10_000);
    expect(anew).toEqual(changed);
});
