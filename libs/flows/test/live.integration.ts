import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { formatMac } from "@antrea/ip";
import { exampleNode, examplePod, pipelineFlows, podFlows } from "./examples.ts";
import { Namespace, type Talk } from "./namespaces.ts";
import { client, reuse, server } from "./programs.ts";
import { TestSwitch } from "./switch.ts";

// Two Pods and the host's stack, each in a namespace; the host forwards, and translates a Service's address the way
// kube-proxy does, with the endpoint beside the client.
const node = exampleNode();
const pods = [examplePod(1), examplePod(2)] as const;
const service = { v4: "10.96.0.10", v6: "fd00:96::10", toB: "80", toA: "81" };

const rules = `
table inet services {
    chain prerouting {
        type nat hook prerouting priority dstnat;
        ip daddr ${service.v4} tcp dport ${service.toB} dnat ip to 10.10.0.3:8080
        ip daddr ${service.v4} tcp dport ${service.toA} dnat ip to 10.10.0.2:8080
        ip6 daddr ${service.v6} tcp dport ${service.toB} dnat ip6 to [fd00:10::3]:8080
        ip6 daddr ${service.v6} tcp dport ${service.toA} dnat ip6 to [fd00:10::2]:8080
    }
    chain postrouting {
        type nat hook postrouting priority srcnat;
        ct original ip daddr ${service.v4} ip saddr 10.10.0.2 ip daddr 10.10.0.2 masquerade
        ct original ip6 daddr ${service.v6} ip6 saddr fd00:10::2 ip6 daddr fd00:10::2 masquerade
    }
}`;

let ovs: TestSwitch;
let host: Namespace;
let a: Namespace;
let b: Namespace;
let serverOnB: Talk;

beforeAll(async () => {
    const flows = [...pipelineFlows(node).flows, ...pods.flatMap((pod) => podFlows(pod).flows)];
    ovs = await TestSwitch.start(flows);
    [host, a, b] = [await Namespace.create(), await Namespace.create(), await Namespace.create()];
    await host.take(await ovs.addPort("gw", node.gateway.ofPort), node.gateway.mac);
    await host.exec("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1");
    await host.exec("sysctl", "-qw", "net.ipv4.conf.eth0.arp_announce=1");
    await host.configure(node.gateway.ips);
    await host.exec("nft", rules);
    for (const [namespace, pod] of [[a, pods[0]] as const, [b, pods[1]] as const]) {
        await ovs.addPort("pod", pod.ofPort, await namespace.addVeth(pod.mac));
        await namespace.configure(pod.ips, node.gateway.ips);
        serverOnB = await namespace.start(server);
    }
});

afterAll(async () => {
    for (const namespace of [a, b, host]) await namespace[Symbol.asyncDispose]();
    await ovs[Symbol.asyncDispose]();
});

describe.each([
    ["IPv4", { gateway: "10.10.0.1", a: "10.10.0.2", b: "10.10.0.3", service: service.v4, free: "10.10.0.77" }],
    ["IPv6", { gateway: "fd00:10::1", a: "fd00:10::2", b: "fd00:10::3", service: service.v6, free: "fd00:10::77" }],
] as const)("%s", (family, address) => {
    const length = family === "IPv4" ? 24 : 64;

    it("pings between Pods and the gateway, both ways", async () => {
        expect(await a.pings(address.b)).toBe(true);
        expect(await a.pings(address.gateway)).toBe(true);
        expect(await host.pings(address.b)).toBe(true);
        expect(await a.pings(address.b, "-s", "4000")).toBe(true);
    });

    it("learns the neighbours' true MAC addresses", async () => {
        const neighbours = await a.exec("ip", "neighbour", "show", address.b);
        expect(neighbours).toContain(formatMac(pods[1].mac));
    });

    it("carries a TCP stream between Pods", async () => {
        const talk = await a.start(client, address.b, "8080");
        expect(await talk.send("x1000000")).toBe(`${address.a} 1000000`);
    });

    it("carries the answers of a Service's endpoint beside its client back through the host", async () => {
        const talk = await a.start(client, address.service, service.toB);
        expect(await talk.send("x100000")).toBe(`${address.a} 100000`);
    });

    // The server's side of the first is in TIME_WAIT, and half of the time the numbers of the second are older: the server
    // answers with an acknowledgement that fits no connection, the client with a reset, and then tries again (RFC 9293
    // sections 3.5.2 and 3.10.7.4).
    it.each([
        ["direct ones after those through a Service", [address.service, service.toB, address.b, "8080"]],
        ["ones through a Service after direct ones", [address.b, "8080", address.service, service.toB]],
    ])("makes connections from the same ports: %s", async (_, pairs) => {
        await a.exec("sysctl", "-qw", "net.ipv4.tcp_timestamps=0");
        const heard = await a.exec(process.execPath, "-e", reuse, "--", ...pairs);
        await a.exec("sysctl", "-qw", "net.ipv4.tcp_timestamps=1");
        expect(heard.trim()).toBe(`${address.a} 3`);
    });

    it("lets a Pod reach itself through a Service", async () => {
        const talk = await a.start(client, address.service, service.toA);
        expect(await talk.send("hello")).toBe(`${address.gateway} 5`);
    });

    it.each(["client", "server"])(
        "keeps connections, direct and through a Service, when tracking is lost and the %s speaks first",
        async (first) => {
            const direct = await a.start(client, address.b, "8080");
            const translated = await a.start(client, address.service, service.toB);
            expect([await direct.send("1"), await translated.send("1")]).toEqual([`${address.a} 1`, `${address.a} 1`]);
            await ovs.ovs.appctl("dpctl/flush-conntrack");
            if (first === "server") {
                expect(await serverOnB.send("news")).toBe("sent");
                expect([await direct.line(), await translated.line()]).toEqual(["news", "news"]);
            }
            expect([await direct.send("22"), await translated.send("22")]).toEqual([
                `${address.a} 2`,
                `${address.a} 2`,
            ]);
            expect(await translated.send("x100000")).toBe(`${address.a} 100000`);
        },
    );

    it("drops what is sent from an address that is not the Pod's", async () => {
        const noDad = family === "IPv4" ? [] : ["nodad"];
        await a.exec("ip", "address", "add", `${address.free}/${length}`, "dev", "eth0", ...noDad);
        expect(await a.pings(address.gateway, "-I", address.free)).toBe(false);
        expect(await a.pings(address.b, "-I", address.free)).toBe(false);
        await a.exec("ip", "address", "delete", `${address.free}/${length}`, "dev", "eth0");
        expect(await a.pings(address.gateway)).toBe(true);
    });

    it("drops what is sent with a MAC address that is not the Pod's", async () => {
        await a.exec("ip", "link", "set", "eth0", "address", "0a:00:00:00:00:77");
        expect(await a.pings(address.gateway)).toBe(false);
        await a.exec("ip", "link", "set", "eth0", "address", formatMac(pods[0].mac));
        expect(await a.pings(address.gateway)).toBe(true);
    });
});

describe("IPv6 in the link", () => {
    it("speaks link-local with the gateway", async () => {
        expect(await a.pings("fe80::c00:ff:fe00:1%eth0")).toBe(true);
        expect(await host.pings("fe80::800:ff:fe00:3%eth0")).toBe(true);
    });

    it("finds the Pod's own address free when the Pod asks before it uses it", async () => {
        await a.exec("ip", "address", "delete", "fd00:10::2/64", "dev", "eth0");
        await a.exec("ip", "address", "add", "fd00:10::2/64", "dev", "eth0");
        const show = (): Promise<string> => a.exec("ip", "-o", "address", "show", "dev", "eth0", "to", "fd00:10::2");
        while (/ tentative(?! dadfailed)/.test(await show()));
        expect(await show()).not.toContain("dadfailed");
        expect(await a.pings("fd00:10::1")).toBe(true);
    });
});
