import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { bridgedPeerFlows, type ServicePortFlows } from "../src/index.ts";
import { exampleBridgedPeer, pipelineOf } from "./examples.ts";
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

// Every client by every kind of address to every kind of endpoint. Pods a and b are of the Node's podCIDR, p and q in VLAN
// 0, r and s in VLAN 2; the endpoints that end in 55 are Pods of another Node in these VLANs.
const node = serviceNode("bridging", true);
const peer = { ...exampleBridgedPeer(), ips: ["172.18.0.101", "fd00:18::101"].map(parseIp) };

const families = {
    4: {
        packet: v4,
        tcp: "tcp",
        zones: { 0: "zone=4096", 2: "zone=4098", snat: "zone=65521" },
        ip: {
            a: "10.10.0.2",
            b: "10.10.0.3",
            p: "172.18.0.4",
            q: "172.18.0.5",
            r: "172.18.2.6",
            s: "172.18.2.7",
            peer: "10.10.1.5",
            far: "172.18.0.55",
            farTagged: "172.18.2.55",
            node: "172.18.0.100",
            other: "172.18.0.101",
            outside: "192.0.2.1",
        },
        virtual: "169.254.0.253",
        nodePorts: "169.254.0.252",
        net: "10.96.0.",
        external: "203.0.113.",
    },
    6: {
        packet: v6,
        tcp: "tcp6",
        zones: { 0: "zone=12288", 2: "zone=12290", snat: "zone=65511" },
        ip: {
            a: "fd00:10::2",
            b: "fd00:10::3",
            p: "fd00:18::4",
            q: "fd00:18::5",
            r: "fd00:18:0:2::6",
            s: "fd00:18:0:2::7",
            peer: "fd00:10:0:1::5",
            far: "fd00:18::55",
            farTagged: "fd00:18:0:2::55",
            node: "fd00:18::100",
            other: "fd00:18::101",
            outside: "2001:db8::1",
        },
        virtual: "fc01::aabb:ccdd:eeff",
        nodePorts: "fc01::aabb:ccdd:eefe",
        net: "fd00:96::",
        external: "2001:db8:1::",
    },
} as const;

const clients = ["a", "p", "r", "node", "outside"] as const;
type Client = (typeof clients)[number];
const endpoints = ["b", "q", "s", "peer", "far", "farTagged", "node", "other"] as const;
type End = (typeof endpoints)[number];

/** Where the first packet of a connection leaves, by client and endpoint: the port, the VLAN of its frame. */
const ways: Readonly<Record<Client, Readonly<Record<End, string>>>> = {
    a: { b: "b", q: "q", s: "gw", peer: "gw", far: "gw", farTagged: "gw", node: "gw", other: "gw" },
    p: {
        b: "b",
        q: "q",
        s: "uplink",
        peer: "uplink",
        far: "uplink",
        farTagged: "uplink",
        node: "host",
        other: "uplink",
    },
    r: {
        b: "uplink@2",
        q: "uplink@2",
        s: "s",
        peer: "uplink@2",
        far: "uplink@2",
        farTagged: "uplink@2",
        node: "uplink@2",
        other: "uplink@2",
    },
    node: { b: "b", q: "q", s: "s", peer: "gw", far: "gw", farTagged: "gw", node: "gw", other: "gw" },
    outside: { b: "b", q: "q", s: "s", peer: "gw", far: "gw", farTagged: "gw", node: "gw", other: "gw" },
};

/**
 * The same for the addresses in VLAN 0 that p does not send to by its router: frames to the Node's MAC address, which must
 * not go on to an endpoint for which p would address the router.
 */
const waysOnLink = { ...ways.p, s: "gw", far: "gw", farTagged: "gw" };

/** The endpoint sees another address than the client's. */
const isHidden = (client: Client, way: string): boolean =>
    client === "node" || client === "outside" ? way !== "b" && way !== "q" : client === "p" && way === "gw";

let ovs: TestSwitch;

beforeAll(async () => {
    ovs = await startServiceSwitch(node, [...services(4), ...services(6)]);
    await ovs.addFlows(bridgedPeerFlows(pipelineOf(node), peer).flows);
    await addServicePorts(ovs, node);
});
afterAll(() => ovs[Symbol.asyncDispose]());

function services(family: 4 | 6): ServicePortFlows[] {
    const { ip, net, external } = families[family];
    const scopes = { inside: "cluster", outside: "cluster" } as const;
    const first = family === 4 ? 1 : 101;
    const of = (name: End | "a" | "p" | "r"): ReturnType<typeof endpoint> => endpoint(ip[name]);
    return [
        ...endpoints.map((name, at) => {
            const port = servedPort(`${net}${10 + at}`, [of(name)]);
            return portFlows(node, first + at, {
                ...port,
                addresses: [
                    ...port.addresses,
                    { kind: "loadBalancer", ip: parseIp(`${external}${10 + at}`), ...scopes },
                    { kind: "external", ip: parseIp(`${external}${30 + at}`), ...scopes },
                ],
                nodePort: { port: 30_000 + at, ...scopes },
            });
        }),
        ...(["a", "p", "r"] as const).map((name, at) =>
            portFlows(node, first + 20 + at, servedPort(`${net}${50 + at}`, [of(name)])),
        ),
        portFlows(node, first + 30, servedPort(`${net}60`, [])),
        portFlows(node, first + 31, servedPort(`${net}61`, [of("q"), of("far")])),
        portFlows(node, first + 32, servedPort(`${net}62`, [of("q"), of("far")]), { affinitySeconds: 100 }),
        portFlows(node, first + 33, {
            ...servedPort(`${net}63`, [of("far")]),
            addresses: [{ kind: "loadBalancer", ip: parseIp(`${external}63`), inside: "cluster", outside: "local" }],
        }),
    ];
}

describe.each([4, 6] as const)("IPv%d", (family) => {
    const { packet, tcp, zones, ip, virtual, nodePorts, net, external } = families[family];
    const zoneOf = { a: zones[0], p: zones[0], r: zones[2], node: zones[0], outside: zones[0] } as const;
    const syn = (port: number): string => `${tcp},tp_src=40000,tp_dst=${port},tcp_flags=syn`;
    const ack = `${tcp},tp_src=40000,tp_dst=80,tcp_flags=ack`;
    const begun = [...fresh, ...fresh];
    const commitOnly = `ct(commit,${zones[0]},mark=0x3/0xf),uplink`;
    const frame = (client: Client, to: string, rest = syn(80)): string => {
        if (client === "node" || client === "outside") return packet(sentBy("gw"), mac.service, ip[client], to, rest);
        const gateway = client === "a" ? mac.gw : client === "p" && to === ip.node ? mac.host : mac.router;
        return packet(sentBy(client), gateway, ip[client], to, rest);
    };
    /** The destination before any translation: a trace does not take it from the packet. */
    const begunAt = (to: string, sent: string): string =>
        `${sent},ct_state=trk|new,${family === 4 ? "ct_nw_dst" : "ct_ipv6_dst"}=${to}`;
    const from = (sender: Parameters<typeof sentBy>[0], dstMac: string, to: string, mark: string): string =>
        `${packet(sentBy(sender), dstMac, ip[sender as "q"], to, tcp)},ct_mark=${mark}`;
    const check = (row: Row): Promise<void> => checkRow(ovs, row, "frames");

    describe.each(clients)("from %s", (client) => {
        const nodePort = client === "node" || client === "outside" ? nodePorts : ip.node;
        const addresses = [
            ["its ClusterIP", (at: number) => frame(client, `${net}${10 + at}`)],
            ["its address of a load balancer", (at: number) => frame(client, `${external}${10 + at}`)],
            ["its externalIP", (at: number) => frame(client, `${external}${30 + at}`)],
            ["its NodePort", (at: number) => begunAt(nodePort, frame(client, nodePort, syn(30_000 + at)))],
        ] as const;
        it.each(addresses.flatMap(([kind, to]) => endpoints.map((end, at) => [end, kind, to(at)] as const)))(
            "to %s by %s",
            async (end, kind, sent) => {
                const { frames, actions, text } = await ovs.trace(sent, begun);
                const way = (client === "p" && kind === "its NodePort" ? waysOnLink : ways[client])[end];
                expect(frames).toEqual([way]);
                expect(text).toContain(
                    `ct(commit,${zoneOf[client]},mark=0x1${client.length === 1 ? 3 : 2}/0x1f,nat(dst=`,
                );
                expect(actions.includes(`nat(src=${virtual}`)).toBe(isHidden(client, way));
            },
        );
    });

    it.each<Row>([
        [
            "p to a Pod of its VLAN: its MAC address, one hop",
            frame("p", `${net}11`),
            begun,
            "q",
            `set(eth(dst=${mac.q}))`,
        ],
        ["p to a Pod of the podCIDR: routed", frame("p", `${net}10`), begun, "b", `src=${mac.gw},dst=${mac.b}`],
        ["p to a neighbour's Pod: to its Node", frame("p", `${net}13`), begun, "uplink", `dst=${mac.peer}`],
        ["p to a neighbour itself: directly", frame("p", `${net}17`), begun, "uplink", `dst=${mac.peer}`],
        ["r to another Node: by the router", frame("r", `${net}17`), begun, "uplink@2"],
        ["p to that Node without a Service, as it wrote", frame("p", ip.other), fresh, "uplink", commitOnly],
        ["p to a Pod of its VLAN there: by the router", frame("p", `${net}14`), begun, "uplink"],
        [
            "a to a Pod of VLAN 0: as if the Node routed it",
            frame("a", `${net}11`),
            begun,
            "q",
            `src=${mac.host},dst=${mac.q}`,
        ],
        ["outside to a Pod of VLAN 0", frame("outside", `${net}11`), begun, "q", mac.q],
        ["a to itself", frame("a", `${net}50`), begun, "a", `${zones.snat},nat(src=${virtual})`],
        ["p to itself", frame("p", `${net}51`), begun, "p", `${zones.snat},mark=0/0xfff0000,nat(src=${virtual})`],
        ["r to itself", frame("r", `${net}52`), begun, "r", `${zones.snat},mark=0x20000/0xfff0000,nat(src=${virtual})`],
        ["p to one of two", `${frame("p", `${net}61`)},dp_hash=1`, begun, "uplink"],
        ["r with affinity", frame("r", `${net}62`), begun, "uplink@2"],
        ["p without endpoints: to the agent", frame("p", `${net}60`), fresh, "drop", "userspace"],
        ["r without endpoints: to the agent", frame("r", `${net}60`), fresh, "drop", "userspace"],
        ["outside, policy Local without a local endpoint", frame("outside", `${external}63`), fresh, "drop"],
        ["p, policy Local without a local endpoint", frame("p", `${external}63`), begun, "uplink"],
        ["p to another port of its Node", begunAt(ip.node, frame("p", ip.node, syn(30_099))), fresh, "host"],
        ["r to another NodePort: by the router", frame("r", ip.node, syn(30_099)), fresh, "uplink@2"],
        ["p to a NodePort of another Node: that Node's", frame("p", ip.other, syn(30_000)), fresh, "uplink"],
        [
            "p to an external address of no Service: the router",
            frame("p", `${external}99`),
            fresh,
            "uplink",
            commitOnly,
        ],
        ["p to an unknown ClusterIP: the host", frame("p", `${net}99`), fresh, "gw", `nat(src=${virtual})`],
        ["r to an unknown ClusterIP: the host", frame("r", `${net}99`), fresh, "gw", `nat(src=${virtual})`],
        ["p in the midst of a connection: the host", frame("p", `${net}10`, ack), fresh, "gw", `nat(src=${virtual})`],
        ["r in the midst of a connection: the host", frame("r", `${net}10`, ack), fresh, "gw", `nat(src=${virtual})`],
        ["p, established", `${frame("p", ip.q)},ct_mark=0x13`, known, "q"],
        ["r, established", `${frame("r", ip.q)},ct_mark=0x13`, known, "uplink@2"],
        ["p, a second packet before the answer", `${frame("p", ip.q)},ct_mark=0x13`, fresh, "q"],
        [
            "an answer of p to a connection that began at an address of its network: as any other",
            begunAt(ip.node, from("p", mac.q, ip.q, "0x13")),
            answer,
            "q",
        ],
        ["answer of a to p", from("b", mac.gw, ip.p, "0x13"), answer, "p", `src=${mac.host},dst=${mac.p}`],
        ["answer of q to p", from("q", mac.p, ip.p, "0x13"), answer, "p"],
        ["answer of q to a", from("q", mac.router, ip.a, "0x13"), answer, "a", `src=${mac.gw},dst=${mac.a}`],
        ["answer of q to the Node", from("q", mac.router, "GATEWAY", "0x12"), answer, "gw", mac.gw],
        ["answer of q to outside: by the host", from("q", mac.router, ip.outside, "0x12"), answer, "gw", mac.gw],
        ["answer of s to outside: by the host", from("s", mac.router, ip.outside, "0x12"), answer, "gw", mac.gw],
        ["answer to p itself", from("p", mac.router, ip.p, "0x13"), answer, "p"],
        ["answer to r itself", from("r", mac.router, ip.r, "0x13"), answer, "r"],
    ])("%s", (name, sent, ...row) =>
        check([name, sent.replace("GATEWAY", family === 4 ? "10.10.0.1" : "fd00:10::1"), ...row]),
    );

    it.each([
        ["p", 0, ""],
        ["r", 2, ",dl_vlan=2"],
    ] as const)("an answer from the underlay to %s is looked up in its VLAN", async (pod, vlan, tag) => {
        const sent = packet(`in_port=${ofPort.uplink},dl_src=${mac.router}`, mac[pod], ip.far, ip[pod], tcp);
        const { frames, text } = await ovs.trace(`${sent},ct_mark=0x13${tag}`, answer);
        expect(frames).toEqual([pod]);
        expect(text).toContain(`ct(${zones[vlan]},nat)`);
    });

    it.each([
        ["s", "0x12", 0],
        ["p", "0x13", 0],
        ["r", "0x20013", 2],
    ] as const)(
        "an answer of %s to the virtual source is looked up in the zone of who began",
        async (pod, mark, vlan) => {
            // the trace has one mark for both zones: that of the first names the VLAN of who began
            const { text } = await ovs.trace(from(pod, mac.router, virtual, mark), [...answer, ...answer]);
            const passes = [...text.matchAll(/^Datapath actions: (.*)$/gm)].map((found) => found[1] ?? "");
            expect(passes[0]).toContain(`ct(${zones.snat},nat)`);
            expect(passes[1]).toContain(`ct(${zones[vlan]},nat)`);
        },
    );

    it("what the underlay sends to a Service's address is nobody's", async () => {
        const sent = packet(`in_port=${ofPort.uplink},dl_src=${mac.router}`, mac.p, ip.outside, `${net}10`, syn(80));
        const { text } = await ovs.trace(sent, fresh);
        expect(text).not.toContain("nat(dst");
    });
});
