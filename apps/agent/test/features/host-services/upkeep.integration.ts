import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { rulesGeneration } from "../../../src/platform/nftables.ts";
import { eventually } from "../../support/eventually.ts";
import { ask, PodProgram } from "../../support/pod-programs.ts";
import { heard, NodeNetwork, nodeIps, outsideIps, proxyAll, run } from "./node-network.ts";

const table = "inet antrea-services";

let network: NodeNetwork;
let at: Awaited<ReturnType<NodeNetwork["addService"]>>;

const listing = (...options: readonly string[]): string => run("nft", ...options, "list", "table", ...table.split(" "));

/** The rules, but the elements of sets, and the routes of proxyAll. */
const rulesAndRoutes = (): string =>
    [
        // in one call, as the table may go meanwhile
        /^table inet antrea-services \{$[^]*?^\}$/m.exec(run("nft", "-t", "list", "ruleset", "inet"))?.[0] ?? "",
        ...["-4", "-6"].flatMap((family) => [
            run("ip", family, "route", "show", "proto", "181"),
            // without the handles of the kernel, the table does not exist if it has no route
            run("ip", family, "route", "show", "table", "all", "proto", "181"),
            run("ip", family, "rule"),
        ]),
    ].join("\n");

/** All that proxyAll has on the Node, but the elements of sets. */
const onNode = (): string =>
    [
        rulesAndRoutes(),
        run("ip", "neighbour", "show", "dev", "antrea-gw0", "nud", "permanent"),
        run("sysctl", "net.ipv4.conf.antrea-gw0.rp_filter"),
    ].join("\n");

const isServed = async (): Promise<void> => {
    const wanted = `a ${outsideIps[4]}`;
    expect(await heard(network.outside, nodeIps[4], { ...at, wanted })).toEqual([wanted, wanted]);
};

/** Makes a Pod the only endpoint; resolves when clients outside reach it. */
async function changeEndpoints(pod: "a" | "b"): Promise<void> {
    await network.setEndpoints("kept", 4, [network.pod(pod === "a" ? 0 : 1, 4)]);
    const wanted = `${pod} ${outsideIps[4]}`;
    const heardNow = (): Promise<string> => ask(network.outside, nodeIps[4], at.tcp);
    expect(await eventually(heardNow, (text) => text === wanted, 10_000)).toBe(wanted);
}

/** Of `onNode` and `rulesAndRoutes`. */
let before = "";
let withoutRules = "";

beforeAll(async () => {
    network = await NodeNetwork.start();
    await network.cluster.stopAgent();
    await network.cluster.startAgent();
    // else the first start may not have put everything there yet when it is removed
    await eventually(onNode, (text) => !text.includes("181"), 10_000);
    before = onNode();
    withoutRules = rulesAndRoutes();
    await network.cluster.stopAgent();
    await network.cluster.startAgent(proxyAll);
    at = await network.addService("kept", { type: "NodePort", externalIPs: ["198.51.100.7"] });
    await network.setEndpoints("kept", 4, [network.pod(0, 4)]);
    await isServed();
});

afterAll(() => network?.[Symbol.asyncDispose]());

it("a Service changes elements and nothing else, and endpoints not even those", async () => {
    // rules and sets that are made anew have other handles
    const structure = listing("-a", "-t");
    const generation = rulesGeneration() ?? 0;
    await changeEndpoints("b");
    await changeEndpoints("a");
    expect(rulesGeneration()).toBe(generation);
    const other = await network.addService("other", { type: "NodePort", externalIPs: ["198.51.100.8", nodeIps[6]] });
    const hasElements = (text: string): boolean =>
        text.includes("198.51.100.8 . tcp . 80") && text.includes(`tcp . ${other.tcp}`);
    await eventually(listing, hasElements, 10_000);
    for (const element of [`${other.vips[4]} . udp . 80`, `${nodeIps[6]} . tcp . 80 : fc01::aabb:ccde:`]) {
        expect(listing()).toContain(element);
    }
    await network.cluster.deleteService("other");
    await eventually(listing, (text) => !hasElements(text), 10_000);
    for (const element of ["198.51.100.8", `tcp . ${other.tcp}`, other.vips[4], other.vips[6], nodeIps[6]]) {
        expect(listing()).not.toContain(element);
    }
    expect(listing()).toContain("198.51.100.7 . tcp . 80");
    expect(listing("-a", "-t")).toBe(structure);
});

it("what others remove comes back, at the next change at once, and rules stay when others change what is theirs", async () => {
    const wanted = onNode();
    const elements = new Set(listing().match(/\S+ \. (?:tcp|udp) \. \d+/g));
    run("nft", "delete", "table", ...table.split(" "));
    run("ip", "rule", "del", "pref", "181");
    run("ip", "route", "del", "10.96.0.0/16");
    run("ip", "route", "flush", "table", "181");
    run("ip", "neighbour", "flush", "dev", "antrea-gw0", "nud", "permanent");
    expect(await eventually(onNode, (text) => text === wanted, 90_000)).toBe(wanted);
    expect(new Set(listing().match(/\S+ \. (?:tcp|udp) \. \d+/g))).toEqual(elements);
    await isServed();
    // the check of each minute also comes with a change of rules, such as those of a further Service
    const addressAt = async (ip: string): Promise<void> => {
        const name = `at-${ip.replaceAll(".", "-")}`;
        await network.addService(name, { externalIPs: [ip] });
        await eventually(listing, (text) => text.includes(`${ip} . tcp . 80`), 10_000);
        expect(listing()).toContain(`${ip} . tcp . 80`);
        await network.cluster.deleteService(name);
        await eventually(listing, (text) => !text.includes(`${ip} .`), 10_000);
        expect(listing()).not.toContain(`${ip} .`);
    };
    run("nft", "add", "table", "inet", "others");
    const structure = listing("-a", "-t");
    await addressAt("198.51.100.9");
    expect(listing("-a", "-t")).toBe(structure);
    run("nft", "delete", "element", ...table.split(" "), "nodeports4", `{ tcp . ${at.tcp} }`);
    const nodePorts = (): string => run("nft", "list", "set", ...table.split(" "), "nodeports4");
    expect(nodePorts()).not.toContain(`tcp . ${at.tcp}`);
    await addressAt("198.51.100.10");
    expect(nodePorts()).toContain(`tcp . ${at.tcp}`);
    await isServed();
});

it("an element that others removed is back within a minute, without any change", async () => {
    run("nft", "delete", "element", ...table.split(" "), "nodeports4", `{ tcp . ${at.tcp} }`);
    const nodePorts = (): string => run("nft", "list", "set", ...table.split(" "), "nodeports4");
    const isBack = (text: string): boolean => text.includes(`tcp . ${at.tcp}`);
    expect(await eventually(nodePorts, isBack, 90_000)).toContain(`tcp . ${at.tcp}`);
    await isServed();
});

it("a link of the gateway that went down has its routes again when it is up", async () => {
    const wanted = onNode();
    run("ip", "link", "set", "antrea-gw0", "down");
    run("ip", "link", "set", "antrea-gw0", "up");
    expect(await eventually(onNode, (text) => text === wanted, 10_000)).toBe(wanted);
    await isServed();
});

it("all of it outlives the agent, and its start while the API server is away", async () => {
    const wanted = onNode();
    await network.cluster.stopAgent();
    await isServed();
    await network.cluster.server.stopApiServer();
    await network.cluster.startAgent(proxyAll);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect(onNode()).toBe(wanted);
    await isServed();
    // the rules are there
    expect((await fetch(`http://${nodeIps[4]}:10256/livez`)).status).toBe(200);
    await network.cluster.server.startApiServer();
    const external = (): Promise<string> => ask(network.outside, "198.51.100.7", 80);
    expect(await external()).toBe(`a ${outsideIps[4]}`);
});

it("two addresses of the Node whose stand-ins have one hash keep theirs", async () => {
    const { cluster } = network;
    run("ip", "address", "add", "192.0.2.173/32", "dev", "uplink");
    const own = (): string => run("nft", "list", "map", ...table.split(" "), "own4");
    const has = (text: string): boolean => ["192.0.2.1 ", "192.0.2.173 "].every((ip) => text.includes(ip));
    // a list of the API server is sorted by name
    for (const [name, ip] of [
        ["z", "192.0.2.1"],
        ["a", "192.0.2.173"],
    ] as const) {
        await network.addService(name, { externalIPs: [ip] });
        await eventually(own, (text) => text.includes(`${ip} `), 10_000);
    }
    const before = own();
    expect(has(before)).toBe(true);
    await cluster.stopAgent();
    const generation = rulesGeneration();
    await cluster.startAgent(proxyAll);
    await eventually(rulesGeneration, (now) => now !== generation, 10_000);
    expect(await eventually(own, has, 10_000)).toBe(before);
    for (const name of ["a", "z"]) await cluster.deleteService(name);
    run("ip", "address", "del", "192.0.2.173/32", "dev", "uplink");
});

it("the Services last known are served to the Node and clients outside too after a reboot while the API server is away", async () => {
    const { cluster } = network;
    const wanted = onNode();
    const journal = join(cluster.node.stateFolder, "services.journal");
    const text = (): string => (existsSync(journal) ? readFileSync(journal, "utf8") : "");
    const all = ["kept-v4", network.pod(0, 4), '{"serviceCidrs":["10.96.0.0/16",'];
    await eventually(text, (lines) => all.every((part) => lines.includes(part)), 10_000);
    for (const part of all) expect(text()).toContain(part);
    await cluster.stopAgent();
    await cluster.server.stopApiServer();
    await cluster.node.ovs.killVswitchd();
    await cluster.node.ovs.startVswitchd();
    run("nft", "delete", "table", ...table.split(" "));
    run("ip", "rule", "del", "pref", "181");
    for (const family of ["-4", "-6"]) run("ip", family, "route", "flush", "table", "all", "proto", "181");
    run("ip", "neighbour", "flush", "dev", "antrea-gw0", "nud", "permanent");
    expect(await ask(undefined, at.vips[4], 80)).not.toMatch(/^a /);
    await cluster.startAgent(proxyAll);
    await isServed();
    expect(await ask(network.outside, "198.51.100.7", 80)).toBe(`a ${outsideIps[4]}`);
    expect(await ask(undefined, at.vips[4], 80)).toMatch(/^a /);
    expect(await ask(undefined, at.vips[4], 81)).toBe("ECONNREFUSED");
    expect(run("ip", "-6", "route", "show", "proto", "181")).toContain("fd00:10:96::/112");
    await cluster.server.startApiServer();
    expect(await eventually(onNode, (text) => text === wanted, 20_000)).toBe(wanted);
});

it("new connections are dropped, not refused, after a start with OVS until the Services are known", async () => {
    const { cluster } = network;
    const toVip = (port: number): Promise<string> => ask(undefined, at.vips[4], port);
    const refused = "ECONNREFUSED";
    expect(await toVip(81)).toBe(refused);
    await cluster.stopAgent();
    await cluster.server.stopApiServer();
    rmSync(join(cluster.node.stateFolder, "services.journal"));
    await cluster.node.ovs.killVswitchd();
    await cluster.node.ovs.startVswitchd();
    await cluster.startAgent(proxyAll);
    const ofUdp = async (): Promise<string> => {
        await using socket = await PodProgram.datagrams(network.outside, nodeIps[4], at.udp);
        return await socket.send("hello");
    };
    const heardEarly = [
        await toVip(80),
        await toVip(81),
        await ask(network.outside, nodeIps[4], at.tcp),
        await ofUdp(),
    ];
    expect(heardEarly).toEqual(["no answer", "no answer", "no answer", "no answer"]);
    await cluster.server.startApiServer();
    expect(
        await eventually(
            () => toVip(81),
            (text) => text === refused,
            30_000,
        ),
    ).toBe(refused);
    await isServed();
});

it("nothing of it is left when proxyAll is switched off, and it comes again", async () => {
    const wanted = onNode();
    await network.cluster.stopAgent();
    await network.cluster.startAgent();
    expect(await eventually(onNode, (text) => text === before, 10_000)).toBe(before);
    expect(await ask(network.outside, nodeIps[4], at.tcp)).toBe("ECONNREFUSED");
    await network.cluster.stopAgent();
    await network.cluster.startAgent(proxyAll);
    expect(await eventually(onNode, (text) => text === wanted, 10_000)).toBe(wanted);
    await isServed();
});

it("no rule and no route is left by the commands for a rollback to a release without AntreaProxy", async () => {
    await network.cluster.stopAgent();
    const page = readFileSync(join(import.meta.dirname, "../../../../../docs/operations.md"), "utf8");
    const [, commands = ""] = /^```sh\n(nft delete table[^]*?)^```$/m.exec(page) ?? [];
    expect(commands).not.toBe("");
    expect(rulesAndRoutes()).not.toBe(withoutRules);
    run("sh", "-ec", commands);
    expect(rulesAndRoutes()).toBe(withoutRules);
});
