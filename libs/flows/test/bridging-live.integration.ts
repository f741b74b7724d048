import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { exampleBridgingNode, exampleVlan, pipelineFlows, podFlows, vlanFlows } from "./examples.ts";
import { type Namespace } from "./namespaces.ts";
import { client } from "./programs.ts";
import { TestSwitch } from "./switch.ts";
import { underlayAddresses, underlayPods, UnderlayNode, type StationName as Name } from "./underlay-node.ts";

// The host translates the addresses of a Service the way kube-proxy does.
const endpoint = { a: "80", p: "81", r: "82", outside: "83" };
const services = { 4: "10.96.0.10", 6: "fd00:96::10" } as const;

const rules = `
table inet services {
    chain prerouting {
        type nat hook prerouting priority dstnat;
        ip daddr 10.96.0.10 tcp dport 80 dnat ip to 10.10.0.2:8080
        ip daddr 10.96.0.10 tcp dport 81 dnat ip to 172.18.0.4:8080
        ip daddr 10.96.0.10 tcp dport 82 dnat ip to 172.18.2.6:8080
        ip daddr 10.96.0.10 tcp dport 83 dnat ip to 192.0.2.1:8080
        ip daddr 10.96.0.10 udp dport 84 dnat ip to 192.0.2.1:9
        ip6 daddr fd00:96::10 tcp dport 80 dnat ip6 to [fd00:10::2]:8080
        ip6 daddr fd00:96::10 tcp dport 81 dnat ip6 to [fd00:18::4]:8080
        ip6 daddr fd00:96::10 tcp dport 82 dnat ip6 to [fd00:18:0:2::6]:8080
        ip6 daddr fd00:96::10 tcp dport 83 dnat ip6 to [2001:db8::1]:8080
        ip6 daddr fd00:96::10 udp dport 84 dnat ip6 to [2001:db8::1]:9
    }
    chain postrouting {
        type nat hook postrouting priority srcnat;
        ip saddr 169.254.0.253 masquerade
        ip6 saddr fc01::aabb:ccdd:eeff masquerade
    }
}`;

let ovs: TestSwitch;
let node: UnderlayNode;

const space = (name: Name): Namespace => node.space(name);

beforeAll(async () => {
    ovs = await TestSwitch.start([
        ...pipelineFlows(exampleBridgingNode()).flows,
        ...Object.values(underlayPods).flatMap(({ pod }) => podFlows(pod).flows),
        ...vlanFlows(exampleVlan(0, 3, 4)).flows,
        ...vlanFlows(exampleVlan(2, 5, 6)).flows,
    ]);
    node = await UnderlayNode.start(ovs, rules);
});

afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await ovs[Symbol.asyncDispose]();
});

describe.each([4, 6] as const)("IPv%d", (family) => {
    const address = { ...underlayAddresses[family], service: services[family] };
    /** How many routers the answer to a ping has passed. */
    async function hops(from: Name, to: Name): Promise<number> {
        const output = await space(from).exec("ping", "-c", "1", "-w", "30", address[to]);
        return 64 - Number(/ttl=(\d+)/.exec(output)?.[1]);
    }

    it.each<[from: Name, to: Name, hops: number]>([
        ["p", "q", 0],
        ["p", "host", 0],
        ["p", "a", 1],
        ["p", "r", 1],
        ["p", "outside", 0],
        ["r", "s", 0],
        ["r", "p", 1],
        ["r", "host", 1],
        ["r", "a", 2],
        ["r", "outside", 0],
        ["a", "p", 1],
        ["a", "r", 2],
        ["a", "host", 0],
        ["a", "outside", 1],
        ["host", "a", 0],
        ["host", "p", 0],
        ["host", "r", 1],
        ["host", "outside", 0],
        ["outside", "a", 1],
        ["outside", "p", 0],
        ["outside", "r", 0],
        ["outside", "host", 0],
    ])("%s reaches %s, whose answer comes over %d routers", async (from, to, expected) => {
        expect(await hops(from, to)).toBe(expected);
    });

    it.each<[from: Name, to: Name]>([
        ["p", "outside"],
        ["r", "outside"],
        ["outside", "r"],
        ["p", "r"],
        ["p", "a"],
        ["r", "a"],
        ["host", "p"],
        ["host", "outside"],
    ])("a TCP stream from %s to %s", async (from, to) => {
        const talk = await space(from).start(client, address[to], "8080");
        expect(await talk.send("x300000")).toMatch(/ 300000$/);
    });

    it.each<[from: Name, to: keyof typeof endpoint, seen: keyof typeof address]>([
        ["p", "a", "gateway"],
        ["p", "p", "host"],
        ["p", "r", "host"],
        ["p", "outside", "host"],
        ["r", "a", "gateway"],
        ["r", "p", "host"],
        ["r", "r", "host"],
        ["r", "outside", "host"],
        ["a", "p", "a"],
        ["a", "r", "a"],
    ])("%s reaches a Service with the endpoint %s, which sees the %s", async (from, to, seen) => {
        const talk = await space(from).start(client, address.service, endpoint[to]);
        expect(await talk.send("x100000")).toBe(`${address[seen]} 100000`);
    });

    it.each<Name>(["p", "r"])("%s hears that a Service's endpoint refuses", async (from) => {
        const datagram = `
            const socket = require("node:dgram").createSocket(process.argv[1].includes(":") ? "udp6" : "udp4");
            socket.on("error", (error) => { console.log(error.code); process.exit(); });
            socket.connect(84, process.argv[1], () => { console.log("ready"); socket.send("hello"); });
            setTimeout(() => console.log("nothing"), 5000);`;
        const talk = await space(from).start(datagram, address.service);
        expect(await talk.line()).toBe("ECONNREFUSED");
    });

    it("carries fragments", async () => {
        expect(await space("p").pings(address.r, "-s", "4000")).toBe(true);
        expect(await space("r").pings(address.a, "-s", "4000")).toBe(true);
        expect(await space("host").pings(address.p, "-s", "4000")).toBe(true);
    });

    it("keeps connections when tracking is lost", async () => {
        const direct = await space("r").start(client, address.outside, "8080");
        const besides = await space("p").start(client, address.a, "8080");
        const translated = await space("r").start(client, address.service, endpoint.a);
        const talks = [direct, besides, translated];
        for (const talk of talks) await talk.send("1");
        await ovs.ovs.appctl("dpctl/flush-conntrack");
        for (const talk of talks) expect(await talk.send("22")).toMatch(/ 2$/);
    });

    it("keeps connections when tracking is lost and the server speaks first", async () => {
        const outbound = await space("r").start(client, address.outside, "8080");
        const inbound = await space("outside").start(client, address.p, "8080");
        for (const talk of [outbound, inbound]) await talk.send("1");
        await ovs.ovs.appctl("dpctl/flush-conntrack");
        for (const name of ["outside", "p"] as const) await node.say(name, "news");
        for (const talk of [outbound, inbound])
            expect([await talk.line(), await talk.send("22")]).toEqual(["news", expect.stringMatching(/ 2$/)]);
    });

    it("carries two connections of one port to one Service", async () => {
        const local = `
            const net = require("node:net");
            const [host, port, localPort] = process.argv.slice(1);
            const socket = net.connect({ host, port: Number(port), localPort: Number(localPort) }, () => console.log("connected"));
            socket.on("data", (data) => process.stdout.write(data)).on("error", (error) => console.log(error.message));
            process.stdin.on("data", (data) => socket.write(data));`;
        const talks = [
            await space("p").start(local, address.service, endpoint.outside, "45454"),
            await space("r").start(local, address.service, endpoint.outside, "45454"),
        ];
        for (const talk of talks) expect(await talk.send("hello")).toBe(`${address.host} 5`);
    });
});
