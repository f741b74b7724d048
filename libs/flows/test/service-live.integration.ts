import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { formatMac } from "@antrea/ip";
import { OfPort, serviceMac, type ServicePortFlows } from "../src/index.ts";
import { Namespace, type Talk } from "./namespaces.ts";
import { atOnce, client, many, reuse, server, udpClient, udpServer } from "./programs.ts";
import { endpoint, portFlows, servedPort, serviceNode, servicePods, startServiceSwitch } from "./service-examples.ts";
import { type TestSwitch } from "./switch.ts";

// Two Pods and the host's stack, each in a namespace. The switch serves Services; the host translates one address more,
// as kube-proxy does.
const node = serviceNode("noEncap", true);
const pods = servicePods(node);
const families = {
    4: {
        a: "10.10.0.2",
        b: "10.10.0.3",
        gw: "10.10.0.1",
        node: "172.18.0.100",
        virtual: "169.254.0.253",
        net: "10.96.0.",
    },
    6: {
        a: "fd00:10::2",
        b: "fd00:10::3",
        gw: "fd00:10::1",
        node: "fd00:18::100",
        virtual: "fc01::aabb:ccdd:eeff",
        net: "fd00:96::",
    },
} as const;
const last = { a: 10, b: 11, again: 12, host: 13, both: 14, closed: 15, kubeProxy: 16, sticky: 17, large: 18 };

const rules = `
table inet services {
    chain prerouting {
        type nat hook prerouting priority dstnat;
        ip daddr 10.96.0.${last.kubeProxy} tcp dport 80 dnat ip to 10.10.0.3:8080
        ip6 daddr fd00:96::${last.kubeProxy} tcp dport 80 dnat ip6 to [fd00:10::3]:8080
    }
}`;

function services(family: 4 | 6, names: readonly (keyof typeof last)[]): ServicePortFlows[] {
    const { a, b, node: host, net } = families[family];
    const [toA, toB] = [endpoint(a), endpoint(b)];
    const endpoints = {
        a: [toA],
        b: [toB],
        again: [toB],
        host: [endpoint(host)],
        both: [toA, toB],
        closed: [endpoint(b, 9)],
        kubeProxy: [toA],
        sticky: [toA, toB],
        // each by many buckets, so that ovs-vswitchd chooses
        large: Array.from({ length: 300 }, (_, at) => (at % 2 === 0 ? toA : toB)),
    };
    return names.flatMap((name) =>
        (["TCP", "UDP"] as const).map((protocol, at) => {
            const port = servedPort(`${net}${last[name]}`, endpoints[name], { protocol });
            const number = 2 * last[name] + at + (family === 4 ? 0 : 100);
            return portFlows(node, number, port, name === "sticky" ? { affinitySeconds: 60 } : {});
        }),
    );
}

let ovs: TestSwitch;
let host: Namespace;
let a: Namespace;
let b: Namespace;

beforeAll(async () => {
    const others = Object.keys(last).filter((name) => name !== "kubeProxy") as (keyof typeof last)[];
    ovs = await startServiceSwitch(node, [...services(4, others), ...services(6, others)]);
    [host, a, b] = [await Namespace.create(), await Namespace.create(), await Namespace.create()];
    await host.take(await ovs.addPort("gw", OfPort.gateway), node.gateway.mac);
    await host.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
    await host.exec("sysctl", "-qw", "net.ipv4.conf.all.rp_filter=2", "net.ipv4.conf.eth0.rp_filter=2");
    await host.exec("sysctl", "-qw", "net.ipv4.conf.eth0.arp_announce=1");
    await host.configure(node.gateway.ips);
    await host.exec("nft", rules);
    for (const family of [4, 6] as const) {
        const { virtual, net, node: own } = families[family];
        const ip = (...args: readonly string[]): Promise<string> => host.exec("ip", `-${family}`, ...args);
        await ip("address", "add", own, "dev", "lo");
        await ip("neighbour", "replace", virtual, "lladdr", formatMac(serviceMac), "dev", "eth0", "nud", "permanent");
        await ip("route", "add", virtual, "dev", "eth0");
        await ip("route", "add", `${net}0/${family === 4 ? 24 : 112}`, "via", virtual, "dev", "eth0");
    }
    for (const [namespace, pod] of [[a, pods[0]] as const, [b, pods[1]] as const]) {
        if (pod === undefined) throw new TypeError("a Pod is missing");
        await ovs.addPort("pod", pod.ofPort, await namespace.addVeth(pod.mac));
        await namespace.configure(pod.ips, node.gateway.ips);
        await namespace.start(server);
    }
    await host.start(server);
});

afterAll(async () => {
    for (const namespace of [a, b, host]) await namespace[Symbol.asyncDispose]();
    await ovs[Symbol.asyncDispose]();
});

describe.each([4, 6] as const)("IPv%d", (family) => {
    const { net, virtual, gw, node: own, ...ip } = families[family];
    const vip = (name: keyof typeof last): string => `${net}${last[name]}`;
    const ask = async (from: Namespace, name: keyof typeof last, text = "hello"): Promise<string> =>
        (await from.start(client, vip(name), "80")).send(text);

    let udpB: Talk;
    beforeAll(async () => {
        udpB = await b.start(udpServer, `udp${family}`);
    });

    it("a Pod reaches another one, which sees its address", async () => {
        expect(await ask(a, "b")).toBe(`${ip.a} 5`);
        expect(await ask(a, "b", "x100000")).toBe(`${ip.a} 100000`);
    });

    it("a Pod reaches itself, and sees the virtual source", async () => {
        expect(await ask(a, "a")).toBe(`${virtual} 5`);
        expect(await ask(a, "a", "x100000")).toBe(`${virtual} 100000`);
    });

    it("a Pod reaches the host", async () => expect(await ask(a, "host")).toBe(`${ip.a} 5`));

    it("the host reaches a Pod, which sees its address", async () => {
        expect(await ask(host, "b")).toMatch(new RegExp(`^(${gw}|${own}) 5$`));
    });

    it("the host reaches itself, and sees the virtual source", async () => {
        expect(await ask(host, "host")).toBe(`${virtual} 5`);
        expect(await ask(host, "host", "x100000")).toBe(`${virtual} 100000`);
    });

    it("a group reaches both endpoints", async () => {
        const talk = await b.start(many, vip("both"), "80", "64");
        const heard = new Set((await talk.send("go")).split(";"));
        expect(heard).toEqual(new Set([ip.b, virtual]));
    });

    it("connections of a client that begin at once have one endpoint", async () => {
        const talk = await b.start(many, vip("sticky"), "80", "200");
        expect(new Set((await talk.send("go")).split(";")).size).toBe(1);
    });

    it("one client port over two Services to one endpoint", async () => {
        const talk = await a.start(atOnce, vip("b"), "80", vip("again"), "80");
        expect(await talk.send("go")).toBe([`${ip.a} 4`, `${ip.a} 4`].join(";"));
    });

    it("one client port again and again", async () => {
        const pairs = [vip("b"), "80", vip("again"), "80", vip("b"), "80"];
        expect((await a.exec(process.execPath, "-e", reuse, "--", ...pairs)).trim()).toBe(`${ip.a} 3`);
    });

    it("datagrams before the answer go to the same endpoint", async () => {
        const talk = await a.start(udpClient, vip("b"), "80");
        expect(await talk.send("first")).toBe("first");
        await udpB.send("count");
        const another = await a.start(udpClient, vip("b"), "80");
        expect(await another.send("wait wait wait")).toBe("sent");
        expect(await udpB.send("count")).toBe(`${ip.a} 3`);
        expect(await another.send("last")).toBe("last");
    });

    describe("datagrams in fragments, the first of a connection", () => {
        let udpA: Talk;
        let udpHost: Talk;
        beforeAll(async () => {
            udpA = await a.start(udpServer, `udp${family}`);
            udpHost = await host.start(udpServer, `udp${family}`, own);
        });
        /** How many bytes come back; 0 without an answer. */
        const echo = (talk: Talk, bytes: number): Promise<number> =>
            Promise.race([talk.send(`x${bytes}`).then(({ length }) => length), sleep(3_000, 0)]);
        const echoed = async (from: Namespace, to: string, bytes: number, port = "80"): Promise<number> =>
            echo(await from.start(udpClient, to, port), bytes);
        const seen = async (server: Talk): Promise<string> => server.send("count");

        it.each([3_000, 8_000, 40_000])(
            "a Pod reaches another one with %d bytes, which sees its address",
            async (bytes) => {
                expect(await echoed(a, vip("b"), bytes)).toBe(bytes);
                expect(await seen(udpB)).toMatch(new RegExp(`^${ip.a} `));
            },
        );

        it.each([3_000, 8_000])("a Pod reaches itself with %d bytes, and sees the virtual source", async (bytes) => {
            expect(await echoed(a, vip("a"), bytes)).toBe(bytes);
            expect(await seen(udpA)).toBe(`${virtual} 1`);
        });

        it.each([3_000, 8_000])("between a Pod and the host with %d bytes", async (bytes) => {
            expect(await echoed(a, vip("host"), bytes)).toBe(bytes);
            expect(await seen(udpHost)).toBe(`${ip.a} 1`);
            expect(await echoed(host, vip("b"), bytes)).toBe(bytes);
            expect(await echoed(host, vip("host"), bytes)).toBe(bytes);
            expect(await seen(udpHost)).toBe(`${virtual} 1`);
        });

        it.each(["both", "large"] as const)(
            "a group (%s) reaches one of its endpoints, with all fragments",
            async (name) => {
                for (const server of [udpA, udpB]) await server.send("count");
                for (const bytes of [3_000, 8_000, 3_000, 8_000]) {
                    for (const from of [a, b, host]) expect(await echoed(from, vip(name), bytes)).toBe(bytes);
                }
                const counts = [await seen(udpA), await seen(udpB)].map((text) => Number(text.split(" ")[1]));
                expect(counts.reduce((sum, count) => sum + count)).toBe(12);
            },
        );

        it("sockets of one client reach both endpoints of a group of hundreds by small datagrams", async () => {
            for (const server of [udpA, udpB]) await server.send("count");
            for (let count = 0; count < 16; count += 1) expect(await echoed(a, vip("large"), 100)).toBe(100);
            const counts = [await seen(udpA), await seen(udpB)].map((text) => Number(text.split(" ")[1]));
            expect(counts.reduce((sum, count) => sum + count)).toBe(16);
            expect(Math.min(...counts)).toBeGreaterThan(0);
        });

        it("one client has one endpoint, whatever the size", async () => {
            for (const server of [udpA, udpB]) await server.send("count");
            for (const bytes of [3_000, 100, 8_000, 3_000, 100])
                expect(await echoed(a, vip("sticky"), bytes)).toBe(bytes);
            const counts = [await seen(udpA), await seen(udpB)].map((text) => text.split(" ")[1]);
            expect(counts.toSorted()).toEqual(["0", "5"]);
        });

        it("of one socket go on with others, of any size", async () => {
            const talk = await a.start(udpClient, vip("b"), "80");
            for (const bytes of [8_000, 10, 3_000, 3_000]) expect(await echo(talk, bytes)).toBe(bytes);
        });

        it("without a Service", async () => {
            expect(await echoed(a, ip.b, 8_000, "8080")).toBe(8_000);
            expect(await echoed(host, ip.b, 8_000, "8080")).toBe(8_000);
            expect(await echoed(a, own, 8_000, "8080")).toBe(8_000);
            expect(await a.pings(ip.b, "-s", "8000")).toBe(true);
        });
    });

    it("an ICMP error of the endpoint reaches the client", async () => {
        const talk = await a.start(udpClient, vip("closed"), "80");
        expect(await talk.send("one")).toMatch(/ECONNREFUSED/);
    });

    it("an ICMP error of the client reaches the endpoint", async () => {
        const talk = await a.start(udpClient, vip("b"), "80");
        expect(await talk.send("one")).toBe("one");
        await talk.send("close");
        expect(await udpB.send("answer")).toMatch(/ECONNREFUSED/);
    });

    it("what kube-proxy began goes on by the host, even unknown to the switch", async () => {
        const talk = await a.start(client, vip("kubeProxy"), "80");
        expect(await talk.send("hello")).toBe(`${ip.a} 5`);
        await ovs.serve(services(family, ["kubeProxy"]));
        expect(await talk.send("hello")).toBe(`${ip.a} 5`);
        await ovs.ovs.appctl("dpctl/flush-conntrack");
        expect(await talk.send("hello")).toBe(`${ip.a} 5`);
        // a new one is the switch's
        expect(await ask(a, "kubeProxy")).toBe(`${virtual} 5`);
    });

    it("the virtual source has the gateway's MAC address", async () => {
        if (family === 6) return;
        await a.exec("ip", "route", "add", virtual, "dev", "eth0", "scope", "link");
        expect(await ask(a, "a")).toBe(`${virtual} 5`);
        expect(await a.exec("ip", "neighbour", "show", virtual)).toContain(formatMac(node.gateway.mac));
        await a.exec("ip", "route", "delete", virtual, "dev", "eth0");
    });
});
