import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { parseIp, parseMac } from "@antrea/ip";
import { PrivateOvs } from "@antrea/openflow/testing";
import { OfPort, serviceSource } from "../src/index.ts";
import {
    exampleBridgedPod,
    exampleBridgingNode,
    examplePod,
    exampleVlan,
    gatewayMac,
    hostMac,
    pipelineFlows,
    podFlows,
    vlanFlows,
} from "./examples.ts";
import { Namespace, type Talk } from "./namespaces.ts";
import { client, server } from "./programs.ts";
import { TestSwitch } from "./switch.ts";

const run = promisify(execFile);

// A Node whose NIC is a port of its bridge: the NIC's cable ends in a switch with VLANs, where a router has a leg in
// VLAN 0 and one in VLAN 2, and is the outside too. a is a Pod of the Node's subnet; p and q are bridged in VLAN 0, r and
// s in VLAN 2. The host translates the addresses of a Service the way kube-proxy does.
const node = exampleBridgingNode();
const families = [4, 6] as const;
const pods = {
    a: { pod: examplePod(1), vlan: undefined },
    p: { pod: exampleBridgedPod(3, 0), vlan: 0 },
    q: { pod: exampleBridgedPod(4, 0), vlan: 0 },
    r: { pod: exampleBridgedPod(5, 2), vlan: 2 },
    s: { pod: exampleBridgedPod(6, 2), vlan: 2 },
} as const;
const legs = [
    { name: "eth0", vlan: 0, mac: parseMac("52:54:00:00:00:fe"), ips: ["172.18.0.254", "fd00:18::fe"] },
    { name: "eth2", vlan: 2, mac: parseMac("52:54:00:00:02:fe"), ips: ["172.18.2.254", "fd00:18:0:2::fe"] },
] as const;
const endpoint = { a: "80", p: "81", r: "82", outside: "83" };

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

type Name = keyof typeof pods | "host" | "outside";

const [nic, cable] = [PrivateOvs.deviceName("nic"), PrivateOvs.deviceName("cable")];
let ovs: TestSwitch;
const spaces = new Map<Name, Namespace>();
const servers = new Map<Name, Talk>();

const space = (name: Name): Namespace => {
    const found = spaces.get(name);
    if (found === undefined) throw new TypeError(`no namespace ${name}`);
    return found;
};

beforeAll(async () => {
    ovs = await TestSwitch.start([
        ...pipelineFlows(node).flows,
        ...Object.values(pods).flatMap(({ pod }) => podFlows(pod).flows),
        ...vlanFlows(exampleVlan(0, 3, 4)).flows,
        ...vlanFlows(exampleVlan(2, 5, 6)).flows,
    ]);
    for (const name of [...Object.keys(pods), "host", "outside"] as Name[]) spaces.set(name, await Namespace.create());
    await startUnderlay(space("outside"));
    await startHost(space("host"));
    for (const [name, { pod, vlan }] of Object.entries(pods)) {
        const inside = space(name as Name);
        await ovs.addPort("pod", pod.ofPort, await inside.addVeth(pod.mac));
        const routers = vlan === undefined ? node.gateway.ips : legs[vlan === 0 ? 0 : 1].ips.map(parseIp);
        await inside.configure(pod.ips, routers);
    }
    for (const [name, inside] of spaces) servers.set(name, await inside.start(server));
});

afterAll(async () => {
    for (const inside of spaces.values()) await inside[Symbol.asyncDispose]();
    await run("ip", ["link", "delete", nic]);
    await ovs[Symbol.asyncDispose]();
});

async function startUnderlay(router: Namespace): Promise<void> {
    const bridge = PrivateOvs.deviceName("phy");
    await ovs.ovs.addBridge(bridge, { failMode: "standalone" });
    await run("ip", ["link", "add", nic, "type", "veth", "peer", "name", cable]);
    for (const device of [nic, cable]) {
        await run("ip", ["link", "set", device, "up"]);
        await run("ethtool", ["-K", device, "tx", "off"]);
    }
    await ovs.addPort("uplink", OfPort.uplink, nic);
    await ovs.ovs.addPort(bridge, cable, { type: "" });
    for (const { name, vlan, mac, ips } of legs) {
        const leg = PrivateOvs.deviceName("leg");
        await ovs.ovs.addPort(bridge, leg);
        if (vlan !== 0) await ovs.ovs.vsctl("set", "port", leg, `tag=${vlan}`);
        await router.take(leg, mac, name);
        await router.configure(ips.map(parseIp), [], name);
    }
    await router.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
    await router.exec("ip", "address", "add", "192.0.2.1/32", "dev", "lo");
    await router.exec("ip", "address", "add", "2001:db8::1/128", "dev", "lo");
    await router.exec("ip", "route", "add", "10.10.0.0/24", "via", "172.18.0.100");
    await router.exec("ip", "route", "add", "fd00:10::/64", "via", "fd00:18::100");
}

async function startHost(host: Namespace): Promise<void> {
    await host.take(await ovs.addPort("gw", OfPort.gateway), gatewayMac, "gw0");
    await host.take(await ovs.addPort("host", OfPort.host), hostMac);
    await host.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
    await host.configure(node.gateway.ips, [], "gw0");
    await host.configure(node.bridging?.host.ips ?? [], legs[0].ips.map(parseIp));
    for (const { value, family } of families.map(serviceSource)) {
        const virtual = family === 4 ? "169.254.0.253" : "fc01::aabb:ccdd:eeff";
        expect(parseIp(virtual).value).toBe(value);
        await host.exec("ip", "route", "add", virtual, "dev", "gw0");
        await host.exec("ip", "neighbour", "add", virtual, "lladdr", "aa:bb:cc:dd:ee:ff", "dev", "gw0");
    }
    await host.exec("nft", rules);
}

describe.each([
    [
        "IPv4",
        {
            a: "10.10.0.2",
            p: "172.18.0.4",
            q: "172.18.0.5",
            r: "172.18.2.6",
            s: "172.18.2.7",
            host: "172.18.0.100",
            outside: "192.0.2.1",
            gateway: "10.10.0.1",
            service: "10.96.0.10",
        },
    ],
    [
        "IPv6",
        {
            a: "fd00:10::2",
            p: "fd00:18::4",
            q: "fd00:18::5",
            r: "fd00:18:0:2::6",
            s: "fd00:18:0:2::7",
            host: "fd00:18::100",
            outside: "2001:db8::1",
            gateway: "fd00:10::1",
            service: "fd00:96::10",
        },
    ],
] as const)("%s", (_family, address) => {
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
        for (const name of ["outside", "p"] as const) await servers.get(name)?.send("news");
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
