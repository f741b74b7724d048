import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { nodePortAddress } from "@antrea/flows";
import { formatIp } from "@antrea/ip";
import { services } from "@antrea/kube";
import { eventually } from "../../support/eventually.ts";
import { ask, PodProgram, type ProgramPlace } from "../../support/pod-programs.ts";
import { heard, NodeNetwork, nodeIps, outsideIps, gatewayIps, run, virtualIps } from "./node-network.ts";

/** Listens for datagrams at this address and port; prints their number for each line of its standard input. */
const listener = `
    const [ip, port] = process.argv.slice(1);
    const socket = require("node:dgram").createSocket(ip.includes(":") ? "udp6" : "udp4");
    let count = 0;
    socket.on("message", () => count++).bind(Number(port), ip, () => console.log("listening"));
    process.stdin.on("data", () => console.log(count));`;

let network: NodeNetwork;
let name = "";
let count = 0;

beforeAll(async () => {
    network = await NodeNetwork.start();
});

afterAll(() => network?.[Symbol.asyncDispose]());

afterEach(() => network.cluster.deleteService(name));

type Added = Awaited<ReturnType<NodeNetwork["addService"]>>;

const add = (spec: Readonly<Record<string, unknown>> = {}): Promise<Added> => {
    count += 1;
    name = `service-${count}`;
    return network.addService(name, spec);
};

type Run = (...command: [string, ...string[]]) => string;

/**
 * Expects that the client outside, which refuses the answer to a datagram, is heard: one ICMP error of it comes by.
 *
 * @param at where the endpoint is
 * @param error the statements of nft for such an error there
 */
async function expectError(at: Run, external: string, error: string): Promise<void> {
    const outside: Run = (...command) => network.outside.netns.run(...command);
    const rules: readonly (readonly [Run, string, string])[] = [
        [at, "seen", `${error} counter`],
        [outside, "refuses", "udp sport 80 reject"],
    ];
    for (const [runThere, table, rule] of rules) {
        runThere("nft", `add table inet ${table}`);
        runThere("nft", `add chain inet ${table} input { type filter hook input priority 0; }`);
        runThere("nft", `add rule inet ${table} input ${rule}`);
    }
    await using socket = await PodProgram.datagrams(network.outside, external, 80);
    expect(await socket.send("hello")).toBe("no answer");
    const seen = (): string => /packets \d+/.exec(at("nft", "list", "table", "inet", "seen"))?.[0] ?? "";
    expect(await eventually(seen, (text) => text === "packets 1", 5_000)).toBe("packets 1");
    for (const [runThere, table] of rules) runThere("nft", "delete", "table", "inet", table);
}

describe.each([4, 6] as const)("over IPv%d", (family) => {
    const service = { tcp: 80, udp: 80 };
    const node = nodeIps[family];
    const client = outsideIps[family];
    const external = family === 4 ? "198.51.100.7" : "2001:db8:1::7";
    const expectHeard = async (
        from: ProgramPlace,
        host: string,
        at: { readonly tcp: number; readonly udp: number },
        wanted: string,
    ): Promise<void> => {
        expect(await heard(from, host, { ...at, wanted })).toEqual([wanted, wanted]);
    };
    const serve = (...ips: readonly string[]): Promise<void> => network.setEndpoints(name, family, ips);

    it("a connection may begin with a datagram in fragments, to any address of a Service", async () => {
        const { vips, ...at } = await add({ type: "NodePort", externalIPs: [external] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, external, service, `a ${client}`);
        await expectHeard(network.outside, node, at, `a ${client}`);
        const expectLarge = async (from: ProgramPlace, host: string, port: number, wanted: string): Promise<void> => {
            const large = async (): Promise<string> => {
                await using socket = await PodProgram.datagrams(from, host, port);
                return await socket.send("x".repeat(3_000));
            };
            // over IPv6 a sender gets to know the MTU of the path by an error first
            const answer = await eventually(large, (text) => text !== "EMSGSIZE", 5_000);
            expect(answer).toBe(wanted);
        };
        for (const [host, port] of [
            [external, 80],
            [node, at.udp],
        ] as const) {
            await expectLarge(network.outside, host, port, `a ${client}`);
            await expectLarge(undefined, host, port, `a ${node}`);
            await expectLarge(network.pods[1], host, port, `a ${network.pod(1, family)}`);
        }
        await expectLarge(undefined, vips[family], 80, `a ${gatewayIps[family]}`);
    });

    it("the Node reaches ClusterIPs, and is not tracked there", async () => {
        const { vips } = await add();
        await serve(network.pod(0, family));
        await expectHeard(undefined, vips[family], service, `a ${gatewayIps[family]}`);
        const listed = (): string => run("nft", "list", "set", "inet", "antrea-services", `cluster${family}`);
        await eventually(listed, (text) => text.includes(vips[family]), 10_000);
        run("conntrack", "-F");
        await expectHeard(undefined, vips[family], service, `a ${gatewayIps[family]}`);
        expect(run("conntrack", "-L", "-f", `ipv${family}`, "-d", vips[family])).toBe("");
    });

    it("NodePorts are reached by clients outside, the Node and its Pods, and others' ports stay theirs", async () => {
        const at = await add({ type: "NodePort" });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, node, at, `a ${client}`);
        await expectHeard(undefined, node, at, `a ${node}`);
        await expectHeard(network.pods[1], node, at, `a ${network.pod(1, family)}`);
        expect(await ask(network.outside, node, 8080)).toBe(`host ${client}`);
        await serve(network.pod(1, family));
        await expectHeard(network.outside, node, at, `b ${client}`);
    });

    it("a NodePort is reached by a UDP client that sent before when the Node has forgotten it", async () => {
        const nodePort = 32_080;
        await using socket = await PodProgram.datagrams(network.outside, node, nodePort);
        expect(await socket.send("hello")).toBe("ECONNREFUSED");
        const at = await add({
            type: "NodePort",
            ports: [
                { name: "t", port: 80 },
                { name: "u", port: 80, protocol: "UDP", nodePort },
            ],
        });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, node, at, `a ${client}`);
        expect(await socket.send("hello")).toBe("ECONNREFUSED");
        run("conntrack", "-D", "-f", `ipv${family}`, "-p", "udp", "--orig-port-dst", String(nodePort));
        expect(await socket.send("hello")).toBe(`a ${client}`);
    });

    it("an externalIP that is nobody's is served to all at its port", async () => {
        await add({ externalIPs: [external] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, external, service, `a ${client}`);
        await expectHeard(undefined, external, service, `a ${node}`);
        await expectHeard(network.pods[1], external, service, `a ${network.pod(1, family)}`);
    });

    it("packets to an externalIP are marked for the Node's routing only", async () => {
        await add({ externalIPs: [external] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, external, service, `a ${client}`);
        // where OVS gets them
        for (const command of [
            "add table netdev seen",
            "add chain netdev seen out { type filter hook egress device antrea-gw0 priority 0; }",
            `add rule netdev seen out ip${family === 4 ? "" : "6"} daddr ${external} meta mark != 0 counter`,
            `add rule netdev seen out ip${family === 4 ? "" : "6"} daddr ${external} meta mark 0 counter`,
        ])
            run("nft", command);
        try {
            expect(await ask(network.outside, external, 80)).toBe(`a ${client}`);
            expect(await ask(undefined, external, 80)).toBe(`a ${node}`);
            const [marked, plain] = Array.from(
                run("nft", "list", "table", "netdev", "seen").matchAll(/packets (\d+)/g),
                ([, packets]) => Number(packets),
            );
            expect(marked).toBe(0);
            expect(plain).toBeGreaterThan(4);
        } finally {
            run("nft", "delete", "table", "netdev", "seen");
        }
    });

    it("ICMP errors of a client outside reach the endpoint behind an externalIP", async () => {
        await add({ externalIPs: [external] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, external, service, `a ${client}`);
        const [pod] = network.pods;
        const type = family === 4 ? "icmp" : "icmpv6";
        await expectError(
            (...command) => pod?.netns.run(...command) ?? "",
            external,
            `${type} type destination-unreachable`,
        );
    });

    it("ICMP errors of a client outside reach the host behind an externalIP of policy Local", async () => {
        await add({ type: "NodePort", externalIPs: [external], externalTrafficPolicy: "Local" });
        await serve(node);
        await expectHeard(network.outside, external, service, `host ${client}`);
        const type = family === 4 ? "icmp" : "icmpv6";
        await expectError(run, external, `${type} type destination-unreachable ct state related`);
    });

    it("an externalIP of another host is its own at all other ports", async () => {
        await add({ externalIPs: [client] });
        await serve(network.pod(0, family));
        await expectHeard(undefined, client, service, `a ${node}`);
        expect(await ask(undefined, client, 8080)).toBe(`out ${node}`);
    });

    it("an externalIP that is the Node's is served at its port, and all else of the address unharmed", async () => {
        await add({ externalIPs: [node] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, node, service, `a ${client}`);
        await expectHeard(undefined, node, service, `a ${node}`);
        await expectHeard(network.pods[1], node, service, `a ${network.pod(1, family)}`);
        expect(await ask(network.outside, node, 8080)).toBe(`host ${client}`);
        expect(await ask(network.outside, node, 81)).toBe("ECONNREFUSED");
        network.outside.netns.run("ping", "-c", "1", "-W", "5", node);
    });

    const [where, spec, field] =
        family === 4
            ? (["an externalIP that is the Node's", { externalIPs: [node] }, `spec.externalIPs: ${node}`] as const)
            : (["a NodePort", { type: "NodePort" }, "spec.ports.nodePort:"] as const);

    it(`an event names a program that listens at ${where}, and the Service has its packets`, async () => {
        const added = await add(spec);
        const used = family === 4 ? { tcp: 80, udp: 80 } : added;
        await serve(network.pod(0, family));
        const wanted = `a ${client}`;
        await expectHeard(network.outside, node, used, wanted);
        const { cluster } = network;
        const events = (): readonly string[] =>
            cluster.events
                .filter(({ reason, regarding }) => reason === "PortUsedByNode" && regarding.name === name)
                .map(({ note }) => note);
        const problems = async (): Promise<string> =>
            /^antrea_proxy_problems.*PortUsedByNode.*$/m.exec(await cluster.metrics.text())?.[0] ?? "";
        expect([events(), await problems()]).toEqual([[], ""]);
        {
            await using program = await PodProgram.start(undefined, listener, [node, String(used.udp)]);
            const text = `${field} UDP ${used.udp} is a port on which a program of this Node listens; the Service gets its packets, the program does not; next: let the program listen on another port or address, or choose another one for the Service`;
            expect(await eventually(events, ({ length }) => length > 0, 15_000)).toEqual([text]);
            expect(await problems()).toBe('antrea_proxy_problems{reason="PortUsedByNode"} 1');
            await using socket = await PodProgram.datagrams(network.outside, node, used.udp);
            expect(await socket.send("hello")).toBe(wanted);
            expect(await program.send("got")).toBe("0");
        }
        expect(await eventually(problems, (text) => text === "", 15_000)).toBe("");
        expect(events()).toHaveLength(1);
    });

    it("an address that the Node gets is served within two seconds, and not when it lost it", async () => {
        const at = await add({ type: "NodePort", externalIPs: [external] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, external, service, `a ${client}`);
        run("ip", "address", "add", `${external}/${family === 4 ? 32 : 128}`, "dev", "uplink");
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        expect(await ask(network.outside, external, at.tcp)).toBe(`a ${client}`);
        expect(await ask(network.pods[1], external, at.tcp)).toBe(`a ${network.pod(1, family)}`);
        expect(await ask(network.outside, external, 80)).toBe(`a ${client}`);
        expect(run("nft", "list", "map", "inet", "antrea-services", `own${family}`)).toContain(
            `${external} . tcp . 80`,
        );
        run("ip", "address", "del", `${external}/${family === 4 ? 32 : 128}`, "dev", "uplink");
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        expect(await ask(network.outside, external, 80)).toBe(`a ${client}`);
        expect(run("nft", "list", "map", "inet", "antrea-services", `own${family}`)).not.toContain("elements");
    });

    it("endpoints beyond the Node see its address, and those in its network the virtual one", async () => {
        const at = await add({ type: "NodePort" });
        await serve(client);
        await expectHeard(undefined, at.vips[family], service, `out ${node}`);
        await expectHeard(network.outside, node, at, `out ${node}`);
        await serve(node);
        await expectHeard(undefined, at.vips[family], service, `host ${virtualIps[family]}`);
        await expectHeard(network.outside, node, at, `host ${virtualIps[family]}`);
    });

    it("with policy Local clients outside reach what is on the Node, also in its network, by their own address", async () => {
        const at = await add({ type: "NodePort", externalIPs: [external], externalTrafficPolicy: "Local" });
        await network.setEndpoints(name, family, [network.pod(0, family)], "another");
        await expectHeard(undefined, node, at, `a ${node}`);
        expect(await ask(network.outside, node, at.tcp)).toBe("no answer");
        await serve(network.pod(0, family));
        await expectHeard(network.outside, node, at, `a ${client}`);
        await serve(node);
        await expectHeard(network.outside, node, at, `host ${client}`);
        await expectHeard(network.outside, external, service, `host ${client}`);
        await expectHeard(undefined, external, service, `host ${virtualIps[family]}`);
    });

    it("nobody but the Node itself reaches NodePorts at the virtual address", async () => {
        const at = await add({ type: "NodePort" });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, node, at, `a ${client}`);
        const virtual = formatIp(nodePortAddress(family));
        network.outside.netns.run("ip", `-${family}`, "route", "add", virtual, "via", node);
        for (const from of [network.outside, network.pods[1]])
            expect(await ask(from, virtual, at.tcp)).toBe("no answer");
    });

    it("rules of kube-proxy do not get what OVS serves", async () => {
        const at = await add({ type: "NodePort", externalIPs: [external] });
        await serve(network.pod(0, family));
        await expectHeard(network.outside, node, at, `a ${client}`);
        const iptables = family === 4 ? "iptables" : "ip6tables";
        const elsewhere = family === 4 ? "192.0.2.77:1" : "[2001:db8::77]:1";
        const served = [
            [at.vips[family], 80],
            [external, 80],
            [node, at.tcp],
        ] as const;
        const rules = ["PREROUTING", "OUTPUT"].flatMap((chain) =>
            served.map(([ip, port]) =>
                `${chain} -d ${ip} -p tcp --dport ${port} -j DNAT --to-destination ${elsewhere}`.split(" "),
            ),
        );
        for (const rule of rules) run(iptables, "-t", "nat", "-A", ...rule);
        try {
            for (const [ip, port] of served) expect(await ask(undefined, ip, port)).toMatch(/^a /);
            expect(await ask(network.outside, external, 80)).toBe(`a ${client}`);
            expect(await ask(network.outside, node, at.tcp)).toBe(`a ${client}`);
        } finally {
            for (const rule of rules) run(iptables, "-t", "nat", "-D", ...rule);
        }
    });
});

it("a load balancer outside sees whether the Node has endpoints, and the proxy's own health", async () => {
    const { cluster, outside } = network;
    await add({ type: "LoadBalancer", externalTrafficPolicy: "Local" });
    const { spec } = await cluster.api.get(services, { namespace: "default", name });
    /** Status code, and weight if the answer has one; "" without answer. */
    const answer = async (at: string): Promise<string> => {
        const curl = `curl -s -g -i -m 5 http://${at} || true`;
        // the agent that answers is in this process
        const { stdout } = await promisify(execFile)("ip", ["netns", "exec", outside.netns.name, "sh", "-c", curl]);
        return [/^HTTP\S+ (\d+)/, /^x-load-balancing-endpoint-weight: (\d+)/im]
            .map((pattern) => pattern.exec(stdout)?.[1] ?? "")
            .join(" ")
            .trim();
    };
    const becomes = async (wanted: string): Promise<void> => {
        const at = `${nodeIps[4]}:${spec?.healthCheckNodePort ?? 0}`;
        const last = await eventually(
            () => answer(at),
            (text) => text === wanted,
            10_000,
        );
        expect(last).toBe(wanted);
    };
    await becomes("503 0");
    await network.setEndpoints(name, 4, [network.pod(0, 4)]);
    await becomes("200 1");
    await network.setEndpoints(name, 4, [network.pod(0, 4), network.pod(1, 4)]);
    await becomes("200 2");
    await network.setEndpoints(name, 4, [network.pod(0, 4)], "another");
    await becomes("503 0");
    for (const ip of [nodeIps[4], `[${nodeIps[6]}]`]) expect(await answer(`${ip}:10256/healthz`)).toBe("200");
});

it("NodePorts are served at nodePortAddresses only, to all clients", async () => {
    const { cluster, outside, pods } = network;
    await cluster.stopAgent();
    await cluster.startAgent({ antreaProxy: { proxyAll: true, nodePortAddresses: ["10.10.0.0/16", "127.0.0.0/8"] } });
    const at = await add({ type: "NodePort" });
    for (const family of [4, 6] as const) await network.setEndpoints(name, family, [network.pod(0, family)]);
    const wanted = `a ${network.pod(1, 4)}`;
    expect(await heard(pods[1], gatewayIps[4], { ...at, wanted })).toEqual([wanted, wanted]);
    expect(await ask(undefined, gatewayIps[4], at.tcp)).toBe(`a ${gatewayIps[4]}`);
    outside.netns.run("ip", "route", "add", gatewayIps[4], "via", nodeIps[4]);
    expect(await ask(outside, gatewayIps[4], at.tcp)).toBe(`a ${outsideIps[4]}`);
    for (const from of [undefined, outside, pods[1]]) {
        expect(await ask(from, nodeIps[4], at.tcp)).toBe("ECONNREFUSED");
        expect(await ask(from, nodeIps[6], at.tcp)).toBe("ECONNREFUSED");
    }
    expect(await ask(undefined, "127.0.0.1", at.tcp)).toBe("ECONNREFUSED");
    const notes = cluster.events.filter(({ reason }) => reason === "NodePortsNotServed").map((event) => event.note);
    expect(notes).toEqual([expect.stringContaining("contains no IPv6 address of Node")]);
});

it("a skipped Service is the host's, and refused if nobody serves it there", async () => {
    const { cluster, pods } = network;
    await cluster.stopAgent();
    await cluster.startAgent({ antreaProxy: { proxyAll: true, skipServices: ["default/skipped"] } });
    name = "skipped";
    const { vips } = await network.addService(name);
    for (const family of [4, 6] as const) await network.setEndpoints(name, family, [network.pod(0, family)]);
    for (const family of [4, 6] as const) {
        expect(await ask(undefined, vips[family], 80)).toBe("ECONNREFUSED");
        expect(await ask(pods[1], vips[family], 80)).toBe("ECONNREFUSED");
        const iptables = family === 4 ? "iptables" : "ip6tables";
        const endpoint = family === 4 ? `${network.pod(0, 4)}:8080` : `[${network.pod(0, 6)}]:8080`;
        const rules = ["PREROUTING", "OUTPUT"].map((chain) =>
            `${chain} -d ${vips[family]} -p tcp --dport 80 -j DNAT --to-destination ${endpoint}`.split(" "),
        );
        for (const rule of rules) run(iptables, "-t", "nat", "-A", ...rule);
        expect(await ask(undefined, vips[family], 80)).toBe(`a ${gatewayIps[family]}`);
        expect(await ask(pods[1], vips[family], 80)).toBe(`a ${network.pod(1, family)}`);
        for (const rule of rules) run(iptables, "-t", "nat", "-D", ...rule);
    }
});
