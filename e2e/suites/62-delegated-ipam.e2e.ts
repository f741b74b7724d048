import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, kubectl, workers } from "../fixture/cluster.ts";
import { FixtureError } from "../fixture/error.ts";
import { antctl, allocationsOf, eventsAbout, expectIpam, TestPools } from "../fixture/ipam.ts";
import { callNetwork, callPlugin, installMetaPlugin, sandboxOf, type Sandbox } from "../fixture/meta-plugin.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

// Interfaces that macvlan makes, with addresses of IPPools. The plugin is called as Multus calls it.

const four = "e2e-mac-four";
const six = "e2e-mac-six";
const tiny = "e2e-mac-one";
const network = {
    cniVersion: "1.0.0",
    name: "e2e-macvlan",
    type: "macvlan",
    master: "eth0",
    mode: "bridge",
    capabilities: { ips: true },
    ipam: { type: "antrea", ippools: [four, six] },
};
const withIpam = (ipam: object): typeof network => ({ ...network, ipam: { ...network.ipam, ...ipam } });

let namespace: TestNamespace;
let pools: TestPools;
let sandboxes: readonly Sandbox[];

beforeAll(async () => {
    await expectIpam();
    await installMetaPlugin();
    namespace = await TestNamespace.create("e2e-delegated");
    pools = await TestPools.create({
        [four]: [{ cidr: "10.26.0.0/24", gateway: "10.26.0.1", prefixLength: 24 }],
        [six]: [{ cidr: "fd26::/120", gateway: "fd26::1", prefixLength: 64 }],
        [tiny]: [{ start: "10.26.1.9", end: "10.26.1.9", gateway: "10.26.1.1", prefixLength: 24 }],
    });
    await namespace.start(["a", "b", "c"].map((name, index) => ({ name, node: workers[index % 2] ?? "" })));
    sandboxes = await Promise.all(["a", "b", "c"].map((name) => sandboxOf(namespace.name, name)));
});
afterAll(async () => {
    await namespace[Symbol.asyncDispose]();
    await pools[Symbol.asyncDispose]();
});

const sandbox = (name: string): Sandbox => {
    const found = sandboxes.find(({ pod }) => pod === name);
    if (found === undefined) throw new FixtureError("NOT_SET_UP", "internal", `no sandbox of ${name}`);
    return found;
};
const addressesOf = ({ ips = [] }: { readonly ips?: readonly { readonly address: string }[] }): readonly string[] =>
    ips.map(({ address }) => address.split("/")[0] ?? "");
const claimants = async (pool: string): Promise<readonly string[]> =>
    (await allocationsOf(pool)).map(({ spec: { address, pod } }) => `${address} ${pod?.name}/${pod?.interface}`);

describe("interfaces of macvlan with addresses of IPPools", () => {
    it("get one address of every pool, and reach each other across Nodes", async () => {
        const [a, b] = await Promise.all(["a", "b"].map((name) => callNetwork("ADD", sandbox(name), network)));
        for (const { ips, routes } of [a ?? {}, b ?? {}]) {
            expect(ips?.map(({ gateway }) => gateway)).toEqual(["10.26.0.1", "fd26::1"]);
            // No default route beside that of eth0.
            expect(routes ?? []).toEqual([]);
        }
        for (const ip of addressesOf(b ?? {})) await namespace.exec("a", `ping -c 1 -W 5 -I net1 ${ip}`);
        // Services are still reached by eth0.
        expect(await namespace.exec("a", "ip route show default")).toContain("dev eth0");
        const [allocation] = (await allocationsOf(four)).filter(({ spec }) => spec.pod?.name === "a");
        expect(allocation?.spec.pod).toMatchObject({
            interface: "net1",
            network: "e2e-macvlan",
            containerID: sandbox("a").id,
        });
        expect(await kubectl(["get", "ipallocations", "-o", "wide"])).toMatch(/ net1 +e2e-macvlan/);
        const [address] = addressesOf(a ?? {});
        expect(await antctl(["ipam", "who", address ?? ""])).toContain(`${namespace.name}/a`);
    });

    it("give the same addresses again to a repeated ADD of the IPAM plugin, and pass CHECK", async () => {
        const first = await callPlugin("ADD", sandbox("a"), network);
        expect(addressesOf(first)).toEqual(
            (await Promise.all([four, six].map(allocationsOf)))
                .flat()
                .filter(({ spec }) => spec.pod?.name === "a")
                .map(({ spec }) => spec.address),
        );
        await callNetwork("CHECK", sandbox("a"), network);
    });

    it("keep an address whose allocation somebody deletes: it is made again while the container runs", async () => {
        const mine = async (): Promise<Awaited<ReturnType<typeof allocationsOf>>[number] | undefined> =>
            (await allocationsOf(four)).find(({ spec }) => spec.pod?.name === "a");
        const before = await mine();
        const name = before?.metadata.name ?? "";
        await kubectl(["annotate", "ipallocation", name, "ipam.antrea.io/force-delete=true"]);
        await kubectl(["delete", "ipallocation", name, "--wait=false"]);
        const again = await eventually("the allocation is there again", async () => {
            const found = await mine();
            return found?.metadata.uid === before?.metadata.uid ? undefined : found;
        });
        expect(again?.spec).toEqual(before?.spec);
        await callNetwork("CHECK", sandbox("a"), network);
    });

    it("are freed by DEL, and by GC of their network", async () => {
        await callNetwork("DEL", sandbox("b"), network);
        expect((await claimants(four)).filter((text) => text.includes(" b/"))).toEqual([]);
        await callPlugin("ADD", sandbox("b"), { ...network, name: "e2e-other" });
        const valid = { cniVersion: "1.1.0", "cni.dev/valid-attachments": [] };
        expect(await callPlugin("GC", sandbox("b"), { ...network, ...valid, name: "e2e-other" })).toEqual({});
        expect((await claimants(four)).map((text) => text.split(" ")[1])).toEqual(["a/net1"]);
    });

    it("get the addresses that the runtime requests, and static ones, which are not claimed", async () => {
        const requested = await callNetwork("ADD", sandbox("b"), network, {
            capabilities: { ips: ["10.26.0.77/24", "192.0.2.9/24"] },
        });
        expect(addressesOf(requested).filter((ip) => !ip.startsWith("fd26:"))).toEqual(["10.26.0.77", "192.0.2.9"]);
        expect(await claimants(four)).toContain("10.26.0.77 b/net1");
        await callNetwork("DEL", sandbox("b"), network);
        const byArgs = await callPlugin("ADD", sandbox("b"), withIpam({ ippools: [] }), { args: "IP=192.0.2.8/24" });
        expect(addressesOf(byArgs)).toEqual(["192.0.2.8"]);
    });

    it("get routes and DNS of the section, and a gateway outside of its subnet", async () => {
        const section = {
            ippools: [four],
            addresses: [{ address: "192.0.2.7/24", gateway: "198.51.100.254" }],
            routes: [{ dst: "0.0.0.0/0" }, { dst: "192.168.0.0/16", gw: "10.10.5.1" }],
            dns: { nameservers: ["8.8.8.8"], domain: "example.com", search: ["example.com"] },
        };
        const { ips, routes, dns } = await callPlugin("ADD", sandbox("b"), withIpam(section));
        expect(ips?.map(({ gateway }) => gateway)).toEqual(["10.26.0.1", "198.51.100.254"]);
        expect({ routes, dns }).toEqual({ routes: section.routes, dns: section.dns });
        await callPlugin("DEL", sandbox("b"), network);
    });

    it.each<[string, string, () => object, string, RegExp]>([
        [
            "a pool that does not exist",
            "b",
            () => withIpam({ ippools: ["e2e-none"] }),
            "",
            /IPPool e2e-none does not exist; create it, or correct network e2e-macvlan/,
        ],
        ["a pool twice", "b", () => withIpam({ ippools: [four, four] }), "", /ipam\.ippools.*twice/],
        ["neither pools nor addresses", "b", () => withIpam({ ippools: [] }), "", /neither IPPools nor addresses/],
        ["a static address without prefix", "b", () => network, "IP=192.0.2.8", /192\.0\.2\.8 has no prefix length/],
    ])("are refused %s, and claim nothing", async (_, pod, config, args, message) => {
        const before = await claimants(four);
        const { code, msg } = await callPlugin(
            "ADD",
            sandbox(pod),
            config() as typeof network,
            args === "" ? {} : { args },
        );
        expect([typeof code, msg]).toEqual(["number", expect.stringMatching(message)]);
        expect(await claimants(four)).toEqual(before);
    });

    it.each<[string, Partial<Sandbox>, object, number, RegExp]>([
        [
            "without a Pod in CNI_ARGS",
            { pod: "" },
            {},
            4,
            /^network e2e-macvlan, interface net1: CNI_ARGS: K8S_POD_NAME and K8S_POD_NAMESPACE are needed; .*; next: /,
        ],
        [
            "where neither the interface nor its addresses are antrea's",
            {},
            { ipam: { type: "host-local" } },
            2,
            /^type: "macvlan" is not served: the configuration is of another plugin; next: let the container runtime /,
        ],
        [
            "where antrea is to make the interface, and the feature gate SecondaryNetwork is off",
            {},
            { type: "antrea", networkType: "vlan" },
            2,
            /^network e2e-macvlan: networkType: "vlan" is not served: the feature gate SecondaryNetwork is off; next: install with /,
        ],
    ])("are refused %s, with the next step; their DEL is not", async (_, changes, config, expected, message) => {
        const before = await claimants(four);
        const called = { ...sandbox("b"), ...changes };
        const { code, msg } = await callPlugin("ADD", called, { ...network, ...config });
        expect([code, msg]).toEqual([expected, expect.stringMatching(message)]);
        expect(await callPlugin("DEL", called, { ...network, ...config })).toEqual({});
        expect(await claimants(four)).toEqual(before);
    });

    it("are refused in a sandbox that is not of antrea, with the next step", async () => {
        const foreign = { ...sandbox("b"), id: "f".repeat(64) };
        const { msg } = await callPlugin("ADD", foreign, network);
        expect(msg).toMatch(
            /^network e2e-macvlan, interface net1: container f+ of Pod .* has no interface on the Pod network.*next: /,
        );
        expect(await callPlugin("DEL", foreign, network)).toEqual({});
    });

    it("wait for an address of a full pool with an event, and get it when it is free", async () => {
        const config = withIpam({ ippools: [four, tiny] });
        await callPlugin("ADD", sandbox("c"), config);
        const { msg } = await callPlugin("ADD", sandbox("b"), config);
        expect(msg).toMatch(/^network e2e-macvlan, interface net1: no free address in IPPool e2e-mac-one/);
        await eventually("an event on the Pod reports it", async () =>
            (await eventsAbout(namespace.name, "Pod", "b", "IPAllocationFailed")).some(({ note }) =>
                note.includes("e2e-mac-one"),
            ),
        );
        expect((await claimants(four)).filter((text) => text.includes(" b/"))).toEqual([]);
        await callPlugin("DEL", sandbox("c"), config);
        expect(addressesOf(await callPlugin("ADD", sandbox("b"), config))).toContain("10.26.1.9");
    });
});

describe("the Pod of a StatefulSet", () => {
    const asked = (): Promise<Sandbox> => sandboxOf(namespace.name, "kept-0");

    it("keeps the address of its interface of macvlan over sandboxes of Pods, also without DEL", async () => {
        const annotations = { "k8s.v1.cni.cncf.io/networks": "e2e-macvlan" };
        await apply(statefulSet(namespace.name, { name: "kept", replicas: 1, annotations }));
        await rolledOut(namespace.name, "statefulset/kept");
        const first = addressesOf(await callNetwork("ADD", await asked(), network));
        const [allocation] = (await allocationsOf(four)).filter(({ spec }) => spec.pod?.name === "kept-0");
        expect(allocation?.spec.owner).toMatchObject({
            kind: "StatefulSet",
            name: "kept",
            index: 0,
            interface: "net1",
        });
        const { uid } = await asked();
        await kubectl(["-n", namespace.name, "delete", "pod", "kept-0", "--grace-period=1"]);
        await eventually("the next Pod runs", async () => {
            await rolledOut(namespace.name, "statefulset/kept");
            return (await asked()).uid !== uid;
        });
        const next = await asked();
        const second = await eventually(
            "the address is free",
            async () => {
                const answer = await callPlugin("ADD", next, network);
                return answer["code"] === undefined ? addressesOf(answer) : undefined;
            },
            180_000,
        );
        expect(second).toEqual(first);
        await kubectl(["-n", namespace.name, "delete", "statefulset", "kept"]);
    });
});

it("what no DEL frees is freed when its Pod is gone", async () => {
    await namespace.delete("a", "b", "c");
    await eventually("nothing is claimed", async () => (await claimants(four)).length === 0, 240_000, 2_000);
});
