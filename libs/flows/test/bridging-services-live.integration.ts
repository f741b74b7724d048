import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { formatMac, parseIp } from "@antrea/ip";
import { type ServicePortFlows } from "../src/index.ts";
import { type Namespace, type Talk } from "./namespaces.ts";
import { atOnce, client, many, reuse, udpClient, udpServer } from "./programs.ts";
import { endpoint, portFlows, servedPort, serviceNode, startServiceSwitch } from "./service-examples.ts";
import { type TestSwitch } from "./switch.ts";
import { underlayAddresses, UnderlayNode, type StationName } from "./underlay-node.ts";

// The switch serves Services to all Pods, to the host and to the outside; the host translates one address more, as
// kube-proxy does.
const bridging = serviceNode("bridging", true);
const nets = { 4: "10.96.0.", 6: "fd00:96::" } as const;
const last = {
    a: 10,
    p: 11,
    q: 12,
    r: 13,
    s: 14,
    host: 15,
    outside: 16,
    again: 17,
    both: 18,
    sticky: 19,
    closed: 20,
    kubeProxy: 21,
};
type Vip = keyof typeof last;

const rules = `
table inet services {
    chain prerouting {
        type nat hook prerouting priority dstnat;
        ip daddr 10.96.0.${last.kubeProxy} tcp dport 80 dnat ip to 10.10.0.2:8080
        ip6 daddr fd00:96::${last.kubeProxy} tcp dport 80 dnat ip6 to [fd00:10::2]:8080
    }
    chain postrouting {
        type nat hook postrouting priority srcnat;
        ip saddr 169.254.0.253 masquerade
        ip6 saddr fc01::aabb:ccdd:eeff masquerade
    }
    chain forward {
        type filter hook forward priority filter;
        # as kube-proxy does
        ct state invalid drop
    }
}`;

function services(family: 4 | 6, names: readonly Vip[]): ServicePortFlows[] {
    const at = underlayAddresses[family];
    const of = (name: StationName): ReturnType<typeof endpoint> => endpoint(at[name]);
    const endpoints: Readonly<Partial<Record<Vip, ReturnType<typeof endpoint>[]>>> = {
        again: [of("r")],
        both: [of("q"), of("r")],
        sticky: [of("q"), of("r")],
        closed: [endpoint(at.r, 9)],
        kubeProxy: [of("q")],
    };
    return names.flatMap((name) =>
        (["TCP", "UDP"] as const).map((protocol, index) => {
            const own = endpoints[name] ?? [of(name as StationName)];
            const port = servedPort(`${nets[family]}${last[name]}`, own, { protocol });
            const number = 2 * last[name] + index + (family === 4 ? 0 : 100);
            return portFlows(bridging, number, port, name === "sticky" ? { affinitySeconds: 60 } : {});
        }),
    );
}

/** Addresses of load balancers in the networks of the Pods: the Node has the one in VLAN 0, the router that in VLAN 2. */
const onLink = { 4: { p: "172.18.0.200", r: "172.18.2.200" }, 6: { p: "fd00:18::c8", r: "fd00:18:0:2::c8" } } as const;
const onLinkEndpoints = ["a", "q", "s", "host", "outside"] as const;

function onLinkServices(family: 4 | 6): ServicePortFlows[] {
    const scopes = { inside: "cluster", outside: "cluster" } as const;
    const at = underlayAddresses[family];
    return (["p", "r"] as const).flatMap((from, first) => {
        const ip = parseIp(onLink[family][from]);
        const port = (number: number, to: ReturnType<typeof endpoint>, protocol: "TCP" | "UDP"): ServicePortFlows =>
            portFlows(bridging, 1000 * family + 100 * first + number, {
                ...servedPort(onLink[family][from], [to], { protocol }),
                port: number,
                addresses: [{ kind: "loadBalancer", ip, ...scopes }],
            });
        const other = from === "p" ? "s" : "q";
        return [
            ...onLinkEndpoints.map((name, index) => port(81 + index, endpoint(at[name]), "TCP")),
            port(90, endpoint(at[other]), "UDP"),
            port(91, endpoint(at[other], 9), "UDP"),
        ];
    });
}

let ovs: TestSwitch;
let node: UnderlayNode;

const space = (name: StationName): Namespace => node.space(name);

beforeAll(async () => {
    const names = (Object.keys(last) as Vip[]).filter((name) => name !== "kubeProxy");
    ovs = await startServiceSwitch(bridging, [...services(4, names), ...services(6, names)]);
    await ovs.serve([...onLinkServices(4), ...onLinkServices(6)]);
    node = await UnderlayNode.start(ovs, rules);
    for (const family of [4, 6] as const) {
        const { virtual, host, outside } = underlayAddresses[family];
        const net = `${nets[family]}0/${family === 4 ? 24 : 112}`;
        const route = (name: StationName, ...way: readonly string[]): Promise<string> =>
            space(name).exec("ip", `-${family}`, "route", "replace", ...way);
        await route("host", net, "via", virtual, "dev", "gw0");
        await route("host", virtual, "dev", "gw0", "src", host);
        await route("outside", net, "via", host, "src", outside);
        // nobody's source
        const noDad = family === 4 ? [] : ["nodad", "preferred_lft", "0"];
        await space("host").exec("ip", "address", "add", onLink[family].p, "dev", "eth0", ...noDad);
        await space("outside").exec("ip", "address", "add", onLink[family].r, "dev", "eth2", ...noDad);
    }
});

afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await ovs[Symbol.asyncDispose]();
});

describe.each([4, 6] as const)("IPv%d", (family) => {
    const address = underlayAddresses[family];
    const vip = (name: Vip): string => `${nets[family]}${last[name]}`;
    const ask = async (from: StationName, name: Vip, text = "hello"): Promise<string> =>
        (await space(from).start(client, vip(name), "80")).send(text);

    it.each<[from: StationName, to: StationName, seen: keyof typeof address]>([
        ["a", "a", "virtual"],
        ["a", "p", "a"],
        ["a", "r", "a"],
        ["a", "host", "a"],
        ["a", "outside", "a"],
        ["p", "a", "p"],
        ["p", "p", "virtual"],
        ["p", "q", "p"],
        ["p", "r", "p"],
        ["p", "host", "p"],
        ["p", "outside", "p"],
        ["r", "a", "r"],
        ["r", "p", "r"],
        ["r", "r", "virtual"],
        ["r", "s", "r"],
        ["r", "host", "r"],
        ["r", "outside", "r"],
        ["host", "a", "gateway"],
        ["host", "p", "gateway"],
        ["host", "r", "virtual"],
        ["host", "host", "virtual"],
        ["host", "outside", "host"],
        ["outside", "a", "outside"],
        ["outside", "p", "outside"],
        ["outside", "r", "virtual"],
        ["outside", "host", "virtual"],
        ["outside", "outside", "host"],
    ])("%s reaches a Service with the endpoint %s, which sees the address of %s", async (from, to, seen) => {
        expect(await ask(from, to)).toBe(`${address[seen]} 5`);
        expect(await ask(from, to, "x100000")).toBe(`${address[seen]} 100000`);
    });

    it.each<[from: "p" | "r", to: (typeof onLinkEndpoints)[number], seen: keyof typeof address]>([
        ["p", "a", "p"],
        ["p", "q", "p"],
        ["p", "s", "host"],
        ["p", "host", "p"],
        ["p", "outside", "host"],
        ["r", "a", "gateway"],
        ["r", "q", "host"],
        ["r", "s", "r"],
        ["r", "host", "virtual"],
        ["r", "outside", "host"],
    ])(
        "%s reaches a Service at an address of its own network with the endpoint %s, which sees that of %s",
        async (from, to, seen) => {
            const talk = await space(from).start(client, onLink[family][from], `${81 + onLinkEndpoints.indexOf(to)}`);
            expect(await talk.send("hello")).toBe(`${address[seen]} 5`);
            expect(await talk.send("x100000")).toBe(`${address[seen]} 100000`);
        },
    );

    it.each<["p" | "r", (keyof typeof address)[]]>([
        ["p", ["p"]],
        ["r", ["r", "virtual"]],
    ])("a group leads %s to both endpoints, which see %j", async (from, seen) => {
        const talk = await space(from).start(many, vip("both"), "80", "64");
        const heard = new Set((await talk.send("go")).split(";"));
        expect(heard).toEqual(new Set(seen.map((name) => address[name])));
    });

    it.each<StationName>(["p", "r"])("connections of %s that begin at once have one endpoint", async (from) => {
        const talk = await space(from).start(many, vip("sticky"), "80", "64");
        expect(new Set((await talk.send("go")).split(";")).size).toBe(1);
    });

    it.each<"a" | "p" | "s">(["a", "p", "s"])("one port of %s over two Services to one endpoint", async (from) => {
        const talk = await space(from).start(atOnce, vip("r"), "80", vip("again"), "80");
        expect(await talk.send("go")).toBe([`${address[from]} 4`, `${address[from]} 4`].join(";"));
    });

    it.each<"a" | "p" | "s">(["a", "p", "s"])("one port of %s again and again", async (from) => {
        const pairs = [vip("r"), "80", vip("again"), "80", vip("r"), "80"];
        const heard = await space(from).exec(process.execPath, "-e", reuse, "--", ...pairs);
        expect(heard.trim()).toBe(`${address[from]} 3`);
    });

    describe("datagrams", () => {
        let udpR: Talk;
        beforeAll(async () => {
            udpR = await space("r").start(udpServer, `udp${family}`);
        });

        it.each<"a" | "p" | "s">(["a", "p", "s"])("of %s before the answer go to the same endpoint", async (from) => {
            const talk = await space(from).start(udpClient, vip("r"), "80");
            expect(await talk.send("first")).toBe("first");
            await udpR.send("count");
            const another = await space(from).start(udpClient, vip("r"), "80");
            expect(await another.send("wait wait wait")).toBe("sent");
            expect(await udpR.send("count")).toBe(`${address[from]} 3`);
            expect(await another.send("last")).toBe("last");
        });

        it.each<"a" | "p" | "s">(["a", "p", "s"])("of %s in fragments may be the first ones", async (from) => {
            await udpR.send("count");
            for (const bytes of [3_000, 8_000]) {
                const talk = await space(from).start(udpClient, vip("r"), "80");
                const text = await Promise.race([talk.send(`x${bytes}`), sleep(5_000, "no answer")]);
                expect(text.length).toBe(bytes);
            }
            expect(await udpR.send("count")).toBe(`${address[from]} 2`);
        });

        it.each<StationName>(["a", "p", "s"])("an ICMP error of the endpoint reaches %s", async (from) => {
            const talk = await space(from).start(udpClient, vip("closed"), "80");
            expect(await talk.send("one")).toMatch(/ECONNREFUSED/);
        });

        it("an ICMP error of a client in VLAN 0 reaches the endpoint in VLAN 2", () => clientGoes("p", "r", udpR));

        it("an ICMP error of a client in VLAN 2 reaches the endpoint in VLAN 0", async () => {
            await clientGoes("r", "q", await space("q").start(udpServer, `udp${family}`));
        });

        it.each(["p", "r"] as const)(
            "an ICMP error of an endpoint reaches %s by an address of its network",
            async (from) => {
                const talk = await space(from).start(udpClient, onLink[family][from], "91");
                expect(await talk.send("one")).toMatch(/ECONNREFUSED/);
            },
        );

        it("an ICMP error of a client that addresses its own network reaches the endpoint", async () => {
            const udpS = await space("s").start(udpServer, `udp${family}`);
            await goes(await space("p").start(udpClient, onLink[family].p, "90"), udpS);
        });

        async function clientGoes(from: StationName, to: Vip, endpointOf: Talk): Promise<void> {
            await goes(await space(from).start(udpClient, vip(to), "80"), endpointOf);
        }

        async function goes(talk: Talk, endpointOf: Talk): Promise<void> {
            expect(await talk.send("one")).toBe("one");
            await talk.send("close");
            expect(await endpointOf.send("answer")).toMatch(/ECONNREFUSED/);
        }
    });

    it.each<StationName>(["p", "r"])("what kube-proxy began for %s goes on by the host", async (from) => {
        const talk = await space(from).start(client, vip("kubeProxy"), "80");
        expect(await talk.send("hello")).toMatch(/ 5$/);
        await ovs.serve(services(family, ["kubeProxy"]));
        expect(await talk.send("hello")).toMatch(/ 5$/);
    });
});

it.each(["p", "r"] as const)("the virtual source has the gateway's MAC address for %s", async (pod) => {
    const { virtual } = underlayAddresses[4];
    await space(pod).exec("ip", "route", "add", virtual, "dev", "eth0", "scope", "link");
    const talk = await space(pod).start(client, `${nets[4]}${last[pod]}`, "80");
    expect(await talk.send("hello")).toBe(`${virtual} 5`);
    expect(await space(pod).exec("ip", "neighbour", "show", virtual)).toContain(formatMac(bridging.gateway.mac));
    await space(pod).exec("ip", "route", "delete", virtual, "dev", "eth0");
});
