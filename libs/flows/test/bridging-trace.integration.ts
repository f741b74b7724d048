import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type PodInput, type VlanInput } from "../src/index.ts";
import {
    exampleBridgedPeer,
    exampleBridgedPod,
    exampleBridgingNode,
    examplePod,
    exampleVlan,
    bridgedPeerFlows,
    pipelineFlows,
    podFlows,
    vlanFlows,
} from "./examples.ts";
import { arp, nd, v4, v6 } from "./packets.ts";
import { TestSwitch } from "./switch.ts";
import { answer, checkRow, fresh, known, type Row } from "./trace-row.ts";

// a is a Pod of the Node's subnet; p and q are bridged in VLAN 0, r and s in VLAN 2, t is in VLAN 3.
const port = { uplink: 32770, host: 32771, gw: 32769, a: 32784, p: 32786, q: 32787, r: 32788, s: 32789, t: 32790 };
const mac = {
    gw: "0e:00:00:00:00:01",
    host: "52:54:00:00:00:01",
    peer: "52:54:00:00:00:02",
    router: "52:54:00:00:00:fe",
    a: "0a:00:00:00:00:02",
    p: "0a:00:00:00:00:04",
    q: "0a:00:00:00:00:05",
    r: "0a:00:00:00:00:06",
    s: "0a:00:00:00:00:07",
    t: "0a:00:00:00:00:08",
    all: "ff:ff:ff:ff:ff:ff",
};
const ip = {
    gw: "10.10.0.1",
    a: "10.10.0.2",
    peer: "10.10.1.5",
    host: "172.18.0.100",
    router: "172.18.0.254",
    p: "172.18.0.4",
    q: "172.18.0.5",
    r: "172.18.2.6",
    s: "172.18.2.7",
    t: "172.18.3.8",
    outside: "192.0.2.1",
    service: "10.96.0.10",
    virtual: "169.254.0.253",
};
const ip6 = {
    gw: "fd00:10::1",
    a: "fd00:10::2",
    peer: "fd00:10:0:1::5",
    host: "fd00:18::100",
    router: "fd00:18::fe",
    p: "fd00:18::4",
    q: "fd00:18::5",
    r: "fd00:18:0:2::6",
    s: "fd00:18:0:2::7",
    t: "fd00:18:0:3::8",
    outside: "2001:db8::1",
    service: "fd00:96::10",
    virtual: "fc01::aabb:ccdd:eeff",
};
const linkLocal = {
    p: "fe80::800:ff:fe00:4",
    q: "fe80::800:ff:fe00:5",
    r: "fe80::800:ff:fe00:6",
    router: "fe80::1",
    gw: "fe80::c00:ff:fe00:1",
};

type Station = keyof typeof mac;
const from = (name: keyof typeof port, source?: Station): string =>
    `in_port=${port[name]},dl_src=${mac[source ?? (name === "uplink" ? "router" : name)]}`;
const inVlan = (vlan: number, packet: string): string => `${packet},dl_vlan=${vlan}`;
const ttl = (packet: string, value: number): string => packet.replace("nw_ttl=64", `nw_ttl=${value}`);

const pods: readonly PodInput[] = [
    examplePod(1),
    ...[3, 4].map((index) => exampleBridgedPod(index, 0)),
    ...[5, 6].map((index) => exampleBridgedPod(index, 2)),
    exampleBridgedPod(7, 3),
];
const vlans: readonly VlanInput[] = [exampleVlan(0, 3, 4), exampleVlan(2, 5, 6), exampleVlan(3, 7)];

let ovs: TestSwitch;

beforeAll(async () => {
    ovs = await TestSwitch.start([
        ...pipelineFlows(exampleBridgingNode()).flows,
        ...pods.flatMap((pod) => podFlows(pod).flows),
        ...vlans.flatMap((vlan) => vlanFlows(vlan).flows),
        ...bridgedPeerFlows(exampleBridgedPeer()).flows,
    ]);
    for (const [name, ofport] of Object.entries(port)) await ovs.addPort(name, ofport);
});
afterAll(() => ovs[Symbol.asyncDispose]());

const check = (row: Row): Promise<void> => checkRow(ovs, row, "frames");

describe("between uplink and host port everything passes", () => {
    it.each<Row>([
        ["IPv4 to the host", v4(from("uplink"), mac.host, ip.outside, ip.host), [], "host"],
        ["IPv4 of the host", v4(from("host"), mac.router, ip.host, ip.outside), [], "uplink"],
        ["IPv6", v6(from("uplink"), mac.host, ip6.outside, ip6.host), [], "host"],
        [
            "to a Pod's address by the host's MAC: the host routes",
            v4(from("uplink"), mac.host, ip.peer, ip.p),
            [],
            "host",
        ],
        ["to nobody known", v4(from("uplink"), "52:54:00:00:00:77", ip.outside, ip.p), [], "host"],
        ["multicast", v4(from("uplink"), "01:00:5e:00:00:fb", ip.router, "224.0.0.251", "udp"), [], "host"],
        ["broadcast", v4(from("host"), mac.all, ip.host, "172.18.0.255", "udp"), [], "uplink"],
        ["IPv6 multicast", v6(from("uplink"), "33:33:00:00:00:fb", ip6.router, "ff02::fb", "udp6"), [], "host"],
        ["router advertisements", nd(from("uplink"), 134, linkLocal.router, "ff02::1", ""), [], "host"],
        ["router solicitations", nd(from("host"), 133, "fe80::2", "ff02::2", ""), [], "uplink"],
        ["LLDP", `${from("uplink")},dl_dst=01:80:c2:00:00:0e,dl_type=0x88cc`, [], "host"],
        ["a VLAN without Pods", inVlan(7, v4(from("uplink"), mac.p, ip.outside, ip.p)), [], "host@7"],
        ["a VLAN without Pods, broadcast", inVlan(7, arp(from("host"), 1, ip.host, mac.host, ip.p)), [], "uplink@7"],
        ["a VLAN with Pods", inVlan(2, v4(from("uplink"), mac.host, ip.outside, ip.host)), [], "host@2"],
        [
            "a VLAN with Pods, from the host",
            inVlan(2, v4(from("host"), mac.router, ip.host, ip.outside)),
            [],
            "uplink@2",
        ],
        ["a tag without a VLAN", inVlan(0, v4(from("uplink"), mac.host, ip.outside, ip.host)), [], "host@0"],
        [
            "the priority of a tag stays",
            `${inVlan(2, v4(from("uplink"), mac.host, ip.outside, ip.host))},dl_vlan_pcp=5`,
            [],
            "host@2",
        ],
    ])("%s", (...row) => check(row));

    it("changes nothing in the frame", async () => {
        const packet = `${inVlan(2, v4(from("uplink"), mac.host, ip.outside, ip.host))},dl_vlan_pcp=5`;
        expect((await ovs.trace(packet)).actions).toMatch(/^host-\w+$/);
    });
});

describe.each([
    ["IPv4", v4, ip, (vlan: number) => 0x1000 + vlan, "ttl=63"],
    ["IPv6", v6, ip6, (vlan: number) => 0x3000 + vlan, "hlimit=63"],
] as const)("%s", (family, packet, at, zone, routed) => {
    const commit = (vlan: number, source: number): string => `ct(commit,zone=${zone(vlan)},mark=0x${source}/0xf)`;
    const ack = family === "IPv4" ? "tcp,tcp_flags=ack" : "tcp6,tcp_flags=ack";
    const fromP = (dst: string, to: string): string => packet(from("p"), to, at.p, dst);
    const fromR = (dst: string, to: string): string => packet(from("r"), to, at.r, dst);

    describe("from a bridged Pod of VLAN 0", () => {
        it.each<Row>([
            ["to the outside, as it wrote", fromP(at.outside, mac.router), fresh, "uplink", commit(0, 3)],
            ["established", fromP(at.outside, mac.router), known, "uplink"],
            ["an answer to the outside", fromP(at.outside, mac.router), answer, "uplink"],
            ["to a Pod of its VLAN here, as its neighbour", fromP(at.q, mac.q), fresh, "q", commit(0, 3)],
            ["to a Pod of its VLAN here, by the router", fromP(at.q, mac.router), fresh, "q", routed],
            ["with its own MAC as source", fromP(at.q, mac.router), fresh, "q", `set(eth(dst=${mac.q}))`],
            ["to a Pod of the Node's subnet", fromP(at.a, mac.router), fresh, "a", `src=${mac.gw},dst=${mac.a}`],
            ["one hop", fromP(at.a, mac.router), fresh, "a", routed],
            ["at the last hop: the Pod is reached", ttl(fromP(at.q, mac.router), 1), fresh, "q"],
            ["at the last hop to the subnet", ttl(fromP(at.a, mac.router), 1), fresh, "a"],
            ["to the Node", fromP(at.host, mac.host), fresh, "host", commit(0, 3)],
            ["to the Node by the router", fromP(at.host, mac.router), fresh, "host", mac.host],
            ["to the gateway's address: to the Node", fromP(at.gw, mac.router), fresh, "host", mac.host],
            ["by the Node as router", fromP(at.outside, mac.host), fresh, "host"],
            ["to a peer's Pods", fromP(at.peer, mac.router), fresh, "uplink", `dst=${mac.peer}`],
            ["to a peer's Pods: one hop", fromP(at.peer, mac.router), fresh, "uplink", routed],
            ["to a Pod of another VLAN here", fromP(at.r, mac.router), fresh, "uplink"],
            ["with that Pod's MAC", fromP(at.r, mac.r), fresh, "uplink"],
            ["to the gateway's MAC", fromP(at.outside, mac.gw), fresh, "uplink"],
            ["with the MAC of a Pod of the subnet", fromP(at.outside, mac.a), fresh, "uplink"],
            ["to no Pod of the Node's subnet", fromP(at.a.replace(/2$/, "99"), mac.router), fresh, "drop"],
            ["to itself", fromP(at.p, mac.router), fresh, "drop"],
            [
                "midst of an unknown connection to the subnet: by the host, which may translate it",
                packet(from("p"), mac.router, at.p, at.a, ack),
                fresh,
                "host",
                `ct(commit,zone=${zone(0)},mark=0x103/0x10f)`,
            ],
            [
                "midst of one to no Pod of the Node's subnet",
                packet(from("p"), mac.router, at.p, at.a.replace(/2$/, "99"), ack),
                fresh,
                "drop",
            ],
            [
                "midst of one to the gateway's address",
                packet(from("p"), mac.router, at.p, at.gw, ack),
                fresh,
                "host",
                mac.host,
            ],
            ["midst of one to a Pod of its VLAN", packet(from("p"), mac.router, at.p, at.q, ack), fresh, "q", routed],
            [
                "midst of an unknown connection to the outside",
                packet(from("p"), mac.router, at.p, at.outside, ack),
                fresh,
                "uplink",
                commit(0, 3),
            ],
            ["multicast frame", fromP(at.outside, "01:00:5e:00:00:fb"), fresh, "drop"],
            ["broadcast frame", fromP(at.a, mac.all), fresh, "drop"],
            ["invalid", fromP(at.outside, mac.router), ["trk,inv"], "drop"],
        ])("%s", (...row) => check(row));
    });

    describe("from a bridged Pod of VLAN 2", () => {
        it.each<Row>([
            ["to the outside", fromR(at.outside, mac.router), fresh, "uplink@2", commit(2, 3)],
            ["to a Pod of its VLAN here, as its neighbour", fromR(at.s, mac.s), fresh, "s", commit(2, 3)],
            ["to a Pod of its VLAN here, by the router", fromR(at.s, mac.router), fresh, "s", routed],
            ["to another VLAN here", fromR(at.t, mac.router), fresh, "uplink@2"],
            ["to another VLAN here with the Pod's MAC", fromR(at.t, mac.t), fresh, "uplink@2"],
            ["to VLAN 0 here", fromR(at.p, mac.router), fresh, "uplink@2"],
            ["to VLAN 0 with the Pod's MAC", fromR(at.p, mac.p), fresh, "uplink@2"],
            ["to a Pod of the Node's subnet", fromR(at.a, mac.router), fresh, "uplink@2"],
            ["to a Pod of the subnet with the gateway's MAC", fromR(at.a, mac.gw), fresh, "uplink@2"],
            ["to a Pod of the subnet with its MAC", fromR(at.a, mac.a), fresh, "uplink@2"],
            ["to a peer's Pods", fromR(at.peer, mac.router), fresh, "uplink@2"],
            ["to the Node by the router", fromR(at.host, mac.router), fresh, "uplink@2"],
            ["to the Node's interface in this VLAN", fromR(at.outside, mac.host), fresh, "host@2"],
            ["broadcast frame", fromR(at.a, mac.all), fresh, "drop"],
        ])("%s", (...row) => check(row));
    });

    describe("to a bridged Pod", () => {
        const toP = (start: string, src: string): string => packet(start, mac.p, src, at.p);
        const toR = (start: string, src: string): string => packet(start, mac.r, src, at.r);
        it.each<Row>([
            ["from the outside", toP(from("uplink"), at.outside), fresh, "p", commit(0, 4)],
            ["with a tag without a VLAN", inVlan(0, toP(from("uplink"), at.outside)), fresh, "p", commit(0, 4)],
            ["an answer from the outside", toP(from("uplink"), at.outside), answer, "p"],
            ["the hop is not counted", ttl(toP(from("uplink"), at.outside), 1), fresh, "p"],
            ["from the Node", toP(from("host"), at.host), fresh, "p", commit(0, 5)],
            ["from the outside, VLAN 2", inVlan(2, toR(from("uplink"), at.outside)), fresh, "r", commit(2, 4)],
            ["from the Node's interface in VLAN 2", inVlan(2, toR(from("host"), at.host)), fresh, "r", commit(2, 5)],
            ["VLAN 2 without its tag: nobody here", toR(from("uplink"), at.outside), [], "host"],
            ["VLAN 2 without its tag, from the Node", toR(from("host"), at.host), [], "uplink"],
            ["VLAN 0 with a tag: nobody here", inVlan(2, toP(from("uplink"), at.outside)), [], "host@2"],
            ["another Pod's VLAN", inVlan(3, toR(from("uplink"), at.outside)), [], "host@3"],
            ["from a Pod of the Node's subnet", packet(from("a"), mac.gw, at.a, at.p), fresh, "p", routed],
            [
                "as if the Node had routed it",
                packet(from("a"), mac.gw, at.a, at.p),
                fresh,
                "p",
                `src=${mac.host},dst=${mac.p}`,
            ],
            ["its answer to the subnet", packet(from("p"), mac.router, at.p, at.a), answer, "a"],
            ["from the subnet at its last hop", ttl(packet(from("a"), mac.gw, at.a, at.p), 1), fresh, "gw"],
            ["from the subnet to VLAN 2: by the host", packet(from("a"), mac.gw, at.a, at.r), fresh, "gw"],
            ["from the subnet with the Pod's MAC", packet(from("a"), mac.r, at.a, at.r), fresh, "gw"],
            ["other frames", `${from("uplink")},dl_dst=${mac.p},dl_type=0x88cc`, [], "drop"],
            ["invalid", toP(from("uplink"), at.outside), ["trk,inv"], "drop"],
        ])("%s", (...row) => check(row));
    });

    describe("Services", () => {
        const [snatZone, virtual] = family === "IPv4" ? [65521, ip.virtual] : [65511, ip6.virtual];
        const translation = `zone=${snatZone},mark=0/0xfff0000,nat(src=${virtual})`;
        const tagged = `zone=${snatZone},mark=0x20000/0xfff0000,nat(src=${virtual})`;
        const reply = packet(from("gw"), "aa:bb:cc:dd:ee:ff", at.service, virtual);
        it.each<Row>([
            ["from VLAN 0: by the host", fromP(at.service, mac.router), fresh, "gw", translation],
            ["also known here", fromP(at.service, mac.router), fresh, "gw", commit(0, 3)],
            ["the frame is for the gateway", fromP(at.service, mac.router), fresh, "gw", `dst=${mac.gw}`],
            ["from VLAN 2, without a tag", fromR(at.service, mac.router), fresh, "gw", tagged],
            ["established", fromR(at.service, mac.router), known, "gw", tagged],
            [
                "midst of an unknown connection",
                packet(from("r"), mac.router, at.r, at.service, ack),
                fresh,
                "gw",
                tagged,
            ],
            ["the hop is the host's to count", ttl(fromR(at.service, mac.router), 1), fresh, "gw"],
            ["an answer that nobody asked for", reply, fresh, "drop"],
            ["an answer from the wrong port", packet(from("uplink"), mac.p, at.service, virtual), fresh, "p"],
            ["from the subnet: no translation", packet(from("a"), mac.gw, at.a, at.service), fresh, "gw", commit(0, 3)],
        ])("%s", (...row) => check(row));

        it("looks up an answer in the zone of the translation", async () => {
            const { text } = await ovs.trace(reply, known);
            expect(text).toContain(`ct(zone=${snatZone},nat),recirc`);
        });
    });

    describe("what is not the Pod's own", () => {
        it.each<Row>([
            ["another Pod's address", packet(from("p"), mac.router, at.q, at.outside), fresh, "drop"],
            ["the Node's address", packet(from("p"), mac.router, at.host, at.outside), fresh, "drop"],
            ["no one's address", packet(from("r"), mac.router, at.router, at.outside), fresh, "drop"],
            ["another MAC", packet(from("p", "q"), mac.router, at.p, at.outside), fresh, "drop"],
            ["the Node's MAC", packet(from("p", "host"), mac.router, at.p, at.outside), fresh, "drop"],
            ["a tag", inVlan(2, fromP(at.outside, mac.router)), fresh, "drop"],
            ["a tag of another VLAN", inVlan(3, fromR(at.outside, mac.router)), fresh, "drop"],
            ["a tag of its own VLAN", inVlan(2, fromR(at.outside, mac.router)), fresh, "drop"],
            ["a Pod of the subnet with a tag", inVlan(2, packet(from("a"), mac.gw, at.a, at.outside)), fresh, "drop"],
            ["a Pod of the subnet with a bridged Pod's address", packet(from("a"), mac.gw, at.p, at.q), fresh, "drop"],
        ])("%s", (...row) => check(row));
    });

    describe("as before, beside bridged Pods", () => {
        it.each<Row>([
            ["Pod to the gateway", packet(from("a"), mac.gw, at.a, at.gw), fresh, "gw", commit(0, 3)],
            ["Pod to outside", packet(from("a"), mac.gw, at.a, at.outside), fresh, "gw"],
            ["Pod to a peer's Pod", packet(from("a"), mac.gw, at.a, at.peer), fresh, "gw"],
            ["gateway to Pod", packet(from("gw"), mac.a, at.gw, at.a), fresh, "a", commit(0, 2)],
            ["midst of an unknown connection", packet(from("a"), mac.gw, at.a, at.p, ack), fresh, "gw", "mark=0x103"],
            [
                "midst of one to no Pod of the subnet",
                packet(from("a"), mac.gw, at.a, at.a.replace(/2$/, "99"), ack),
                fresh,
                "drop",
            ],
        ])("%s", (...row) => check(row));
    });
});

describe("ICMP redirects", () => {
    it.each<Row>([
        [
            "from the outside to a bridged Pod",
            v4(from("uplink"), mac.p, ip.router, ip.p, "icmp,icmp_type=5"),
            [],
            "drop",
        ],
        ["from the Node", v4(from("host"), mac.p, ip.host, ip.p, "icmp,icmp_type=5"), [], "drop"],
        ["to the Node", v4(from("uplink"), mac.host, ip.router, ip.host, "icmp,icmp_type=5"), [], "host"],
        ["from a bridged Pod", v4(from("p"), mac.q, ip.p, ip.q, "icmp,icmp_type=5"), ["trk,rel"], "drop"],
        ["other errors", v4(from("uplink"), mac.p, ip.router, ip.p, "icmp,icmp_type=3"), ["trk,rel,rpl"], "p"],
    ])("%s", (...row) => check(row));
});

describe("ARP", () => {
    it.each<Row>([
        ["a bridged Pod asks: all of its VLAN", arp(from("p"), 1, ip.p, mac.p, ip.router), [], "host q uplink"],
        ["a bridged Pod of VLAN 2 asks", arp(from("r"), 1, ip.r, mac.r, "172.18.2.254"), [], "host@2 s uplink@2"],
        ["the only one of VLAN 3 asks", arp(from("t"), 1, ip.t, mac.t, "172.18.3.254"), [], "host@3 uplink@3"],
        ["for a Pod of its VLAN here", arp(from("p"), 1, ip.p, mac.p, ip.q), [], "q"],
        ["for a Pod of another VLAN", arp(from("p"), 1, ip.p, mac.p, ip.r), [], "host q uplink"],
        ["for a Pod of the subnet: no answer from here", arp(from("p"), 1, ip.p, mac.p, ip.a), [], "host q uplink"],
        ["the outside asks for a Pod", arp(from("uplink"), 1, ip.router, mac.router, ip.p), [], "p"],
        ["the Node asks for a Pod", arp(from("host"), 1, ip.host, mac.host, ip.q), [], "q"],
        [
            "the outside asks for a Pod in VLAN 2",
            inVlan(2, arp(from("uplink"), 1, ip.router, mac.router, ip.r)),
            [],
            "r",
        ],
        ["in the wrong VLAN", inVlan(3, arp(from("uplink"), 1, ip.router, mac.router, ip.r)), [], "host@3 t"],
        ["the outside asks for others", arp(from("uplink"), 1, ip.router, mac.router, ip.host), [], "host p q"],
        ["the Node asks for others", arp(from("host"), 1, ip.host, mac.host, ip.router), [], "p q uplink"],
        ["in VLAN 2", inVlan(2, arp(from("uplink"), 1, ip.router, mac.router, "172.18.2.9")), [], "host@2 r s"],
        ["an announcement from outside", arp(from("uplink"), 2, ip.router, mac.router, ip.router), [], "host p q"],
        ["a bridged Pod answers the router", arp(from("p"), 2, ip.p, mac.p, ip.router, mac.router), [], "uplink"],
        ["a bridged Pod answers the Node", arp(from("p"), 2, ip.p, mac.p, ip.host, mac.host), [], "host"],
        ["a bridged Pod answers a Pod", arp(from("r"), 2, ip.r, mac.r, ip.s, mac.s), [], "s"],
        ["a Pod of VLAN 2 answers the router", arp(from("r"), 2, ip.r, mac.r, ip.router, mac.router), [], "uplink@2"],
        ["a Pod of VLAN 2 answers the Node", arp(from("r"), 2, ip.r, mac.r, ip.host, mac.host), [], "host@2"],
        ["with the MAC of a Pod of another VLAN", arp(from("r"), 2, ip.r, mac.r, ip.p, mac.p), [], "uplink@2"],
        ["the router answers a Pod", arp(from("uplink"), 2, ip.router, mac.router, ip.p, mac.p), [], "p"],
        ["the Node answers a Pod", arp(from("host"), 2, ip.host, mac.host, ip.p, mac.p), [], "p"],
        ["in VLAN 2", inVlan(2, arp(from("uplink"), 2, ip.router, mac.router, ip.r, mac.r)), [], "r"],
        ["the router answers the Node", arp(from("uplink"), 2, ip.router, mac.router, ip.host, mac.host), [], "host"],
        ["a Pod announces itself by a question", arp(from("p"), 1, ip.p, mac.p, ip.p), [], "host q uplink"],
        ["a Pod announces itself by an answer", arp(from("r"), 2, ip.r, mac.r, ip.r), [], "host@2 s uplink@2"],
        ["another's address", arp(from("p"), 1, ip.q, mac.p, ip.router), [], "drop"],
        ["the Node's address", arp(from("p"), 2, ip.host, mac.p, ip.router, mac.router), [], "drop"],
        ["another's MAC", arp(from("p"), 1, ip.p, mac.q, ip.router), [], "drop"],
        ["another's MAC in the frame", arp(from("p", "q"), 1, ip.p, mac.p, ip.router), [], "drop"],
        ["another port", arp(from("q", "p"), 1, ip.p, mac.p, ip.router), [], "drop"],
        ["with a tag", inVlan(2, arp(from("r"), 1, ip.r, mac.r, ip.s)), [], "drop"],
        ["a Pod of the subnet asks for a bridged one", arp(from("a"), 1, ip.a, mac.a, ip.p), [], "drop"],
        ["a Pod of the subnet asks for the gateway", arp(from("a"), 1, ip.a, mac.a, ip.gw), [], "a"],
    ])("%s", (...row) => check(row));
});

describe("neighbour discovery", () => {
    const sll = (name: Station): string => `,nd_sll=${mac[name]}`;
    const tll = (name: Station): string => `,nd_tll=${mac[name]}`;
    const group = (last: string): string => `ff02::1:ff00:${last}`;
    const allNodes = "ff02::1";
    const router = linkLocal.router;
    const listens = (name: "p" | "r" | "a", src: string, type = 143): string =>
        v6(from(name), "33:33:00:00:00:16", src, "ff02::16", `icmp6,icmpv6_type=${type},icmpv6_code=0`);
    it.each<Row>([
        [
            "a bridged Pod asks: the trunks",
            nd(from("p"), 135, ip6.p, group("fe"), ip6.router, sll("p")),
            [],
            "host uplink",
        ],
        [
            "from its link-local address",
            nd(from("p"), 135, linkLocal.p, group("1"), router, sll("p")),
            [],
            "host uplink",
        ],
        ["in VLAN 2", nd(from("r"), 135, ip6.r, group("fe"), ip6.router, sll("r")), [], "host@2 uplink@2"],
        ["for a Pod of its VLAN here", nd(from("p"), 135, ip6.p, group("5"), ip6.q, sll("p")), [], "q"],
        ["for its link-local address", nd(from("p"), 135, ip6.p, group("5"), linkLocal.q, sll("p")), [], "q"],
        ["for a Pod of another VLAN", nd(from("p"), 135, ip6.p, group("6"), ip6.r, sll("p")), [], "host uplink"],
        ["is its own address free", nd(from("p"), 135, "::", group("4"), ip6.p), [], "host uplink"],
        ["is its own address free, VLAN 2", nd(from("r"), 135, "::", group("6"), ip6.r), [], "host@2 uplink@2"],
        ["is another's address free", nd(from("p"), 135, "::", group("5"), ip6.q), [], "q"],
        ["probe of the router", nd(from("p"), 135, ip6.p, ip6.router, ip6.router, "", mac.router), [], "uplink"],
        ["probe of the Node", nd(from("p"), 135, ip6.p, ip6.host, ip6.host, "", mac.host), [], "host"],
        ["the outside asks for a Pod", nd(from("uplink"), 135, router, group("4"), ip6.p, sll("router")), [], "p"],
        ["for its link-local address", nd(from("uplink"), 135, router, group("4"), linkLocal.p), [], "p"],
        ["in VLAN 2", inVlan(2, nd(from("uplink"), 135, router, group("6"), ip6.r)), [], "r"],
        ["in the wrong VLAN", inVlan(3, nd(from("uplink"), 135, router, group("6"), ip6.r)), [], "host@3"],
        ["the Node asks for a Pod", nd(from("host"), 135, ip6.host, group("5"), ip6.q), [], "q"],
        ["the outside asks for others", nd(from("uplink"), 135, router, group("9"), "fd00:18::9"), [], "host"],
        ["the Node asks for others", nd(from("host"), 135, ip6.host, group("9"), "fd00:18::9"), [], "uplink"],
        ["the router probes a Pod", nd(from("uplink"), 135, router, ip6.p, ip6.p, "", mac.p), [], "p"],
        ["a bridged Pod answers", nd(from("p"), 136, ip6.p, router, ip6.p, tll("p"), mac.router), [], "uplink"],
        ["a bridged Pod answers the Node", nd(from("p"), 136, ip6.p, ip6.host, ip6.p, tll("p"), mac.host), [], "host"],
        ["in VLAN 2", nd(from("r"), 136, ip6.r, router, ip6.r, tll("r"), mac.router), [], "uplink@2"],
        ["a bridged Pod answers a Pod", nd(from("p"), 136, ip6.p, ip6.q, ip6.p, tll("p"), mac.q), [], "q"],
        ["the router answers a Pod", nd(from("uplink"), 136, router, ip6.p, router, tll("router"), mac.p), [], "p"],
        ["in VLAN 2", inVlan(2, nd(from("uplink"), 136, router, ip6.r, router, tll("router"), mac.r)), [], "r"],
        ["a bridged Pod announces itself", nd(from("p"), 136, ip6.p, allNodes, ip6.p, tll("p")), [], "host q uplink"],
        ["in VLAN 2", nd(from("r"), 136, ip6.r, allNodes, ip6.r, tll("r")), [], "host@2 s uplink@2"],
        [
            "the outside announces itself",
            nd(from("uplink"), 136, router, allNodes, router, tll("router")),
            [],
            "host p q",
        ],
        ["in VLAN 2", inVlan(2, nd(from("uplink"), 136, router, allNodes, router)), [], "host@2 r s"],
        ["the Node announces itself", nd(from("host"), 136, ip6.host, allNodes, ip6.host), [], "p q uplink"],
        ["a router advertisement to a Pod", nd(from("uplink"), 134, router, linkLocal.p, "", "", mac.p), [], "drop"],
        ["a redirect to a Pod", nd(from("uplink"), 137, router, ip6.p, "", "", mac.p), [], "drop"],
        ["a router advertisement to all", inVlan(2, nd(from("uplink"), 134, router, allNodes, "")), [], "host@2"],
        ["a Pod asks for routers", nd(from("p"), 133, linkLocal.p, "ff02::2", ""), [], "drop"],
        ["a Pod poses as a router", nd(from("p"), 134, linkLocal.p, allNodes, ""), [], "drop"],
        ["a Pod redirects", nd(from("p"), 137, linkLocal.p, ip6.q, "", "", mac.q), [], "drop"],
        ["a Pod answers for another", nd(from("p"), 136, ip6.p, ip6.q, ip6.router, tll("p"), mac.q), [], "drop"],
        ["a Pod answers for the router", nd(from("p"), 136, ip6.p, ip6.q, router, tll("p"), mac.q), [], "drop"],
        ["a Pod announces the router's address", nd(from("p"), 136, ip6.p, allNodes, router, tll("p")), [], "drop"],
        ["a Pod asks as the router", nd(from("p"), 135, router, group("5"), ip6.q, sll("p")), [], "drop"],
        ["a Pod answers with another's MAC", nd(from("p"), 136, ip6.p, ip6.q, ip6.p, tll("r"), mac.q), [], "drop"],
        ["a Pod asks with another's MAC", nd(from("p"), 135, ip6.p, group("5"), ip6.q, sll("r")), [], "drop"],
        ["with a tag", inVlan(2, nd(from("r"), 135, ip6.r, group("7"), ip6.s, sll("r"))), [], "drop"],
        ["a Pod of the subnet announces itself", nd(from("a"), 136, ip6.a, allNodes, ip6.a, tll("a")), [], "gw"],
        [
            "a Pod of the subnet asks for a bridged one",
            nd(from("a"), 135, ip6.a, group("4"), ip6.p, sll("a")),
            [],
            "drop",
        ],
        ["a Pod reports what it listens to", listens("p", linkLocal.p), [], "uplink"],
        ["in VLAN 2", listens("r", linkLocal.r), [], "uplink@2"],
        ["as the first version of the protocol has it", listens("p", linkLocal.p, 131), [], "uplink"],
        ["as the router", listens("p", router), [], "drop"],
        ["a Pod of the subnet reports what it listens to", listens("a", "fe80::800:ff:fe00:2"), [], "drop"],
        ["a Pod asks who listens", listens("p", linkLocal.p, 130), [], "drop"],
        ["another multicast", v6(from("p"), "33:33:00:00:00:fb", linkLocal.p, "ff02::fb", "udp6"), [], "drop"],
    ])("%s", (...row) => check(row));

    it.each<Row>([
        ["to a Pod of the VLAN", v6(from("p"), mac.q, linkLocal.p, linkLocal.q), fresh, "q"],
        ["to the router", v6(from("p"), mac.router, linkLocal.p, router), fresh, "uplink"],
        ["from the router", v6(from("uplink"), mac.p, router, linkLocal.p), fresh, "p"],
        ["from the router's address", v6(from("p"), mac.q, router, linkLocal.q), fresh, "drop"],
        ["from the gateway's address", v6(from("p"), mac.q, linkLocal.gw, linkLocal.q), fresh, "drop"],
    ])("link-local: %s", (...row) => check(row));
});

describe("by what connection tracking remembers", () => {
    // The mark stands in the packet here; conntrack keeps it from the first packet on.
    const ofHost = (packet: string): string => `${packet},ct_mark=0x5`;
    it.each<Row>([
        ["an answer to what the host began", ofHost(v4(from("p"), mac.router, ip.p, ip.outside)), answer, "host"],
        ["its address for the host", ofHost(v4(from("p"), mac.router, ip.p, ip.outside)), answer, "host", mac.host],
        ["even to a Pod of the subnet", ofHost(v4(from("p"), mac.router, ip.p, ip.a)), answer, "host"],
        ["even to a Pod of its VLAN", ofHost(v6(from("p"), mac.q, ip6.p, ip6.q)), answer, "host"],
        ["what passes the host", `${v4(from("p"), mac.router, ip.p, ip.a)},ct_mark=0x103`, known, "host", mac.host],
        ["not in a VLAN", ofHost(v4(from("r"), mac.router, ip.r, ip.outside)), answer, "uplink@2"],
        ["not the first packet of another", ofHost(v4(from("p"), mac.router, ip.p, ip.outside)), fresh, "uplink"],
    ])("%s", (...row) => check(row));
});

describe("without Pods in the VLAN", () => {
    beforeAll(async () => {
        await ovs.ovs.ofctl("del-flows", ovs.bridge);
        await ovs.addFlows(pipelineFlows(exampleBridgingNode()).flows);
    });

    it.each<Row>([
        ["ARP from outside", arp(from("uplink"), 1, ip.router, mac.router, ip.p), [], "host"],
        ["ARP of the Node", arp(from("host"), 1, ip.host, mac.host, ip.p), [], "uplink"],
        ["to a Pod that is gone", v4(from("uplink"), mac.p, ip.outside, ip.p), [], "host"],
        ["neighbour advertisement", nd(from("uplink"), 136, ip6.router, "ff02::1", ip6.router), [], "host"],
        ["a tag", inVlan(2, arp(from("uplink"), 1, ip.router, mac.router, ip.r)), [], "host@2"],
        ["a port without flows", arp(from("p"), 1, ip.p, mac.p, ip.router), [], "drop"],
    ])("%s", (...row) => check(row));

    it.each<Row>([
        ["passes between uplink and host port", nd(from("uplink"), 136, ip6.router, "ff02::1", ip6.router), [], "host"],
        ["does not reach a Pod", v6(from("uplink"), mac.q, ip6.outside, ip6.q), [], "drop"],
        ["is not what a Pod speaks", v6(from("q"), mac.router, ip6.q, ip6.outside), fresh, "drop"],
    ])("a family that is not in use %s", async (...row) => {
        await ovs.ovs.ofctl("del-flows", ovs.bridge);
        const sets = [pipelineFlows(exampleBridgingNode([4])), podFlows(exampleBridgedPod(4, 0, [4]))];
        await ovs.addFlows([...sets, vlanFlows(exampleVlan(0, 4))].flatMap((set) => set.flows));
        await check(row);
    });

    it("a Pod that comes before its VLAN's flows asks its router with its tag", async () => {
        await ovs.addFlows(podFlows(exampleBridgedPod(5, 2)).flows);
        await check(["", arp(from("r"), 1, ip.r, mac.r, "172.18.2.254"), [], "host@2 uplink@2"]);
    });
});
