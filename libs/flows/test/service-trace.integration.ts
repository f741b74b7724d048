import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { type Endpoint } from "@antrea/services";
import { OfPort, type ServicePortFlows } from "../src/index.ts";
import { type ExampleNode } from "./examples.ts";
import { v4, v6 } from "./packets.ts";
import {
    addServicePorts,
    endpoint,
    mac,
    ofPort,
    portFlows,
    sentBy,
    servedPort,
    serviceNode,
    startServiceSwitch,
} from "./service-examples.ts";
import { type TestSwitch } from "./switch.ts";
import { answer, checkRow, fresh, known, type Row } from "./trace-row.ts";

const families = {
    4: {
        packet: v4,
        tcp: "tcp",
        udp: "udp",
        zones: ["zone=65520", "zone=65521"],
        orderZone: 65522,
        portZone: 65523,
        ip: {
            gw: "10.10.0.1",
            a: "10.10.0.2",
            b: "10.10.0.3",
            peer: "10.10.1.5",
            node: "172.18.0.100",
            other: "172.18.0.101",
        },
        bridged: { p: "172.18.0.4", q: "172.18.0.5", r: "172.18.2.6", s: "172.18.2.7" },
        outside: "192.0.2.1",
        virtual: "169.254.0.253",
        nodePorts: "169.254.0.252",
        service: (last: number) => `10.96.0.${last}`,
        source: (ip: string) => `nat(src=${ip}`,
        set: (ip: string) => `nat(dst=${ip}:8080)`,
    },
    6: {
        packet: v6,
        tcp: "tcp6",
        udp: "udp6",
        zones: ["zone=65510", "zone=65511"],
        orderZone: 65512,
        portZone: 65513,
        ip: {
            gw: "fd00:10::1",
            a: "fd00:10::2",
            b: "fd00:10::3",
            peer: "fd00:10:0:1::5",
            node: "fd00:18::100",
            other: "fd00:18::101",
        },
        bridged: { p: "fd00:18::4", q: "fd00:18::5", r: "fd00:18:0:2::6", s: "fd00:18:0:2::7" },
        outside: "2001:db8::1",
        virtual: "fc01::aabb:ccdd:eeff",
        nodePorts: "fc01::aabb:ccdd:eefe",
        service: (last: number) => `fd00:96::${last}`,
        source: (ip: string) => `nat(src=${ip}`,
        set: (ip: string) => `nat(dst=[${ip}]:8080)`,
    },
} as const;

/** New connection: the lookup, and that of the translated packet. */
const begun = [...fresh, ...fresh];

describe.each([4, 6] as const)("IPv%d", (family) => {
    const { packet, tcp, ip, bridged, outside, virtual, nodePorts, service, source } = families[family];
    const endpoints = { a: ip.a, b: ip.b, peer: ip.peer, node: ip.node, other: ip.other, q: bridged.q, s: bridged.s };
    const names = Object.keys(endpoints) as (keyof typeof endpoints)[];
    const vip = (name: keyof typeof endpoints): string => service(20 + names.indexOf(name));
    const syn = `${tcp},tp_src=40000,tp_dst=80,tcp_flags=syn`;
    const nodePort = (port: number): string => `${tcp},tp_src=40000,tp_dst=${port},tcp_flags=syn`;

    function services(node: ExampleNode): ServicePortFlows[] {
        const at = (text: string): Endpoint => endpoint(text);
        const local = { inside: "cluster", outside: "local" } as const;
        return [
            ...names.map((name, index) => portFlows(node, 1 + index, servedPort(vip(name), [at(endpoints[name])]))),
            portFlows(node, 20, servedPort(service(40), [])),
            portFlows(node, 21, servedPort(service(41), [at(ip.b), at(ip.peer)])),
            portFlows(node, 22, servedPort(service(42), [at(ip.b), at(ip.peer)]), { affinitySeconds: 100 }),
            portFlows(node, 23, {
                ...servedPort(service(43), [at(ip.peer)]),
                nodePort: { port: 30080, inside: "cluster", outside: "cluster" },
            }),
            portFlows(node, 24, {
                ...servedPort(service(44), [at(ip.peer)]),
                addresses: [{ kind: "loadBalancer", ip: parseIp(service(45)), ...local }],
                nodePort: { port: 30081, ...local },
            }),
            portFlows(node, 25, {
                ...servedPort(service(46), [at(ip.b)]),
                nodePort: { port: 30082, inside: "cluster", outside: "cluster" },
            }),
        ];
    }

    let ovs: TestSwitch;
    const check = (row: Row): Promise<void> => checkRow(ovs, row);
    const mark = "mark=0x13/0x1f";

    describe.each(["encap", "noEncap", "bridging"] as const)("%s", (mode) => {
        beforeAll(async () => {
            const node = serviceNode(mode, true);
            ovs = await startServiceSwitch(node, services(node));
            await addServicePorts(ovs, node);
        });
        afterAll(() => ovs[Symbol.asyncDispose]());

        const fromA = (to: string, rest = syn): string => packet(sentBy("a"), mac.gw, ip.a, to, rest);
        const fromHost = (to: string, rest = syn, src: string = ip.node): string =>
            packet(sentBy("gw"), mac.service, src, to, rest);
        const toPeer = mode === "encap" ? "tun" : "gw";

        it.each<Row>([
            ["Pod to a Pod beside it", fromA(vip("b")), begun, "b", `src=${mac.gw},dst=${mac.b}`],
            ["a second packet before the answer", `${fromA(ip.b)},ct_mark=0x13`, fresh, "b", mac.b],
            ["Pod to a Pod of another Node", fromA(vip("peer")), begun, toPeer],
            ["Pod to the host network", fromA(vip("node")), begun, "gw"],
            ["Pod to the host network of another Node", fromA(vip("other")), begun, "gw"],
            ["Pod to itself: the virtual source", fromA(vip("a")), begun, "a", source(virtual)],
            ["a group", `${fromA(service(41))},dp_hash=1`, begun, toPeer],
            ["affinity", fromA(service(42)), begun, family === 6 ? "b" : toPeer],
            ["no endpoint: to the agent", fromA(service(40)), fresh, "drop", "meter(0),userspace"],
            ["another port: the host", fromA(vip("b"), nodePort(81)), fresh, "gw"],
            ["the midst of a connection: the host", fromA(vip("b"), `${tcp},tp_dst=80,tcp_flags=ack`), fresh, "gw"],
            ["Pod to a NodePort of its Node", fromA(ip.node, nodePort(30082)), begun, "b"],
            ["Pod to a NodePort of another Node: the host", fromA(ip.other, nodePort(30082)), fresh, "gw"],
            ["policy Local, from a Pod", fromA(service(45)), begun, toPeer],
            ["policy Local, NodePort, from a Pod", fromA(ip.node, nodePort(30081)), begun, toPeer],
            ["the host to a Pod", fromHost(vip("b")), begun, "b", mac.b],
            ["outside to a Pod", fromHost(nodePorts, nodePort(30082), outside), begun, "b", mac.b],
            ["policy Local without a local endpoint, from outside", fromHost(service(45), syn, outside), fresh, "drop"],
            ["the same by NodePort", fromHost(nodePorts, nodePort(30081), outside), fresh, "drop"],
            ["policy Local, from the host", fromHost(service(45)), begun, toPeer],
            ["policy Local, NodePort, from the host", fromHost(nodePorts, nodePort(30081)), begun, toPeer],
            ["the host to itself: the virtual source", fromHost(vip("node")), begun, "gw", source(virtual)],
            ["outside to the host", fromHost(vip("node"), syn, outside), begun, "gw", source(virtual)],
            ["the host to another Node's host", fromHost(vip("other")), begun, "gw", source(virtual)],
            ["the host to no Service: rejected", fromHost(service(99)), fresh, "drop", "meter(0),userspace"],
            ["the host to no NodePort: rejected", fromHost(nodePorts, nodePort(30099)), fresh, "drop", "userspace"],
            [
                "the host in the midst of a connection: rejected",
                fromHost(vip("b"), `${tcp},tp_dst=80,tcp_flags=ack`),
                fresh,
                "drop",
                "userspace",
            ],
            [
                "a Pod in the midst of a connection, sent back by the host: rejected",
                `${fromHost(vip("b"), `${tcp},tp_dst=80,tcp_flags=ack`, ip.a)},ct_mark=0x103`,
                known,
                "drop",
                "userspace",
            ],
            [
                "a Pod's connection that the host translates: goes on",
                `${packet(sentBy("gw"), mac.b, ip.a, ip.b, `${tcp},tp_dst=8080,tcp_flags=ack`)},ct_mark=0x103`,
                known,
                "b",
            ],
            [
                "answer of a Pod to a Pod beside it: routed",
                `${packet(sentBy("b"), mac.a, ip.b, ip.a, tcp)},ct_mark=0x13`,
                answer,
                "a",
                `src=${mac.gw}`,
            ],
            [
                "answer of a Pod to the host",
                `${packet(sentBy("b"), mac.gw, ip.b, ip.node, tcp)},ct_mark=0x12`,
                answer,
                "gw",
            ],
            [
                "answer of a Pod to outside",
                `${packet(sentBy("b"), mac.gw, ip.b, outside, tcp)},ct_mark=0x12`,
                answer,
                "gw",
            ],
            [
                "answer of the host to a Pod",
                `${packet(sentBy("gw"), mac.a, ip.node, ip.a, tcp)},ct_mark=0x13`,
                answer,
                "a",
            ],
            [
                "answer of the host to outside",
                `${packet(sentBy("gw"), mac.service, ip.node, outside, tcp)},ct_mark=0x12`,
                answer,
                "gw",
            ],
            ["answer to itself", `${packet(sentBy("a"), mac.gw, ip.a, ip.a, tcp)},ct_mark=0x13`, answer, "a"],
            ["established: nothing is chosen", `${fromA(ip.b)},ct_mark=0x13`, known, "b"],
            [
                "established, to itself: the virtual source",
                `${packet(sentBy("a"), mac.gw, ip.a, ip.a, tcp)},ct_mark=0x13`,
                known,
                "a",
                source(virtual),
            ],
        ])("%s", (...row) => check(row));

        it.each<Row>([
            [
                "to the virtual source",
                packet(sentBy("a"), mac.gw, ip.a, virtual, tcp),
                [],
                "drop",
                families[family].zones[1],
            ],
            [
                "from the host to the virtual source",
                packet(sentBy("gw"), mac.service, ip.node, virtual, tcp),
                [],
                "drop",
                families[family].zones[1],
            ],
        ])("looks up in the zone of the source NAT first: %s", async (_name, ...[sent, , , zone = ""]) => {
            const { text } = await ovs.trace(sent, ["trk,est,rpl", "trk,est,rpl"]);
            const passes = [...text.matchAll(/^Datapath actions: (.*)$/gm)].map((found) => found[1] ?? "");
            expect(passes[0]).toContain(`${zone},nat`);
            expect(passes[1]).toContain(mode === "bridging" ? "zone=" : families[family].zones[0]);
        });

        it("fragments that begin a connection meet, and the first one brings its port", async () => {
            const { udp, portZone, orderZone } = families[family];
            const passes = async (which: string): Promise<readonly string[]> => {
                const { text } = await ovs.trace(fromA(vip("b"), `${udp},ip_frag=${which}`), [...begun, ...begun]);
                return [...text.matchAll(/^Datapath actions: (.*)$/gm)].map((found) => found[1] ?? "");
            };
            const [, meet = "", end] = await passes("later");
            expect(meet).toMatch(new RegExp(`^clone\\(ct\\(zone=${portZone}\\)\\),ct\\(zone=${orderZone}\\),recirc`));
            expect(end).toBe("drop");
            const [, wait = "", bring = "", again = ""] = await passes("first");
            expect(wait).toMatch(new RegExp(`^ct\\(zone=${orderZone}\\),recirc`));
            expect(bring).toMatch(new RegExp(`^ct\\(commit,zone=${portZone},mark=0(x0)?/0xffff\\),recirc`));
            expect(again).toMatch(/^ct\(zone=\d+,nat\),recirc/);
        });

        it("marks the connection", async () => {
            const { text } = await ovs.trace(fromA(vip("b")), begun);
            expect(text).toContain(mark);
        });
    });

    describe("encap, with tunnels", () => {
        beforeAll(async () => {
            const node = serviceNode("encap", true);
            ovs = await startServiceSwitch(node, services(node));
            await addServicePorts(ovs, node);
        });
        afterAll(() => ovs[Symbol.asyncDispose]());

        const ports = family === 4 ? `nat(src=${ip.gw}:1024-32767)` : `nat(src=[${ip.gw}]:1024-32767)`;
        const tunnel = `in_port=${OfPort.tunnel},dl_src=0e:00:00:00:00:99`;
        const virtualMac = "aa:bb:cc:dd:ee:ff";
        const toGateway = (rest: string): string => packet(tunnel, virtualMac, ip.peer, ip.gw, rest);
        const fromHost = (to: string, src: string, rest = syn): string =>
            packet(sentBy("gw"), mac.service, src, to, rest);

        it.each<Row>([
            ["outside to a remote Pod", fromHost(nodePorts, outside, nodePort(30080)), begun, "tun", ports],
            ["the host to a remote Pod", fromHost(vip("peer"), ip.node), begun, "tun", ports],
            [
                "a Service's address from a tunnel is none",
                packet(tunnel, virtualMac, ip.peer, vip("b"), syn),
                fresh,
                "drop",
            ],
        ])("%s", (...row) => check(row));

        it("leaves the gateway's own address", async () => {
            const { outputs, actions } = await ovs.trace(fromHost(vip("peer"), ip.gw), begun);
            expect(outputs).toEqual(["tun"]);
            expect(actions).not.toContain("nat(src");
        });

        const icmp = family === 4 ? "icmp,icmp_type=" : "icmp6,icmpv6_type=";
        const [unreachable, echo] = family === 4 ? [3, 8] : [1, 128];
        it.each<[string, string, boolean]>([
            ["answers to a translated port", toGateway(`${tcp},tp_src=8080,tp_dst=2000,tcp_flags=syn|ack`), true],
            ["later fragments", toGateway(`${families[family].udp},ip_frag=later`), true],
            ["ICMP errors", toGateway(`${icmp}${unreachable}`), true],
            ["pings", toGateway(`${icmp}${echo}`), false],
            ["the host's own ports", toGateway(`${tcp},tp_src=8080,tp_dst=40000,tcp_flags=syn|ack`), false],
        ])("from a tunnel to the gateway, the zone of the source NAT is for %s", async (_name, sent, first) => {
            const { text } = await ovs.trace(sent, ["trk,new", "trk,new"]);
            expect(/^Datapath actions: (.*)$/m.exec(text)?.[1]).toContain(families[family].zones[first ? 1 : 0]);
            expect((await ovs.trace(sent, ["trk,new", "trk,new"])).outputs).toEqual(["gw"]);
        });

        it("brings the translated answer to the host", async () => {
            const sent = `${packet(tunnel, virtualMac, ip.peer, outside, tcp)},ct_mark=0x12`;
            expect((await ovs.trace(sent, answer)).outputs).toEqual(["gw"]);
        });
    });

    describe("without proxyAll", () => {
        beforeAll(async () => {
            const node = serviceNode("encap", false);
            ovs = await startServiceSwitch(node, services(node));
            await addServicePorts(ovs, node);
        });
        afterAll(() => ovs[Symbol.asyncDispose]());

        const fromA = (to: string, rest = syn): string => packet(sentBy("a"), mac.gw, ip.a, to, rest);
        it.each<Row>([
            ["Pod to a Pod beside it", fromA(vip("b")), begun, "b"],
            ["Pod to itself", fromA(vip("a")), begun, "a", source(virtual)],
            ["policy Local", fromA(service(45)), begun, "tun"],
            ["a NodePort: the host", fromA(ip.node, nodePort(30082)), fresh, "gw"],
            [
                "the host's own packets are for the host",
                packet(sentBy("gw"), mac.b, ip.gw, vip("b"), syn),
                fresh,
                "drop",
            ],
            [
                "translated by the host, as ever",
                packet(sentBy("gw"), mac.b, ip.a, ip.b, syn),
                fresh,
                "b",
                "mark=0x2/0xf",
            ],
        ])("%s", (...row) => check(row));
    });

    describe("bridged Pods", () => {
        beforeAll(async () => {
            const node = serviceNode("bridging", true);
            ovs = await startServiceSwitch(node, services(node));
            await addServicePorts(ovs, node);
        });
        afterAll(() => ovs[Symbol.asyncDispose]());

        const frames = (row: Row): Promise<void> => checkRow(ovs, row, "frames");
        const out = (pod: "p" | "r", to: string, rest = syn): string =>
            packet(sentBy(pod), mac.router, bridged[pod], to, rest);
        const zone = (vlan: number): string => `zone=${(family === 4 ? 0x1000 : 0x3000) + vlan}`;
        const fromHost = (to: string, rest = syn): string => packet(sentBy("gw"), mac.service, outside, to, rest);
        it.each<Row>([
            ["to a Pod of the VLAN", out("p", vip("q")), begun, "q", mac.q],
            ["to a Pod of the tagged VLAN", out("r", vip("s")), begun, "s", mac.s],
            ["to a Pod of another VLAN: by the router", out("p", vip("s")), begun, "uplink"],
            ["from the tagged VLAN to another: by the router", out("r", vip("q")), begun, "uplink@2"],
            ["to a Pod of the podCIDR: routed", out("p", vip("b")), begun, "b", `src=${mac.gw},dst=${mac.b}`],
            ["from the tagged VLAN to the podCIDR: by the router", out("r", vip("b")), begun, "uplink@2"],
            ["to the host", out("p", vip("node")), begun, "host", mac.host],
            ["from the tagged VLAN to the host: by the router", out("r", vip("node")), begun, "uplink@2"],
            ["to another Node", out("p", vip("other")), begun, "uplink"],
            ["no endpoint", out("r", service(40)), fresh, "drop", "userspace"],
            ["to a Service that kube-proxy serves", out("r", service(99)), fresh, "gw", source(virtual)],
            ["to a NodePort", packet(sentBy("p"), mac.host, bridged.p, ip.node, nodePort(30082)), begun, "b"],
            [
                "Pod of the podCIDR to one of VLAN 0",
                packet(sentBy("a"), mac.gw, ip.a, vip("q"), syn),
                begun,
                "q",
                mac.q,
            ],
            ["outside to a Pod of VLAN 0", fromHost(vip("q")), begun, "q", mac.q],
            ["outside to a tagged Pod: the virtual source", fromHost(vip("s")), begun, "s", source(virtual)],
            [
                "answer of a bridged Pod to outside: by the host",
                `${packet(sentBy("q"), mac.router, bridged.q, outside, tcp)},ct_mark=0x12`,
                answer,
                "gw",
                mac.gw,
            ],
            [
                "answer to a bridged Pod from the uplink",
                `in_port=${ofPort.uplink},dl_src=${mac.router},dl_dst=${mac.p},${tcp},` +
                    `${family === 4 ? "nw" : "ipv6"}_src=${ip.peer},${family === 4 ? "nw" : "ipv6"}_dst=${bridged.p},nw_ttl=64,ct_mark=0x13`,
                answer,
                "p",
            ],
        ])("%s", (...row) => frames(row));

        it("are translated in the zone of their VLAN", async () => {
            expect((await ovs.trace(out("p", vip("q")), begun)).text).toContain(`ct(commit,${zone(0)},`);
            expect((await ovs.trace(out("r", vip("s")), begun)).text).toContain(`ct(commit,${zone(2)},`);
        });
    });
});
