import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import type { ClientScopes, ServedAddress } from "@antrea/services";
import { type ServicePortFlows } from "../src/index.ts";
import { v4, v6 } from "./packets.ts";
import {
    addServicePorts,
    endpoint,
    mac,
    portFlows,
    sentBy,
    servedPort,
    serviceNode,
    startServiceSwitch,
} from "./service-examples.ts";
import { type TestSwitch } from "./switch.ts";
import { fresh } from "./trace-row.ts";

// Every client by every kind of address to every kind of endpoint, under each policy, where Nodes are not bridged (those are
// in bridging-services-trace.integration.ts). Of two other Nodes the one of `peer` has a tunnel in encap and hybrid, the one of
// `routed` has none: in hybrid it is on the subnet of this Node.
const families = {
    4: {
        packet: v4,
        tcp: "tcp",
        zone: "zone=65520",
        ip: {
            a: "10.10.0.2",
            b: "10.10.0.3",
            peer: "10.10.1.5",
            routed: "10.10.2.5",
            node: "172.18.0.100",
            other: "172.18.0.101",
            outside: "192.0.2.1",
        },
        gateway: "10.10.0.1:1024-32767",
        virtual: "169.254.0.253",
        nodePorts: "169.254.0.252",
        standIns: "169.254.0.",
        net: "10.96.0.",
        external: "203.0.113.",
    },
    6: {
        packet: v6,
        tcp: "tcp6",
        zone: "zone=65510",
        ip: {
            a: "fd00:10::2",
            b: "fd00:10::3",
            peer: "fd00:10:0:1::5",
            routed: "fd00:10:0:2::5",
            node: "fd00:18::100",
            other: "fd00:18::101",
            outside: "2001:db8::1",
        },
        gateway: "[fd00:10::1]:1024-32767",
        virtual: "fc01::aabb:ccdd:eeff",
        nodePorts: "fc01::aabb:ccdd:eefe",
        standIns: "fc01::aabb:ccde:",
        net: "fd00:96::",
        external: "2001:db8:1::",
    },
} as const;
type Family = keyof typeof families;

const clients = ["a", "node", "outside"] as const;
type Client = (typeof clients)[number];
const endpoints = ["a", "b", "peer", "routed", "node", "other"] as const;
type End = (typeof endpoints)[number];
/** Those of this Node. */
const here: readonly End[] = ["a", "b", "node"];
const kinds = ["ClusterIP", "address of a load balancer", "externalIP", "externalIP of the Node", "NodePort"] as const;
type Kind = (typeof kinds)[number];
const policies = ["Cluster", "Local"] as const;
type Policy = (typeof policies)[number];

const modes = ["encap", "noEncap", "hybrid"] as const;
type Mode = (typeof modes)[number];

/** The port by which a packet leaves to an endpoint. */
function portTo(end: End, mode: Mode): string {
    if (end === "a" || end === "b") return end;
    return end === "peer" && mode !== "noEncap" ? "tun" : "gw";
}

/** Whether clients get no endpoint under this policy: that of ClusterIPs is for all, that of the others for those outside. */
function isDropped(client: Client, end: End, kind: Kind, policy: Policy): boolean {
    return policy === "Local" && !here.includes(end) && (kind === "ClusterIP" || client === "outside");
}

/** In the place of whose address the endpoint sees another: none, the virtual source, or the gateway's at a port of its own. */
function sourceFor(client: Client, end: End, mode: Mode): "none" | "virtual" | "gateway" {
    if (client === "a") return end === "a" ? "virtual" : "none";
    const port = portTo(end, mode);
    return port === "tun" ? "gateway" : port === "gw" ? "virtual" : "none";
}

function services(family: Family, mode: Mode): ServicePortFlows[] {
    const { ip, net, external, standIns } = families[family];
    const node = serviceNode(mode, true);
    return policies.flatMap((policy, byPolicy) =>
        endpoints.map((end, index) => {
            const at = 10 + 20 * byPolicy + index;
            const local: ClientScopes =
                policy === "Local"
                    ? { inside: "cluster", outside: "local" }
                    : { inside: "cluster", outside: "cluster" };
            const all: ClientScopes = policy === "Local" ? { inside: "local", outside: "local" } : local;
            const own = `${external}${100 + at}`;
            const addresses: readonly ServedAddress[] = [
                { kind: "cluster", ip: parseIp(`${net}${at}`), ...all },
                { kind: "loadBalancer", ip: parseIp(`${external}${at}`), ...local },
                { kind: "external", ip: parseIp(`${external}${50 + at}`), ...local },
                { kind: "external", ip: parseIp(own), ...local },
            ];
            return portFlows(
                node,
                (family === 4 ? 0 : 100) + at,
                {
                    ...servedPort(`${net}${at}`, [endpoint(ip[end])]),
                    addresses,
                    nodePort: { port: 30_000 + at, ...local },
                },
                { standIns: new Map([[own, parseIp(`${standIns}${130 + at}`)]]) },
            );
        }),
    );
}

describe.each(modes)("%s", (mode) => {
    let ovs: TestSwitch;

    beforeAll(async () => {
        const node = serviceNode(mode, true);
        ovs = await startServiceSwitch(node, [...services(4, mode), ...services(6, mode)]);
        await addServicePorts(ovs, node);
    });
    afterAll(() => ovs[Symbol.asyncDispose]());

    describe.each([4, 6] as const)("IPv%d", (family) => {
        const { packet, tcp, zone, ip, gateway, virtual, nodePorts, standIns, net, external } = families[family];

        /** The first packet of a connection, as it enters the switch: the host has translated what is for its own addresses. */
        const sent = (client: Client, kind: Kind, at: number): string => {
            const isPod = client === "a";
            const to = {
                ClusterIP: `${net}${at}`,
                "address of a load balancer": `${external}${at}`,
                externalIP: `${external}${50 + at}`,
                "externalIP of the Node": isPod ? `${external}${100 + at}` : `${standIns}${130 + at}`,
                NodePort: isPod ? ip.node : nodePorts,
            }[kind];
            const port = kind === "NodePort" ? 30_000 + at : 80;
            const rest = `${tcp},tp_src=40000,tp_dst=${port},tcp_flags=syn`;
            return packet(sentBy(isPod ? "a" : "gw"), isPod ? mac.gw : mac.service, ip[client], to, rest);
        };
        const begun = [...fresh, ...fresh];
        const rows = policies.flatMap((policy, byPolicy) =>
            endpoints.map((end, index) => [end, policy, 10 + 20 * byPolicy + index] as const),
        );

        describe.each(clients)("from %s", (client) => {
            it.each(rows)("to %s with policy %s by each address", async (end, policy, at) => {
                for (const kind of kinds) {
                    const { outputs, actions, text } = await ovs.trace(sent(client, kind, at), begun);
                    const seen = { kind, outputs, sources: actions.match(/nat\(src=[^)]*\)/g) ?? [] };
                    if (isDropped(client, end, kind, policy)) {
                        expect(seen).toEqual({ kind, outputs: [], sources: [] });
                        expect(text).not.toContain("nat(dst=");
                        continue;
                    }
                    const source = sourceFor(client, end, mode);
                    const sources = { none: [], virtual: [`nat(src=${virtual})`], gateway: [`nat(src=${gateway})`] };
                    expect(seen).toEqual({ kind, outputs: [portTo(end, mode)], sources: sources[source] });
                    const target = family === 4 ? `${ip[end]}:8080` : `[${ip[end]}]:8080`;
                    expect(text).toContain(
                        `ct(commit,${zone},mark=0x1${client === "a" ? 3 : 2}/0x1f,nat(dst=${target}))`,
                    );
                }
            });
        });
    });
});
