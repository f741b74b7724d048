import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { formatIp, formatPrefix, parseIp, parsePrefix } from "@antrea/ip";
import {
    addAdvertisedRoute,
    Netlink,
    NeighbourState,
    RouteProtocol,
    RouteScope,
    type NetlinkEvent,
    type VethOptions,
} from "../src/index.ts";
import { ipJson, runIn, TestNamespaces, uniqueName } from "./netns.ts";

const HOST_MAC = "02:00:00:00:01:01";
const POD_MAC = "02:00:00:00:01:02";

// Both ends of all pairs are in namespaces of the test, so that nothing is left in the machine's own.
let namespaces: TestNamespaces;
let hostPath: string;
let podPath: string;
let host: Netlink;
let pod: Netlink;

function veth(changes: Partial<VethOptions> = {}): VethOptions {
    const peer = { name: "eth0", mac: POD_MAC, mtu: 1450, netnsPath: podPath };
    return { name: "veth-a", mac: HOST_MAC, mtu: 1450, peer, ...changes };
}

async function podLink(): Promise<number> {
    const link = await pod.link("eth0");
    if (link === undefined) throw new Error("no eth0");
    return link.index;
}

beforeEach(() => {
    namespaces = new TestNamespaces();
    hostPath = namespaces.add();
    podPath = namespaces.add();
    host = Netlink.openIn(hostPath);
    pod = Netlink.openIn(podPath);
});

afterEach(() => {
    host[Symbol.dispose]();
    pod[Symbol.dispose]();
    namespaces[Symbol.dispose]();
});

describe("links", () => {
    it("a veth pair is born in two namespaces with names, MACs, MTU and alias", async () => {
        const alias = "x".repeat(255);
        await host.createVeth(veth({ alias, up: true }));

        expect(ipJson(hostPath, "link", "show", "veth-a")[0]).toMatchObject({
            ifname: "veth-a",
            address: HOST_MAC,
            mtu: 1450,
            ifalias: alias,
            linkinfo: { info_kind: "veth" },
            flags: expect.arrayContaining(["UP"]),
        });
        const inPod = ipJson(podPath, "link", "show", "eth0")[0];
        expect(inPod).toMatchObject({ ifname: "eth0", address: POD_MAC, mtu: 1450 });
        const link = await host.link("veth-a");
        expect(link).toMatchObject({ name: "veth-a", kind: "veth", mac: HOST_MAC, mtu: 1450, alias, up: true });
        expect(link?.peerIndex).toBe(inPod?.ifindex);
        expect(link?.peerNetnsId).toEqual(expect.any(Number));
    });

    it("the id of a namespace is that by which a link names the place of its other end, and each namespace has its own", async () => {
        const otherPath = namespaces.add();
        await expect(host.netnsId(podPath)).resolves.toBeUndefined();
        // Ids are assigned in the order in which links are read.
        await host.createVeth(veth({ name: "veth-b", peer: { ...veth().peer, netnsPath: otherPath } }));
        await host.createVeth(veth());
        const [b, a] = [await host.link("veth-b"), await host.link("veth-a")];
        expect([b?.peerNetnsId, a?.peerNetnsId]).toEqual([expect.any(Number), expect.any(Number)]);
        expect(await host.netnsId(podPath)).toBe(a?.peerNetnsId);
        expect(await host.netnsId(otherPath)).toBe(b?.peerNetnsId);
        expect(a?.peerNetnsId).not.toBe(b?.peerNetnsId);
        await expect(pod.netnsId(hostPath)).resolves.toBeUndefined();
        const inPod = await pod.link("eth0");
        expect(inPod?.peerNetnsId).toEqual(expect.any(Number));
        expect(await pod.netnsId(hostPath)).toBe(inPod?.peerNetnsId);
        await expect(pod.netnsId(otherPath)).resolves.toBeUndefined();
        // The kernel reports no id for a pair in one namespace.
        runIn(hostPath, "ip", "link", "add", "veth-c", "type", "veth", "peer", "name", "veth-d");
        const inHost = await host.link("veth-c");
        expect(inHost?.peerIndex).toBe((await host.link("veth-d"))?.index);
        expect(inHost).not.toHaveProperty("peerNetnsId");
    });

    it("the id of what is no namespace is refused by name", async () => {
        await expect(host.netnsId("/proc/self/status")).rejects.toMatchObject({ code: "NOT_A_NETNS" });
        const elsewhere = { ...veth().peer, netnsPath: "/proc/self/status" };
        await expect(host.createVeth(veth({ name: "veth-c", peer: elsewhere }))).rejects.toMatchObject({
            code: "NOT_A_NETNS",
        });
        await expect(host.link("veth-c")).resolves.toBeUndefined();
        await expect(host.netnsId(`${podPath}-gone`)).rejects.toMatchObject({ code: "ENOENT" });
    });

    it("a veth pair has the queues asked for, at both ends", async () => {
        await host.createVeth(veth({ queues: 1 }));
        const one = { num_tx_queues: 1, num_rx_queues: 1 };
        expect(ipJson(hostPath, "link", "show", "veth-a")).toMatchObject([one]);
        expect(ipJson(podPath, "link", "show", "eth0")).toMatchObject([one]);
    });

    it("the host end has its group from birth, and another one later", async () => {
        await host.createVeth(veth({ group: 178 }));
        const groups = async (): Promise<unknown> => [
            (await host.link("veth-a"))?.group,
            (await pod.link("eth0"))?.group,
            ipJson(hostPath, "link", "show", "veth-a")[0]?.["group"],
        ];
        expect(await groups()).toEqual([178, 0, "178"]);
        await host.setLink((await host.link("veth-a"))?.index ?? 0, { group: 0 });
        expect(await groups()).toEqual([0, 0, "default"]);
        await expect(host.setLink(1, { group: -1 })).rejects.toMatchObject({ code: "BAD_ARGUMENT" });
    });

    it("all links are those of ip", async () => {
        await host.createVeth(veth());
        const links = await pod.links();
        expect(links.map(({ index, name, mac, mtu, kind }) => ({ index, name, mac, mtu, kind }))).toEqual(
            ipJson(podPath, "link", "show").map((link) => ({
                index: link["ifindex"],
                name: link["ifname"],
                mac: link["address"],
                mtu: link["mtu"],
                kind: (link["linkinfo"] as { info_kind: string } | undefined)?.info_kind,
            })),
        );
    });

    it.each([
        [
            "on the host",
            (options: VethOptions): VethOptions => ({ ...options, peer: { ...options.peer, name: "eth1" } }),
        ],
        ["in the Pod", (options: VethOptions): VethOptions => ({ ...options, name: "veth-b" })],
    ])("a name that is taken %s is EEXIST and changes nothing", async (_, change) => {
        await host.createVeth(veth({ alias: "first" }));
        // a namespace may have links from birth, those of tunnels
        const names = async (): Promise<unknown> =>
            Promise.all([host, pod].map(async (one) => (await one.links()).map(({ name }) => name)));
        const before = await names();
        await expect(host.createVeth(change(veth({ alias: "second" })))).rejects.toMatchObject({ code: "EEXIST" });
        expect(await names()).toEqual(before);
        await expect(host.link("veth-a")).resolves.toMatchObject({ alias: "first" });
    });

    it("are changed, renamed, found by alternative name, moved", async () => {
        await host.createVeth(veth());
        const index = (await host.link("veth-a"))?.index ?? 0;
        await host.setLink(index, { name: "veth-b", mtu: 1400, mac: "02:00:00:00:01:03", alias: "a", up: true });
        await host.addAltName(index, "a-name-longer-than-fifteen");
        await expect(host.addAltName(index, "a-name-longer-than-fifteen")).rejects.toMatchObject({ code: "EEXIST" });
        expect(ipJson(hostPath, "link", "show", "veth-b")[0]?.["altnames"]).toEqual(["a-name-longer-than-fifteen"]);
        await expect(host.link("a-name-longer-than-fifteen")).resolves.toMatchObject({
            index,
            name: "veth-b",
            mtu: 1400,
            mac: "02:00:00:00:01:03",
            alias: "a",
            up: true,
            altNames: ["a-name-longer-than-fifteen"],
        });
        await host.setLink(index, { up: false, alias: "" });
        const link = await host.link(index);
        expect(link).toMatchObject({ up: false });
        expect(link).not.toHaveProperty("alias");
        await expect(host.deleteAltName(index, "a-name-longer-than-fifteen")).resolves.toBe(true);
        await expect(host.deleteAltName(index, "a-name-longer-than-fifteen")).resolves.toBe(false);
        await host.setLink(index, { promiscuous: true });
        await expect(host.link(index)).resolves.toMatchObject({ promiscuous: true, up: false, altNames: [] });
        await host.setLink(index, { promiscuous: false });
        await host.setLink(index, { netnsPath: podPath });
        await expect(pod.link("veth-b")).resolves.toMatchObject({ kind: "veth" });
        await expect(host.link("veth-b")).resolves.toBeUndefined();
    });

    it("are deleted once, on a thread, and calls made meanwhile come after", async () => {
        await host.createVeth(veth());
        const done = Promise.all([host.deleteLink("veth-a"), host.link("veth-a"), host.deleteLink("veth-a")]);
        await expect(done).resolves.toEqual([true, undefined, false]);
        await expect(pod.link("eth0")).resolves.toBeUndefined();
    });
});

describe("addresses and routes", () => {
    beforeEach(async () => {
        await host.createVeth(veth({ up: true }));
    });

    it("of a Pod go in one batch, as ip shows them", async () => {
        const index = await podLink();
        await pod.batch((batch) => {
            batch
                .setLink(index, { up: true })
                .addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 24 })
                .addAddress({ index, ip: parseIp("fd00::3"), prefixLength: 64, noDad: true })
                .replaceRoute({ dst: "default", via: parseIp("10.1.2.1"), dev: index })
                .replaceRoute({ dst: "default", via: parseIp("fd00::1"), dev: index });
        });
        // The kernel adds the link-local address when it detects the carrier, maybe between two checks.
        const shown = ipJson(podPath, "address", "show", "eth0")[0]?.["addr_info"] as Record<string, unknown>[];
        const infos = shown.filter((info) => info["scope"] !== "link");
        expect(infos).toEqual([
            expect.objectContaining({ local: "10.1.2.3", prefixlen: 24, broadcast: "10.1.2.255", scope: "global" }),
            expect.objectContaining({ local: "fd00::3", prefixlen: 64, nodad: true }),
        ]);
        const addresses = (await pod.addresses(index)).filter(({ scope }) => scope !== RouteScope.LINK);
        expect(addresses.map(({ ip, prefixLength }) => `${formatIp(ip)}/${prefixLength}`)).toEqual(
            infos.map((info) => `${String(info["local"])}/${String(info["prefixlen"])}`),
        );
        expect(addresses.find(({ ip }) => formatIp(ip) === "fd00::3")).toMatchObject({ tentative: false });
        expect(ipJson(podPath, "route", "show", "default")).toMatchObject([
            { gateway: "10.1.2.1", protocol: "static" },
        ]);
        expect(ipJson(podPath, "-6", "route", "show", "default")).toMatchObject([{ gateway: "fd00::1" }]);
    });

    it("of addresses EEXIST is reported, replacing is not refused, deleting twice is no error", async () => {
        const index = await podLink();
        const address = { index, ip: parseIp("10.1.2.3"), prefixLength: 24 };
        await pod.addAddress(address);
        await expect(pod.addAddress(address)).rejects.toMatchObject({
            code: "EEXIST",
            message: expect.stringContaining(`add address 10.1.2.3/24 on link ${index}`),
        });
        await pod.replaceAddress(address);
        await expect(pod.addresses(index)).resolves.toHaveLength(1);
        await expect(pod.deleteAddress(address)).resolves.toBe(true);
        await expect(pod.deleteAddress(address)).resolves.toBe(false);
    });

    it("an address is deleted by its prefix length and its peer, too", async () => {
        const index = await podLink();
        const ip = parseIp("10.1.2.3");
        const lengths = async (): Promise<readonly number[]> =>
            (await pod.addresses(index)).map(({ prefixLength }) => prefixLength);
        await pod.addAddress({ index, ip, prefixLength: 24 });
        await pod.addAddress({ index, ip, prefixLength: 16 });
        await expect(pod.deleteAddress({ index, ip, prefixLength: 16 })).resolves.toBe(true);
        await expect(lengths()).resolves.toEqual([24]);
        await expect(pod.deleteAddress({ index, ip, prefixLength: 16 })).resolves.toBe(false);
        const behind = { index, ip: parseIp("10.1.3.3"), prefixLength: 32 };
        const peer = parseIp("10.1.3.4");
        await pod.addAddress({ ...behind, peer });
        await expect(pod.deleteAddress(behind)).resolves.toBe(false);
        await expect(pod.deleteAddress({ ...behind, peer })).resolves.toBe(true);
        const six = { index, ip: parseIp("fd00::3"), noDad: true };
        await pod.addAddress({ ...six, prefixLength: 64 });
        await expect(pod.deleteAddress({ ...six, prefixLength: 48 })).resolves.toBe(false);
        await expect(lengths()).resolves.toEqual([24, 64]);
        await expect(pod.deleteAddress({ ...six, prefixLength: 64 })).resolves.toBe(true);
    });

    it("a batch reports which change was refused and why in the kernel's words; the others are done", async () => {
        const index = await podLink();
        const failing = pod.batch((batch) =>
            batch
                .setLink(index, { up: true })
                .addAddress({ index: 999, ip: parseIp("10.9.9.9"), prefixLength: 24 })
                .addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 24 }),
        );
        await expect(failing).rejects.toMatchObject({
            code: "ENODEV",
            message: expect.stringMatching(/^add address 10\.9\.9\.9\/24 on link 999: ENODEV .*the kernel reports: /),
            details: { index: 1, failures: 1 },
        });
        await expect(pod.addresses(index)).resolves.toContainEqual(
            expect.objectContaining({ ip: parseIp("10.1.2.3") }),
        );
    });

    it("an address keeps its lifetime, label, metric and peer, as ip shows them", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        const lifetime = { preferredSeconds: 300, validSeconds: 600 };
        const key = { index, ip: parseIp("10.1.2.3"), prefixLength: 32, peer: parseIp("10.1.2.4") };
        await pod.addAddress({ ...key, broadcast: "none", label: "eth0:a", metric: 50, lifetime, protocol: 9 });
        await pod.addAddress({ index, ip: parseIp("fd00::3"), prefixLength: 64, noDad: true, lifetime });
        // Replaced without the flag it stays usable, and the flag is gone.
        await pod.replaceAddress({ index, ip: parseIp("fd00::3"), prefixLength: 64, lifetime });
        const shown = ipJson(podPath, "address", "show", "eth0")[0]?.["addr_info"] as Record<string, unknown>[];
        expect(shown).toEqual(
            expect.arrayContaining([
                expect.objectContaining({ local: "10.1.2.3", address: "10.1.2.4", label: "eth0:a", metric: 50 }),
                expect.objectContaining({ local: "fd00::3", dynamic: true }),
            ]),
        );
        const six = shown.find(({ local }) => local === "fd00::3");
        expect(six).not.toHaveProperty("nodad");
        expect(six).not.toHaveProperty("tentative");
        const read = (await pod.addresses(index)).find(({ ip }) => ip.family === 4);
        expect(read).toMatchObject({ ...key, label: "eth0:a", metric: 50, permanent: false, protocol: 9 });
        expect(read).not.toHaveProperty("broadcast");
        expect(read?.lifetime?.validSeconds).toBeGreaterThan(590);
        expect(read?.lifetime?.preferredSeconds).toBeLessThanOrEqual(300);
        await expect(pod.deleteAddress(key)).resolves.toBe(true);
    });

    it("rules are added, listed and deleted, beside those of others", async () => {
        const before = await pod.rules();
        expect(before).toContainEqual({ family: 4, priority: 32766, table: 254, mark: 0, mask: 0, protocol: 2 });
        const mine = ([4, 6] as const).map((family) => ({
            family,
            priority: 181,
            table: 300,
            mark: 0x800_0000,
            mask: 0x800_0000,
            protocol: 99,
        }));
        await pod.batch((batch) => mine.forEach((rule) => batch.addRule(rule)));
        expect(runIn(podPath, "ip", "rule")).toContain("181:\tfrom all fwmark 0x8000000/0x8000000 lookup 300 proto");
        expect((await pod.rules()).filter(({ protocol }) => protocol === 99)).toEqual(mine);
        await expect(pod.batch((batch) => mine.forEach((rule) => batch.addRule(rule)))).rejects.toMatchObject({
            code: "EEXIST",
        });
        for (let times = 0; times < 2; times += 1) {
            await pod.batch((batch) => mine.forEach((rule) => batch.deleteRule(rule)));
            expect(await pod.rules()).toEqual(before);
        }
    });

    it("routes are appended, with metrics, type of service, preference and expiry, as ip shows them", async () => {
        const index = await podLink();
        await pod.batch((batch) =>
            batch
                .setLink(index, { up: true })
                .addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 24 })
                .addAddress({ index, ip: parseIp("fd00::3"), prefixLength: 64, noDad: true }),
        );
        const dst = parsePrefix("198.51.100.0/24");
        const metrics = { 1: 4, 2: 1300, 8: 1200, 16: "cubic" };
        const four = { dst, dev: index, via: parseIp("10.1.2.1"), protocol: 99, tos: 0x10, metrics };
        await pod.appendRoute(four);
        await expect(pod.appendRoute(four)).rejects.toMatchObject({ code: "EEXIST" });
        await pod.appendRoute({ ...four, via: parseIp("10.1.2.2") });
        const routes = await pod.routes({ protocol: 99 });
        expect(routes.map(({ via }) => via && formatIp(via))).toEqual(["10.1.2.1", "10.1.2.2"]);
        expect(routes[0]).toMatchObject(four);
        expect(runIn(podPath, "ip", "route", "show", "198.51.100.0/24")).toContain(
            "mtu lock 1300 advmss 1200 congctl cubic",
        );
        await expect(pod.batch((batch) => batch.addRoute(four))).rejects.toMatchObject({ code: "EEXIST" });
        await pod.batch((batch) => batch.addRoute({ ...four, metric: 5 }));
        await pod.deleteRoute({ ...four, metric: 5 });
        const six = { dst: parsePrefix("2001:db8::/32"), dev: index, via: parseIp("fd00::1"), protocol: 9, metric: 7 };
        await pod.replaceRoute({ ...six, expiresSeconds: 300, preference: 3 });
        const [read] = await pod.routes({ protocol: 9 });
        expect(read).toMatchObject({ ...six, preference: 3 });
        expect(read?.expiresSeconds).toBeGreaterThan(295);
    });

    it("a default route is taken for one that a router advertised", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        const route = { index, via: parseIp("fe80::1"), metric: 1025, expiresSeconds: 300, preference: 3 };
        addAdvertisedRoute(route, podPath);
        expect(() => addAdvertisedRoute(route, podPath)).toThrow(expect.objectContaining({ code: "EEXIST" }));
        const [read] = (await pod.routes({ family: 6, dev: index })).filter(({ dst }) => dst.length === 0);
        expect(read).toMatchObject({ via: route.via, metric: 1025, preference: 3, protocol: RouteProtocol.BOOT });
        expect(read?.expiresSeconds).toBeGreaterThan(295);
        // RTF_ADDRCONF and RTF_DEFAULT, by which the kernel identifies advertised routes.
        const flags = runIn(podPath, "cat", "/proc/net/ipv6_route").match(/ 00000401 .* ([0-9a-f]{8}) +eth0$/m)?.[1];
        expect(Number(`0x${flags}`) & 0x5_0000).toBe(0x5_0000);
    });

    it("of routes it is informed that they use a next hop object or a tunnel", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        await pod.addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 24 });
        runIn(podPath, "ip", "nexthop", "add", "id", "77", "via", "10.1.2.1", "dev", "eth0");
        runIn(podPath, "ip", "route", "add", "198.18.1.0/24", "nhid", "77");
        const encap = ["encap", "ip", "id", "5", "dst", "10.1.2.9", "via", "10.1.2.1", "dev", "eth0"];
        runIn(podPath, "ip", "route", "add", "198.18.2.0/24", ...encap);
        const routes = await pod.routes({ family: 4, dev: index, table: 254 });
        const found = routes.map(({ dst, nextHopId, encapType }) => [
            formatPrefix(dst),
            nextHopId,
            encapType !== undefined,
        ]);
        expect(found).toEqual([
            ["10.1.2.0/24", undefined, false],
            ["198.18.1.0/24", 77, false],
            ["198.18.2.0/24", undefined, true],
        ]);
    });

    it("a neighbour that is probed becomes reachable or fails", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        await pod.addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 24 });
        const hostIndex = (await host.link("veth-a"))?.index ?? 0;
        await host.addAddress({ index: hostIndex, ip: parseIp("10.1.2.1"), prefixLength: 24 });
        const there = { index, ip: parseIp("10.1.2.1") };
        const stateOf = async (text: string): Promise<number> => {
            for (;;) {
                const entry = (await pod.neighbours(index)).find(({ ip }) => formatIp(ip) === text);
                const state = entry?.state ?? 0;
                if ((state & (NeighbourState.REACHABLE | NeighbourState.FAILED)) !== 0) return state;
                await sleep(10);
            }
        };
        await pod.probeNeighbour(there);
        expect(await stateOf("10.1.2.1")).toBe(NeighbourState.REACHABLE);
        await pod.replaceNeighbour({ ...there, mac: HOST_MAC, state: NeighbourState.STALE });
        await pod.probeNeighbour({ ...there, mac: HOST_MAC });
        expect(await stateOf("10.1.2.1")).toBe(NeighbourState.REACHABLE);
        await pod.probeNeighbour({ index, ip: parseIp("10.1.2.200") });
        expect(await stateOf("10.1.2.200")).toBe(NeighbourState.FAILED);
    });

    it("routes are replaced in place and deleted once", async () => {
        const index = await podLink();
        await pod.batch((batch) =>
            batch
                .setLink(index, { up: true })
                .addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 24 })
                .addAddress({ index, ip: parseIp("fd00::3"), prefixLength: 64, noDad: true }),
        );
        for (const [dst, first, second] of [
            ["198.51.100.0/24", "10.1.2.1", "10.1.2.2"],
            ["2001:db8::/32", "fd00::1", "fd00::2"],
        ] as const) {
            const route = { dst: parsePrefix(dst), dev: index, table: 1000, metric: 50, mtu: 1300 };
            await pod.replaceRoute({ ...route, via: parseIp(first), protocol: 99 });
            await pod.replaceRoute({ ...route, via: parseIp(second), protocol: 99, src: undefined });
            await expect(pod.routes({ table: 1000 })).resolves.toEqual([
                expect.objectContaining({ ...route, via: parseIp(second), protocol: 99 }),
            ]);
            const removal = { dst: route.dst, dev: index, table: 1000 };
            await expect(pod.deleteRoute(removal)).resolves.toBe(true);
            await expect(pod.deleteRoute(removal)).resolves.toBe(false);
            await expect(pod.routes({ table: 1000 })).resolves.toEqual([]);
        }
        await expect(pod.routes({ table: 4711 })).resolves.toEqual([]);
    });

    it("a gateway off the link is refused unless onlink", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        await pod.addAddress({ index, ip: parseIp("10.1.2.3"), prefixLength: 32 });
        const route = { dst: "default", via: parseIp("169.254.1.1"), dev: index, src: parseIp("10.1.2.3") } as const;
        await expect(pod.replaceRoute(route)).rejects.toMatchObject({ code: "ENETUNREACH" });
        await pod.replaceRoute({ ...route, onlink: true });
        expect(ipJson(podPath, "route", "show", "default")).toMatchObject([
            { gateway: "169.254.1.1", flags: ["onlink"], prefsrc: "10.1.2.3" },
        ]);
        await pod.replaceRoute({ dst: parsePrefix("192.0.2.0/24"), type: 6 });
        expect(ipJson(podPath, "route", "show", "192.0.2.0/24")).toMatchObject([{ type: "blackhole" }]);
    });

    it("2,000 routes go in one batch, come back in one dump, filtered by the kernel", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        const base = parsePrefix("100.64.0.0/10").base;
        const prefixes = Array.from({ length: 2_000 }, (_, at) => ({
            family: 4 as const,
            base: base + BigInt(at) * 256n,
            length: 24,
        }));
        await pod.batch((batch) => {
            for (const dst of prefixes) batch.replaceRoute({ dst, dev: index, protocol: 99 });
        });
        const routes = await pod.routes({ family: 4, protocol: 99, dev: index });
        expect(routes.map(({ dst }) => formatPrefix(dst)).sort()).toEqual(prefixes.map(formatPrefix).sort());
        await expect(pod.routes({ family: 4, protocol: RouteProtocol.STATIC })).resolves.toEqual([]);
        const all = await pod.routes({ family: 4 });
        expect(all).toHaveLength(ipJson(podPath, "-4", "route", "show", "table", "all").length);
    });

    it("neighbours are replaced, listed, deleted once", async () => {
        const index = await podLink();
        await pod.setLink(index, { up: true });
        for (const text of ["10.1.2.9", "fd00::9"]) {
            const key = { index, ip: parseIp(text) };
            await pod.replaceNeighbour({ ...key, mac: "02:00:00:00:00:08" });
            await pod.replaceNeighbour({ ...key, mac: "02:00:00:00:00:09" });
            expect((await pod.neighbours(index)).filter(({ ip }) => formatIp(ip) === text)).toEqual([
                { ...key, mac: "02:00:00:00:00:09", state: 0x80, flags: 0 },
            ]);
            expect(ipJson(podPath, "neigh", "show", text)).toMatchObject([{ lladdr: "02:00:00:00:00:09" }]);
            await expect(pod.deleteNeighbour(key)).resolves.toBe(true);
            await expect(pod.deleteNeighbour(key)).resolves.toBe(false);
        }
    });
});

describe("subscribe", () => {
    it("reports what changes in its namespace after it returns, until disposed", async () => {
        const seen: NetlinkEvent[] = [];
        let wake = (): void => undefined;
        const subscription = host.subscribe(["link", "address", "route", "neighbour"], (event) => {
            seen.push(event);
            wake();
        });
        const until = async (found: (event: NetlinkEvent) => boolean): Promise<void> => {
            while (!seen.some(found)) await new Promise<void>((resolve) => (wake = resolve));
        };
        await host.createVeth(veth({ up: true }));
        const index = (await host.link("veth-a"))?.index ?? 0;
        const ip = parseIp("10.1.2.1");
        const dst = parsePrefix("192.0.2.0/24");
        await pod.setLink(await podLink(), { up: true });
        await host.addAddress({ index, ip, prefixLength: 24 });
        await host.replaceRoute({ dst, dev: index });
        await host.replaceNeighbour({ index, ip: parseIp("10.1.2.9"), mac: POD_MAC });
        await host.deleteAddress({ index, ip, prefixLength: 24 });
        await host.deleteLink(index);
        await until((event) => event.type === "link" && event.deleted && event.link.name === "veth-a");
        expect(seen).toEqual(
            expect.arrayContaining([
                { type: "link", deleted: false, link: expect.objectContaining({ name: "veth-a", up: true }) },
                { type: "address", deleted: false, address: expect.objectContaining({ index, ip }) },
                { type: "address", deleted: true, address: expect.objectContaining({ index, ip }) },
                { type: "route", deleted: false, route: expect.objectContaining({ dst, dev: index }) },
                { type: "neighbour", deleted: false, neighbour: expect.objectContaining({ ip: parseIp("10.1.2.9") }) },
            ]),
        );
        subscription[Symbol.dispose]();
        subscription[Symbol.dispose]();
        const before = seen.length;
        await host.createVeth(veth());
        await new Promise((resolve) => setImmediate(resolve));
        expect(seen).toHaveLength(before);
    });

    it("reports overrun when events were lost, and goes on", async () => {
        await host.createVeth(veth());
        const index = (await host.link("veth-a"))?.index ?? 0;
        const events: NetlinkEvent[] = [];
        const overrun = Promise.withResolvers<void>();
        const last = Promise.withResolvers<void>();
        const listener = (event: NetlinkEvent): void => {
            events.push(event);
            if (event.type === "overrun") overrun.resolve();
            if (event.type === "route" && event.route.metric === 7) last.resolve();
        };
        using _ = host.subscribe(["route"], listener, { receiveBufferBytes: 16_384 });
        await host.setLink(index, { up: true });
        // All within one turn of the event loop, so that nothing is read in between.
        const base = parsePrefix("10.0.0.0/8").base;
        void host.batch((batch) => {
            for (let at = 0n; at < 200n; at++) {
                batch.replaceRoute({ dst: { family: 4, base: base + at * 256n, length: 24 }, dev: index });
            }
        });
        await overrun.promise;
        await host.replaceRoute({ dst: parsePrefix("192.0.2.0/24"), dev: index, metric: 7 });
        await last.promise;
        expect(events.some(({ type }) => type === "error")).toBe(false);
    });
});

describe("sockets", () => {
    it("leak no descriptor, whatever goes wrong", async () => {
        await host.createVeth(veth());
        // Handles of closed watchers are released in the next turn of the event loop.
        const count = async (): Promise<number> => {
            await new Promise((resolve) => setImmediate(resolve));
            return readdirSync("/proc/self/fd").length;
        };
        const before = await count();
        for (let cycle = 0; cycle < 500; cycle++) {
            using inside = Netlink.openIn(podPath);
            expect(() => Netlink.openIn("/proc/self/status")).toThrow(expect.objectContaining({ code: "NOT_A_NETNS" }));
            using _ = inside.subscribe(["link"], () => undefined);
            if (cycle % 50 === 0) {
                await expect(host.createVeth(veth())).rejects.toMatchObject({ code: "EEXIST" });
                await inside.link("eth0");
                await inside.netnsId(hostPath);
                await expect(inside.netnsId("/proc/self/status")).rejects.toMatchObject({ code: "NOT_A_NETNS" });
            }
        }
        expect(await count()).toBe(before);
    });

    it("keep their namespace when its path is gone, and refuse calls after dispose", async () => {
        await host.createVeth(veth());
        namespaces[Symbol.dispose]();
        await expect(pod.link("eth0")).resolves.toMatchObject({ name: "eth0" });
        const underWay = pod.deleteLink("eth0");
        pod[Symbol.dispose]();
        pod[Symbol.dispose]();
        await expect(underWay).resolves.toBe(true);
        await expect(pod.links()).rejects.toMatchObject({ code: "CLOSED" });
        expect(() => pod.subscribe(["link"], () => undefined)).toThrow(expect.objectContaining({ code: "CLOSED" }));
    });

    it("opened without a path see the namespace of the process", async () => {
        using own = Netlink.open();
        const name = uniqueName();
        await expect(own.link("lo")).resolves.toMatchObject({ index: 1, loopback: true });
        await expect(own.link(name)).resolves.toBeUndefined();
    });
});
