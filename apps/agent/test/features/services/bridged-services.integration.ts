import { execFileSync } from "node:child_process";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { services } from "@antrea/kube";
import { eventually } from "../../support/eventually.ts";
import { ask, PodProgram } from "../../support/pod-programs.ts";
import {
    BridgedNetwork,
    bridgingSettings,
    gatewayIps,
    nodeIps,
    outsideIps,
    virtualIps,
    type PlaceName,
} from "./bridged-network.ts";

const withAll = { ...bridgingSettings, antreaProxy: { proxyAll: true } };
/** A port of TCP and one of UDP of one number. */
const ports = [
    { name: "t", port: 80 },
    { name: "u", port: 80, protocol: "UDP" },
] as const;

let network: BridgedNetwork;

beforeAll(async () => {
    network = await BridgedNetwork.start(withAll);
});
afterAll(() => network?.[Symbol.asyncDispose]());

/** What a new connection hears, once it is what is wanted, or what it hears after ten seconds. */
const heard = (from: PlaceName, host: string, wanted: string, port = 80): Promise<string> =>
    eventually(
        () => ask(network.place(from), host, port),
        (text) => text === wanted,
        10_000,
    );

/** The same for datagrams of a socket. */
const answered = (socket: PodProgram, wanted: string): Promise<string> =>
    eventually(
        () => socket.send("hello"),
        (text) => text === wanted,
        15_000,
    );

async function nodePortOf(name: string): Promise<number> {
    const { spec } = await network.cluster.api.get(services, { namespace: "default", name });
    return spec?.ports?.[0]?.nodePort ?? 0;
}

describe.each([4, 6] as const)("Services of IPv%d", (family) => {
    let name = "";
    let vip = "";
    let count = 0;

    const at = (place: PlaceName): string => network.at(place, family);
    const add = async (spec: Readonly<Record<string, unknown>> = {}): Promise<void> => {
        count += 1;
        name = `service-${family}-${count}`;
        vip = (await network.cluster.addService(name, ports, spec))[family === 4 ? 0 : 1];
    };
    const lead = (...to: readonly PlaceName[]): Promise<void> =>
        network.cluster.setEndpoints(name, family, to.map(at), ports);

    afterEach(() => network.cluster.deleteService(name));

    it.each<[from: PlaceName, to: PlaceName]>([
        ["p", "q"],
        ["p", "s"],
        ["p", "a"],
        ["p", "host"],
        ["p", "outside"],
        ["r", "s"],
        ["r", "q"],
        ["r", "a"],
        ["r", "host"],
        ["r", "outside"],
        ["a", "q"],
        ["a", "s"],
        ["a", "outside"],
        ["a", "host"],
    ])("lead %s to %s, which sees its address", async (from, to) => {
        await add();
        await lead(to);
        expect(await heard(from, vip, `${to} ${at(from)}`)).toBe(`${to} ${at(from)}`);
        // in every mode the Node answers datagrams of its own Pods from the gateway's address
        if (from === "a" && to === "host") return;
        await using socket = await PodProgram.datagrams(network.place(from), vip, 80);
        expect(await answered(socket, `${to} ${at(from)}`)).toBe(`${to} ${at(from)}`);
    });

    it.each<PlaceName>(["a", "p", "r", "host"])("lead %s to itself, which sees the virtual source", async (place) => {
        await add();
        await lead(place);
        const wanted = `${place} ${virtualIps[family]}`;
        expect(await heard(place, vip, wanted)).toBe(wanted);
    });

    it.each<[to: PlaceName, seen: string]>([
        ["a", gatewayIps[family]],
        ["q", gatewayIps[family]],
        ["s", virtualIps[family]],
        ["outside", nodeIps[family]],
    ])("lead the Node to %s", async (to, seen) => {
        await add();
        await lead(to);
        expect(await heard("host", vip, `${to} ${seen}`)).toBe(`${to} ${seen}`);
    });

    it.each<[to: PlaceName, seen: string]>([
        ["a", outsideIps[family]],
        ["q", outsideIps[family]],
        ["s", virtualIps[family]],
        ["host", virtualIps[family]],
    ])("lead the outside by a NodePort to %s", async (to, seen) => {
        await add({ type: "NodePort" });
        await lead(to);
        const wanted = `${to} ${seen}`;
        expect(await heard("outside", nodeIps[family], wanted, await nodePortOf(name))).toBe(wanted);
    });

    // the Node is in VLAN 0, so that p does not send to it by the router, which leads to VLAN 2
    it.each<[from: PlaceName, to: PlaceName, seen: PlaceName]>([
        ["p", "q", "p"],
        ["p", "s", "host"],
        ["r", "s", "r"],
        ["r", "q", "r"],
    ])("lead %s by a NodePort of its Node to %s, which sees the address of %s", async (from, to, seen) => {
        await add({ type: "NodePort" });
        await lead(to);
        const wanted = `${to} ${at(seen)}`;
        expect(await heard(from, nodeIps[family], wanted, await nodePortOf(name))).toBe(wanted);
    });

    it.each<PlaceName>(["p", "r", "host"])("without endpoints refuse %s at once", async (from) => {
        await add();
        expect(await heard(from, vip, "ECONNREFUSED")).toBe("ECONNREFUSED");
        await using socket = await PodProgram.datagrams(network.place(from), vip, 80);
        expect(await answered(socket, "ECONNREFUSED")).toBe("ECONNREFUSED");
    });

    it.each<PlaceName>(["a", "p", "r"])(
        "of UDP lead %s, which keeps its port, away from an endpoint that stops serving",
        async (from) => {
            await add();
            await using socket = await PodProgram.datagrams(network.place(from), vip, 80);
            await lead("q");
            expect(await answered(socket, `q ${at(from)}`)).toBe(`q ${at(from)}`);
            await lead("s");
            expect(await answered(socket, `s ${at(from)}`)).toBe(`s ${at(from)}`);
            await lead();
            expect(await answered(socket, "ECONNREFUSED")).toBe("ECONNREFUSED");
        },
    );

    it("of UDP lead a Pod that comes back into its VLAN, where nobody was meanwhile, to who serves now", async () => {
        await add();
        await using socket = await PodProgram.datagrams(network.place("r"), vip, 80);
        await lead("q");
        expect(await answered(socket, `q ${at("r")}`)).toBe(`q ${at("r")}`);
        await network.leave("r", "s");
        await lead("p");
        expect(await heard("q", vip, `p ${at("q")}`)).toBe(`p ${at("q")}`);
        // until connections were compared for the last time after the change
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        await network.join("r", "s");
        expect(await answered(socket, `p ${at("r")}`)).toBe(`p ${at("r")}`);
    });

    it.each<PlaceName>(["p", "r"])("reset a connection of %s that OVS has lost", async (from) => {
        await add();
        await lead("q");
        expect(await heard(from, vip, `q ${at(from)}`)).toBe(`q ${at(from)}`);
        await using established = PodProgram.connect(network.place(from), vip, 80);
        expect(await established.line()).toBe("connected");
        expect(await established.send("hello")).toBe(`q ${at(from)}`);
        await network.cluster.node.ovs.appctl("dpctl/flush-conntrack");
        expect(await established.send("hello")).toBe("ECONNRESET");
    });

    it.each<PlaceName>(["p", "r"])("with affinity lead %s to one endpoint, while it serves", async (from) => {
        await add({ sessionAffinity: "ClientIP" });
        await lead("q", "s");
        const isServed = (text: string): boolean => text.endsWith(at(from));
        const first = await eventually(() => ask(network.place(from), vip, 80), isServed, 10_000);
        const answers = new Set<string>();
        for (let times = 0; times < 8; times += 1) answers.add(await ask(network.place(from), vip, 80));
        expect([...answers]).toEqual([first]);
        const other = first.startsWith("q") ? "s" : "q";
        await lead(other);
        expect(await heard(from, vip, `${other} ${at(from)}`)).toBe(`${other} ${at(from)}`);
    });
});

/** What kube-proxy would do for these addresses, which OVS does not know. */
const ofKubeProxy = { 4: "10.96.200.1", 6: "fd00:10:96::c801" } as const;

describe.each([
    ["with proxyAll", withAll],
    ["without proxyAll", bridgingSettings],
] as const)("beside kube-proxy, %s", (_name, settings) => {
    beforeAll(async () => {
        await network.cluster.stopAgent();
        await network.cluster.startAgent(settings);
        const rules = ([4, 6] as const).flatMap((family) => {
            const [ip, to] = [family === 4 ? "ip" : "ip6", network.at("a", family)];
            const target = family === 4 ? `${to}:8080` : `[${to}]:8080`;
            return `add rule inet kube pre ${ip} daddr ${ofKubeProxy[family]} tcp dport 80 dnat ${ip} to ${target}
                add rule inet kube post ct status dnat ${ip} saddr ${virtualIps[family]} masquerade`;
        });
        const chains = `add table inet kube; delete table inet kube; add table inet kube
            add chain inet kube pre { type nat hook prerouting priority dstnat; }
            add chain inet kube post { type nat hook postrouting priority srcnat; }`;
        execFileSync("nft", ["-f", "-"], { input: `${chains}\n${rules.join("\n")}\n` });
    });
    afterAll(async () => {
        execFileSync("nft", ["delete", "table", "inet", "kube"]);
        await network.cluster.stopAgent();
        await network.cluster.startAgent(withAll);
    });

    it.each(([4, 6] as const).flatMap((family) => (["p", "r"] as const).map((from) => [from, family] as const)))(
        "%s reaches what OVS does not serve over IPv%d; the endpoint sees the Node",
        async (from, family) => {
            const wanted = `a ${gatewayIps[family]}`;
            expect(await heard(from, ofKubeProxy[family], wanted)).toBe(wanted);
        },
    );

    it.each(
        ([4, 6] as const).flatMap((family) =>
            (["p", "r", "a"] as const).flatMap((from) =>
                (["q", "s"] as const).map((to) => [from, to, family] as const),
            ),
        ),
    )("%s reaches %s by what OVS serves over IPv%d; the endpoint sees the Pod", async (from, to, family) => {
        const vips = await network.cluster.addService("beside", ports);
        await network.cluster.setEndpoints("beside", family, [network.at(to, family)], ports);
        const vip = vips[family === 4 ? 0 : 1];
        const wanted = `${to} ${network.at(from, family)}`;
        expect(await heard(from, vip, wanted)).toBe(wanted);
        await using socket = await PodProgram.datagrams(network.place(from), vip, 80);
        expect(await answered(socket, wanted)).toBe(wanted);
        await network.cluster.setEndpoints("beside", family, [], ports);
        expect(await answered(socket, "ECONNREFUSED")).toBe("ECONNREFUSED");
        await network.cluster.deleteService("beside");
    });
});

describe("the route of answers from kube-proxy", () => {
    const routes = (family: 4 | 6): string =>
        execFileSync("ip", ["-N", `-${family}`, "route", "show", virtualIps[family]], { encoding: "utf8" });
    const neighbours = (): string =>
        execFileSync("ip", ["neighbour", "show", "dev", "antrea-gw0"], { encoding: "utf8" });

    it.each([4, 6] as const)("is one route of IPv%d, that of proxyAll once it is there", async (family) => {
        await eventually(
            () => routes(family),
            (text) => text.includes("proto 181"),
            10_000,
        );
        await network.cluster.stopAgent();
        await network.cluster.startAgent(withAll);
        await new Promise((resolve) => setTimeout(resolve, 2_000));
        expect(routes(family).trim().split("\n")).toEqual([expect.stringMatching(/ proto 181 .*src/)]);
    });

    it("is there without proxyAll too, with its neighbour, also after a change", async () => {
        for (const [settings, proto] of [
            [bridgingSettings, 180],
            [withAll, 181],
            [bridgingSettings, 180],
        ] as const) {
            await network.cluster.stopAgent();
            await network.cluster.startAgent(settings);
            for (const family of [4, 6] as const) {
                const wanted = [expect.stringContaining(`proto ${proto} `)];
                const one = await eventually(
                    () => routes(family).trim().split("\n"),
                    (lines) => lines.length === 1 && lines[0]?.includes(`proto ${proto} `) === true,
                    15_000,
                );
                expect(one).toEqual(wanted);
                expect(neighbours()).toContain(`${virtualIps[family]} lladdr`);
            }
        }
    });
});

describe.each([
    ["with proxyAll", withAll],
    ["without proxyAll", bridgingSettings],
] as const)("the way of answers from kube-proxy, %s", (_name, settings) => {
    /** The routes and the neighbour entries of both families that are there within some seconds. */
    const found = (): Promise<readonly string[]> =>
        eventually(
            () =>
                ([4, 6] as const).flatMap((family) => {
                    const list = (...args: readonly string[]): string =>
                        execFileSync("ip", [`-${family}`, ...args], { encoding: "utf8" });
                    const lines = `${list("route", "show")}${list("neighbour", "show", "dev", "antrea-gw0")}`.split(
                        "\n",
                    );
                    return lines.filter((line) => line.startsWith(`${virtualIps[family]} `));
                }),
            (lines) => lines.length === 4,
            15_000,
        );

    beforeAll(async () => {
        await network.cluster.stopAgent();
        await network.cluster.startAgent(settings);
        expect(await found()).toHaveLength(4);
    });

    it("comes back at once when the gateway was down", async () => {
        for (const state of ["down", "up"]) execFileSync("ip", ["link", "set", "antrea-gw0", state]);
        expect(await found()).toHaveLength(4);
    });

    it("comes back at once when another program deletes the route", async () => {
        execFileSync("ip", ["route", "delete", virtualIps[4]]);
        execFileSync("ip", ["-6", "route", "delete", virtualIps[6]]);
        expect(await found()).toHaveLength(4);
    });
});

it("are nobody's in OVS when AntreaProxy is switched off, also those of clients that keep their UDP port", async () => {
    const [vip] = await network.cluster.addService("off", ports);
    await network.cluster.setEndpoints("off", 4, [network.at("q", 4)], ports);
    await using socket = await PodProgram.datagrams(network.place("r"), vip, 80);
    const wanted = `q ${network.at("r", 4)}`;
    expect(await answered(socket, wanted)).toBe(wanted);
    await network.cluster.stopAgent();
    await network.cluster.startAgent({ ...bridgingSettings, antreaProxy: { enable: false } });
    const left = await eventually(
        () => socket.send("hello"),
        (text) => text !== wanted,
        15_000,
    );
    expect(left).not.toBe(wanted);
    await network.cluster.deleteService("off");
});
