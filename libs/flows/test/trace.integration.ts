import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { OfPort } from "../src/index.ts";
import {
    exampleNode,
    examplePeer,
    examplePod,
    exampleTunnelNode,
    pipelineFlows,
    podFlows,
    tunnelPeerFlows,
} from "./examples.ts";
import { arp, nd, v4, v6 } from "./packets.ts";
import { TestSwitch } from "./switch.ts";
import { answer, checkRow, fresh, known, type Row } from "./trace-row.ts";

// Pods a and b of this Node; c is a Pod whose address is of a podCIDR that the Node no longer has.
const port = { a: 32784, b: 32785, c: 32786, gw: OfPort.gateway, stranger: 7 };
const mac = { gw: "0e:00:00:00:00:01", a: "0a:00:00:00:00:02", b: "0a:00:00:00:00:03", c: "0a:00:00:00:00:04" };
const ip = { gw: "10.10.0.1", a: "10.10.0.2", b: "10.10.0.3", c: "10.77.0.4", peer: "10.10.1.5", outside: "192.0.2.1" };
const ip6 = { gw: "fd00:10::1", a: "fd00:10::2", b: "fd00:10::3", peer: "fd00:10:0:1::5", outside: "2001:db8::1" };
const linkLocal = { gw: "fe80::c00:ff:fe00:1", a: "fe80::800:ff:fe00:2", b: "fe80::800:ff:fe00:3" };

// A TCP segment that begins no connection.
const ack = "tcp,tcp_flags=ack";
const ack6 = "tcp6,tcp_flags=ack";

type Host = keyof typeof mac;
const from = (host: keyof typeof port, source: Host = host as Host): string =>
    `in_port=${port[host]},dl_src=${mac[source]}`;

let ovs: TestSwitch;

beforeAll(async () => {
    const c = { ...examplePod(3, [4]), ips: [parseIp(ip.c)], foreignSubnet: true };
    ovs = await TestSwitch.start([
        ...pipelineFlows(exampleNode()).flows,
        ...podFlows(examplePod(1)).flows,
        ...podFlows(examplePod(2)).flows,
        ...podFlows(c).flows,
    ]);
    for (const [name, ofport] of Object.entries(port)) await ovs.addPort(name, ofport);
});
afterAll(() => ovs[Symbol.asyncDispose]());

const check = (row: Row): Promise<void> => checkRow(ovs, row);

describe("IPv4", () => {
    const commit = (mark: string): string => `ct(commit,zone=65520,mark=${mark}`;
    it.each<Row>([
        ["Pod to Pod beside it", v4(from("a"), mac.b, ip.a, ip.b), fresh, "b", commit("0x3/0xf")],
        ["answer to it", v4(from("b"), mac.a, ip.b, ip.a), answer, "a"],
        ["Pod to the gateway", v4(from("a"), mac.gw, ip.a, ip.gw), fresh, "gw", commit("0x3/0xf")],
        ["gateway to Pod", v4(from("gw"), mac.a, ip.gw, ip.a), fresh, "a", commit("0x2/0xf")],
        ["forwarded by the gateway to a Pod", v4(from("gw"), mac.a, ip.outside, ip.a), fresh, "a"],
        ["translated by the host, from a Pod beside", v4(from("gw"), mac.b, ip.a, ip.b), fresh, "b", commit("0x2/0xf")],
        ["gateway with a stale neighbour entry", v4(from("gw"), mac.b, ip.gw, ip.a), fresh, "a", mac.a],
        ["Pod to a Pod of another Node", v4(from("a"), mac.gw, ip.a, ip.peer), fresh, "gw"],
        ["the same with a wrong neighbour entry", v4(from("a"), mac.b, ip.a, ip.peer), fresh, "gw", mac.gw],
        ["Pod to outside", v4(from("a"), mac.gw, ip.a, ip.outside), fresh, "gw"],
        ["established to outside: nothing is changed", v4(from("a"), mac.gw, ip.a, ip.outside), known, "gw"],
        ["a Pod as router", v4(from("a"), mac.b, ip.a, ip.outside), fresh, "gw", mac.gw],
        ["Pod to no Pod of this Node", v4(from("a"), mac.gw, ip.a, "10.10.0.99"), fresh, "drop"],
        ["Pod to a Pod outside its subnet: routed", v4(from("a"), mac.gw, ip.a, ip.c), fresh, "c", "ttl=63"],
        ["and back", v4(from("c"), mac.gw, ip.c, ip.a), answer, "a", "ttl=63"],
        ["gateway to its own address", v4(from("gw"), mac.gw, ip.gw, ip.gw), fresh, "drop"],
        ["gateway to nobody", v4(from("gw"), mac.b, ip.gw, ip.outside), fresh, "drop"],
        ["broadcast", v4(from("a"), "ff:ff:ff:ff:ff:ff", ip.a, "255.255.255.255", "udp,udp_dst=67"), fresh, "drop"],
        ["subnet broadcast", v4(from("a"), "ff:ff:ff:ff:ff:ff", ip.a, "10.10.0.255", "udp"), fresh, "drop"],
        ["multicast", v4(from("a"), "01:00:5e:00:00:fb", ip.a, "224.0.0.251", "udp"), fresh, "drop"],
        ["invalid", v4(from("a"), mac.b, ip.a, ip.b), ["trk,inv"], "drop"],
        ["a protocol that is not tracked", v4(from("a"), mac.b, ip.a, ip.b, "ip,nw_proto=47"), ["trk,inv"], "b"],
        ["related ICMP error", v4(from("b"), mac.a, ip.b, ip.a, "icmp,icmp_type=3"), ["trk,rel,rpl"], "a"],
        ["ICMP redirect", v4(from("gw"), mac.a, ip.gw, ip.a, "icmp,icmp_type=5"), ["trk,rel"], "drop"],
        ["later fragment", v4(from("a"), mac.b, ip.a, ip.b, "udp,ip_frag=later"), known, "b"],
        [
            "midst of an unknown TCP connection",
            v4(from("b"), mac.a, ip.b, ip.a, "tcp,tcp_flags=ack"),
            fresh,
            "gw",
            commit("0x103/0x10f"),
        ],
        [
            "the same from the gateway",
            v4(from("gw"), mac.a, ip.b, ip.a, "tcp,tcp_flags=ack"),
            fresh,
            "a",
            commit("0x2/0xf"),
        ],
        ["midst, to the outside", v4(from("a"), mac.gw, ip.a, ip.outside, ack), fresh, "gw", commit("0x103/0x10f")],
        ["midst, to no Pod of this Node", v4(from("a"), mac.gw, ip.a, "10.10.0.99", ack), fresh, "drop"],
        ["midst, to a group of stations", v4(from("a"), "01:00:5e:00:00:fb", ip.a, "224.0.0.251", ack), fresh, "drop"],
        ["another's address", v4(from("a"), mac.b, ip.b, ip.b), fresh, "drop"],
        ["no one's address", v4(from("a"), mac.b, "10.10.0.9", ip.b), fresh, "drop"],
        ["another's MAC", v4(from("a", "b"), mac.b, ip.a, ip.b), fresh, "drop"],
        ["another's port", v4(from("b", "a"), mac.gw, ip.a, ip.gw), fresh, "drop"],
        ["the gateway's address", v4(from("a"), mac.b, ip.gw, ip.b), fresh, "drop"],
        ["the gateway's port with another MAC", v4(from("gw", "a"), mac.b, ip.a, ip.b), fresh, "drop"],
        ["an unknown port", v4(from("stranger", "a"), mac.b, ip.a, ip.b), fresh, "drop"],
        ["a tagged frame", `${v4(from("a"), mac.b, ip.a, ip.b)},dl_vlan=5`, fresh, "drop"],
    ])("%s", (...row) => check(row));
});

describe("IPv6", () => {
    it.each<Row>([
        ["Pod to Pod beside it", v6(from("a"), mac.b, ip6.a, ip6.b), fresh, "b", "zone=65510,mark=0x3/0xf"],
        ["Pod to the gateway", v6(from("a"), mac.gw, ip6.a, ip6.gw), fresh, "gw"],
        ["gateway to Pod", v6(from("gw"), mac.a, ip6.gw, ip6.a), fresh, "a", "mark=0x2/0xf"],
        ["Pod to a Pod of another Node", v6(from("a"), mac.gw, ip6.a, ip6.peer), fresh, "gw"],
        ["Pod to outside", v6(from("a"), mac.gw, ip6.a, ip6.outside), fresh, "gw"],
        ["Pod to no Pod of this Node", v6(from("a"), mac.gw, ip6.a, "fd00:10::99"), fresh, "drop"],
        [
            "midst of an unknown TCP connection",
            v6(from("b"), mac.a, ip6.b, ip6.a, "tcp6,tcp_flags=ack"),
            fresh,
            "gw",
            "mark=0x103/0x10f",
        ],
        ["midst, to no Pod of this Node", v6(from("a"), mac.gw, ip6.a, "fd00:10::99", ack6), fresh, "drop"],
        ["link-local, Pod to the gateway", v6(from("a"), mac.gw, linkLocal.a, linkLocal.gw), fresh, "gw"],
        ["link-local, gateway to Pod", v6(from("gw"), mac.a, linkLocal.gw, linkLocal.a), fresh, "a"],
        ["link-local, Pod to Pod", v6(from("a"), mac.b, linkLocal.a, linkLocal.b), fresh, "drop"],
        ["the gateway's link-local address from a Pod", v6(from("a"), mac.gw, linkLocal.gw, ip6.gw), fresh, "drop"],
        ["another's address", v6(from("a"), mac.b, ip6.b, ip6.b), fresh, "drop"],
        ["the unspecified address outside neighbour discovery", v6(from("a"), mac.b, "::", ip6.b), fresh, "drop"],
        ["invalid", v6(from("a"), mac.b, ip6.a, ip6.b, "icmp6,icmpv6_type=128"), ["trk,inv"], "drop"],
        ["multicast", v6(from("a"), "33:33:00:00:00:fb", ip6.a, "ff02::fb", "udp6"), fresh, "drop"],
        [
            "multicast listener report",
            v6(from("a"), "33:33:00:00:00:16", "::", "ff02::16", "icmp6,icmpv6_type=143"),
            fresh,
            "drop",
        ],
        ["multicast from the gateway", v6(from("gw"), "33:33:00:00:00:fb", ip6.gw, "ff02::fb", "udp6"), fresh, "drop"],
        ["packet too big, related", v6(from("gw"), mac.a, ip6.gw, ip6.a, "icmp6,icmpv6_type=2"), ["trk,rel"], "a"],
    ])("%s", (...row) => check(row));
});

describe("ARP", () => {
    it.each<Row>([
        ["Pod asks for the gateway", arp(from("a"), 1, ip.a, mac.a, ip.gw), [], "a", `sha=${mac.gw}`],
        [
            "Pod asks for a Pod beside it",
            arp(from("a"), 1, ip.a, mac.a, ip.b),
            [],
            "a",
            `sip=${ip.b},tip=${ip.a},op=2,sha=${mac.b},tha=${mac.a}`,
        ],
        ["the answer's frame", arp(from("a"), 1, ip.a, mac.a, ip.b), [], "a", `src=${mac.b},dst=${mac.a}`],
        ["gateway asks for a Pod", arp(from("gw"), 1, ip.gw, mac.gw, ip.a), [], "gw", `sha=${mac.a}`],
        ["Pod asks for nobody", arp(from("a"), 1, ip.a, mac.a, "10.10.0.99"), [], "drop"],
        ["gateway asks for nobody", arp(from("gw"), 1, ip.gw, mac.gw, "10.10.0.99"), [], "drop"],
        ["Pod announces itself", arp(from("a"), 1, ip.a, mac.a, ip.a), [], "drop"],
        ["Pod answers", arp(from("a"), 2, ip.a, mac.a, ip.gw), [], "drop"],
        ["Pod claims another's address", arp(from("a"), 1, ip.b, mac.a, ip.gw), [], "drop"],
        ["Pod claims another's MAC", arp(from("a"), 1, ip.a, mac.b, ip.gw), [], "drop"],
        ["Pod uses another's MAC in the frame", arp(from("a", "b"), 1, ip.a, mac.a, ip.gw), [], "drop"],
        ["another port", arp(from("b", "a"), 1, ip.a, mac.a, ip.gw), [], "drop"],
        ["gateway with another address", arp(from("gw"), 1, "192.0.2.9", mac.gw, ip.a), [], "drop"],
        ["an unknown port", arp(from("stranger", "a"), 1, ip.a, mac.a, ip.gw), [], "drop"],
        [
            "a Pod of a foreign subnet asks for its router",
            arp(from("c"), 1, ip.c, mac.c, "10.77.0.1"),
            [],
            "c",
            `sip=10.77.0.1,tip=${ip.c},op=2,sha=${mac.gw},tha=${mac.c}`,
        ],
        ["it asks for a Pod of this Node", arp(from("c"), 1, ip.c, mac.c, ip.a), [], "c", `sha=${mac.a}`],
        ["it announces itself", arp(from("c"), 1, ip.c, mac.c, ip.c), [], "drop"],
        ["it claims another's address", arp(from("c"), 1, "10.77.0.5", mac.c, "10.77.0.1"), [], "drop"],
    ])("%s", (...row) => check(row));
});

describe("neighbour discovery", () => {
    const sll = (host: Host): string => `,nd_sll=${mac[host]}`;
    const tll = (host: Host): string => `,nd_tll=${mac[host]}`;
    const group = (last: string): string => `ff02::1:ff00:${last}`;
    it.each<Row>([
        ["Pod asks for the gateway", nd(from("a"), 135, ip6.a, group("1"), ip6.gw, sll("a")), [], "gw"],
        [
            "Pod asks for the gateway's link-local address",
            nd(from("a"), 135, linkLocal.a, group("1"), linkLocal.gw, sll("a")),
            [],
            "gw",
        ],
        ["Pod asks for a Pod beside it", nd(from("a"), 135, ip6.a, group("3"), ip6.b, sll("a")), [], "b"],
        ["gateway asks for a Pod", nd(from("gw"), 135, ip6.gw, group("2"), ip6.a, sll("gw")), [], "a"],
        [
            "gateway asks for a Pod's link-local address",
            nd(from("gw"), 135, linkLocal.gw, group("2"), linkLocal.a, sll("gw")),
            [],
            "a",
        ],
        ["probe without option", nd(from("a"), 135, linkLocal.a, ip6.gw, ip6.gw, "", mac.gw), [], "gw"],
        ["Pod asks for nobody", nd(from("a"), 135, ip6.a, group("99"), "fd00:10::99", sll("a")), [], "drop"],
        ["is my address free", nd(from("a"), 135, "::", group("2"), ip6.a), [], "drop"],
        ["is another's address free", nd(from("a"), 135, "::", group("3"), ip6.b), [], "b"],
        ["Pod answers the gateway", nd(from("a"), 136, ip6.a, ip6.gw, ip6.a, tll("a"), mac.gw), [], "gw"],
        ["Pod answers a Pod beside it", nd(from("b"), 136, ip6.b, ip6.a, ip6.b, tll("b"), mac.a), [], "a"],
        ["gateway answers", nd(from("gw"), 136, ip6.gw, ip6.a, ip6.gw, tll("gw"), mac.a), [], "a"],
        ["Pod announces itself", nd(from("a"), 136, ip6.a, "ff02::1", ip6.a, tll("a")), [], "gw"],
        ["gateway announces itself", nd(from("gw"), 136, ip6.gw, "ff02::1", ip6.gw, tll("gw")), [], "drop"],
        ["Pod answers for another", nd(from("a"), 136, ip6.a, ip6.gw, ip6.b, tll("a"), mac.gw), [], "drop"],
        ["Pod answers with another's MAC", nd(from("a"), 136, ip6.a, ip6.gw, ip6.a, tll("b"), mac.gw), [], "drop"],
        [
            "Pod answers for the gateway's link-local address",
            nd(from("a"), 136, linkLocal.a, linkLocal.b, linkLocal.gw, tll("a"), mac.b),
            [],
            "drop",
        ],
        ["Pod asks with another's MAC", nd(from("a"), 135, ip6.a, group("1"), ip6.gw, sll("b")), [], "drop"],
        ["Pod asks from another's address", nd(from("a"), 135, ip6.b, group("1"), ip6.gw, sll("a")), [], "drop"],
        ["gateway with another's MAC", nd(from("gw"), 135, ip6.gw, group("2"), ip6.a, sll("b")), [], "drop"],
        ["Pod asks for routers", nd(from("a"), 133, linkLocal.a, "ff02::2", ""), [], "gw"],
        ["Pod poses as a router", nd(from("a"), 134, linkLocal.a, "ff02::1", ""), [], "drop"],
        ["router advertisement of the host", nd(from("gw"), 134, linkLocal.gw, "ff02::1", ""), [], "drop"],
        [
            "an advertisement with a code",
            `${from("a")},dl_dst=${mac.gw},icmp6,icmpv6_type=136,icmpv6_code=1,ipv6_src=${ip6.a},ipv6_dst=${ip6.gw}`,
            [],
            "drop",
        ],
        ["redirect", nd(from("gw"), 137, linkLocal.gw, ip6.a, "", "", mac.a), [], "drop"],
    ])("%s", (...row) => check(row));
});

describe("tunnels", () => {
    // The tunnel's port is an ordinary one here: what is in the outer header is OVS's own work.
    const virtual = "aa:bb:cc:dd:ee:ff";
    const fromTunnel = `in_port=${OfPort.tunnel},dl_src=0e:00:00:00:00:99`;

    beforeAll(async () => {
        await ovs.addFlows([...pipelineFlows(exampleTunnelNode()).flows, ...tunnelPeerFlows(examplePeer()).flows]);
        await ovs.addPort("tun", OfPort.tunnel);
    });

    const ttl = (packet: string, value: number): string => packet.replace("nw_ttl=64", `nw_ttl=${value}`);
    const toPeer = v4(from("a"), mac.gw, ip.a, ip.peer);
    const fromPeer = v4(fromTunnel, virtual, ip.peer, ip.a);
    const syn = "tcp,tp_dst=80,tcp_flags=syn";
    it.each<Row>([
        ["Pod to a peer's Pod: routed", toPeer, fresh, "tun", `src=${mac.gw},dst=${virtual}`],
        ["and counted once", toPeer, fresh, "tun", "ttl=63"],
        ["established: the same", toPeer, known, "tun", "ttl=63"],
        ["IPv6", v6(from("a"), mac.gw, ip6.a, ip6.peer), fresh, "tun", "hlimit=63"],
        ["with a wrong neighbour entry", v4(from("a"), mac.b, ip.a, ip.peer), fresh, "tun"],
        ["the host to a peer's Pod", v4(from("gw"), virtual, ip.gw, ip.peer), fresh, "tun", "mark=0x2/0xf"],
        ["what the host forwards is counted by it", v4(from("gw"), virtual, ip.a, ip.peer), fresh, "tun"],
        ["a peer's Pod to a Pod: routed", fromPeer, fresh, "a", `src=${mac.gw},dst=${mac.a}`],
        ["known as of the tunnel, counted once", fromPeer, fresh, "a", "ttl=63"],
        ["committed as of the tunnel", fromPeer, fresh, "a", "mark=0x1/0xf"],
        ["IPv6 from the tunnel", v6(fromTunnel, virtual, ip6.peer, ip6.a), fresh, "a", "hlimit=63"],
        ["a peer's Pod to the gateway", v4(fromTunnel, virtual, ip.peer, ip.gw), fresh, "gw", `dst=${mac.gw}`],
        ["answer of a Pod to a peer's Pod", v4(from("a"), mac.gw, ip.a, ip.peer, "tcp"), answer, "tun"],
        [
            "last hop but one: the host informs the sender",
            ttl(v4(from("a"), mac.b, ip.a, ip.peer), 1),
            fresh,
            "gw",
            `dst=${mac.gw}`,
        ],
        ["last hop at the receiver", ttl(fromPeer, 1), fresh, "gw"],
        ["IPv6, last hop", ttl(v6(from("a"), mac.gw, ip6.a, ip6.peer), 1), fresh, "gw"],
        ["two hops are enough to leave", ttl(toPeer, 2), fresh, "tun", "ttl=1"],
        ["one hop from the host itself leaves", ttl(v4(from("gw"), virtual, ip.gw, ip.peer), 1), fresh, "tun"],
        ["beside each other no hop is counted", ttl(v4(from("a"), mac.b, ip.a, ip.b), 1), fresh, "b"],
        ["a peer's Pod to nobody here", v4(fromTunnel, virtual, ip.peer, "10.10.0.99"), fresh, "drop"],
        ["nor the midst of a connection", v4(fromTunnel, virtual, ip.peer, "10.10.0.99", ack), fresh, "drop"],
        ["no route to other Nodes", v4(fromTunnel, virtual, ip.peer, "10.10.1.9"), fresh, "drop"],
        ["no way to the outside", v4(fromTunnel, virtual, ip.peer, ip.outside), fresh, "drop"],
        ["nor for the midst of one", v4(fromTunnel, virtual, ip.peer, "10.10.1.9", ack), fresh, "drop"],
        ["nor to the outside", v4(fromTunnel, virtual, ip.peer, ip.outside, ack), fresh, "drop"],
        ["IPv6, nobody here", v6(fromTunnel, virtual, ip6.peer, "fd00:10::99", ack6), fresh, "drop"],
        ["IPv6, outside", v6(fromTunnel, virtual, ip6.peer, ip6.outside, ack6), fresh, "drop"],
        ["a source of this Node is false", v4(fromTunnel, virtual, ip.b, ip.a), fresh, "drop"],
        ["ARP", arp(fromTunnel, 1, ip.peer, mac.gw, ip.a), [], "drop"],
        ["neighbour discovery", nd(fromTunnel, 135, ip6.peer, "ff02::1:ff00:2", ip6.a), [], "drop"],
        ["a link-local source", v6(fromTunnel, virtual, "fe80::9", ip6.a), fresh, "drop"],
        ["IPv6 multicast", v6(fromTunnel, "33:33:00:00:00:01", ip6.peer, "ff02::1"), fresh, "drop"],
        ["ICMP redirect", v4(fromTunnel, virtual, ip.peer, ip.a, "icmp,icmp_type=5"), ["trk,rel"], "drop"],
        [
            "midst of an unknown TCP connection: by the host",
            v4(fromTunnel, virtual, ip.peer, ip.a, "tcp,tcp_flags=ack"),
            fresh,
            "gw",
            "mark=0x101/0x10f",
        ],
        [
            "midst of an unknown connection to a peer's Pod: by the host",
            v4(from("a"), mac.gw, ip.a, ip.peer, ack),
            fresh,
            "gw",
            "mark=0x103/0x10f",
        ],
        [
            "a Pod of a foreign subnet: by the host, which gives it another address",
            v4(from("c"), mac.gw, ip.c, ip.peer),
            fresh,
            "gw",
        ],
        ["and to a Pod beside it as ever", v4(from("c"), mac.gw, ip.c, ip.a), fresh, "a"],
        ["outside, still by the gateway", v4(from("a"), mac.gw, ip.a, ip.outside, syn), fresh, "gw"],
    ])("%s", (...row) => check(row));

    it("leaves the hop of what passes the host to the host", async () => {
        const { outputs, actions } = await ovs.trace(v4(fromTunnel, virtual, ip.peer, ip.a, ack), fresh);
        expect(outputs).toEqual(["gw"]);
        expect(actions).not.toContain("ttl");
    });
});

describe("on a datapath that keeps its connections", () => {
    beforeAll(async () => {
        await ovs.ovs.ofctl("del-flows", ovs.bridge);
        const pipeline = pipelineFlows({ ...exampleTunnelNode(), forgetsConnections: false });
        const pods = [1, 2].map((index) => podFlows(examplePod(index)));
        await ovs.addFlows([pipeline, ...pods, tunnelPeerFlows(examplePeer())].flatMap((set) => set.flows));
    });

    const fromTunnel = `in_port=${OfPort.tunnel},dl_src=0e:00:00:00:00:99`;
    it.each<Row>([
        ["no segment takes the way by the host", v4(from("b"), mac.a, ip.b, ip.a, ack), fresh, "a", "mark=0x3/0xf"],
        ["nor from another Node", v4(fromTunnel, mac.gw, ip.peer, ip.a, ack), fresh, "a", "mark=0x1/0xf"],
        ["nor to one", v6(from("a"), mac.gw, ip6.a, ip6.peer, ack6), fresh, "tun"],
    ])("%s", (...row) => check(row));
});
