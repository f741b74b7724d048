import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ofFamily } from "../fixture/addresses.ts";
import { linkStateOf } from "../fixture/bridging.ts";
import { allNodes, inAgent, internalIps, onNode, shellOnNode, workers } from "../fixture/cluster.ts";
import { bridgeCondition, linksOf, NetworkDefinitions, requesting } from "../fixture/networks.ts";
import { answersPings } from "../fixture/pings.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { hasHostPort, killAtStep, NodeNicBridged } from "../fixture/secondary-uplink.ts";

// The NIC by which the Nodes are reached, also from the API server, is that of the secondary bridge: Pods without VLAN are
// on the network of the Nodes. All steps at which an agent is killed: e2e/matrix/72-secondary-uplink-kills.

const [first = "", second = ""] = workers;
const space = "e2e-secondary-uplink";

let stack: AsyncDisposableStack;
let bridged: NodeNicBridged;
let namespace: TestNamespace;
let addresses: Readonly<Record<string, string>>;

/** An address of the Nodes' network that no Node has, with its prefix length. */
async function spareAddress(host: number): Promise<string> {
    const shown = JSON.parse(await onNode(first, ["ip", "-j", "-4", "address", "show", "dev", "eth0"])) as readonly {
        readonly addr_info: readonly { readonly local: string; readonly prefixlen: number }[];
    }[];
    const [{ local = "", prefixlen = 0 } = {}] = shown.flatMap(({ addr_info: all }) => all);
    return `${local.replace(/\d+$/, String(host))}/${prefixlen}`;
}

const nodeAddress = async (node: string): Promise<string> => ofFamily(await internalIps(node), "IPv4");

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    const [near, far] = [await spareAddress(240), await spareAddress(241)];
    bridged = stack.use(await NodeNicBridged.set());
    await bridged.ready();
    const definitions = stack.use(await NetworkDefinitions.install());
    namespace = stack.use(await TestNamespace.create(space));
    const withAddress = (address: string): object => ({ ipam: { type: "antrea", addresses: [{ address }] } });
    await definitions.define(space, {
        near: { ...withAddress(near) },
        far: { ...withAddress(far) },
        tagged: { vlan: 100, ...withAddress(near) },
    });
    await namespace.start([
        { name: "near", node: first, annotations: requesting("near") },
        { name: "far", node: second, annotations: requesting("far") },
        { name: "tagged", node: first, annotations: requesting("tagged") },
    ]);
    addresses = { near: near.replace(/\/.*/, ""), far: far.replace(/\/.*/, "") };
});
// in reverse order, all of it whatever fails
afterAll(() => stack.disposeAsync());

const ping = (from: string, address: string): Promise<string> =>
    eventually(`${address} answers ${from}`, () => namespace.exec(from, `ping -c 1 -W 1 ${address}`), 30_000);

describe("the NIC of the Nodes as that of the bridge", () => {
    it.each(allNodes)("of %s is a port, and a host port has all that it had", async (node) => {
        expect(await hasHostPort(node)).toBe(true);
        expect(await linkStateOf(node)).toEqual(bridged.before.get(node));
        expect(await bridgeCondition(node)).toMatchObject({
            reason: "BridgeReady",
            message: expect.stringContaining("eth0"),
        });
        const ports = await inAgent(node, "antrea-ovs", ["ovs-vsctl", "list-ports", "eth0~br"]);
        expect(ports.trim().split("\n").sort()).toEqual(["eth0", "eth0~", "patch-eth0~br"]);
    });

    it("connects Pods without VLAN to the network of the Nodes, and to their own Node", async () => {
        const targets = [addresses["far"] ?? "", await nodeAddress(first), await nodeAddress(second)];
        for (const address of targets) await ping("near", address);
        expect(Object.keys(await linksOf(namespace, "near"))).toEqual(["eth0", "eth1"]);
    });

    it("connects no Pod of a VLAN to the Nodes, though it has an address of their network", async () => {
        const from = "ip -j -4 address show dev eth1 | grep -q local";
        await namespace.exec("tagged", from);
        const node = await nodeAddress(second);
        await expect(namespace.exec("tagged", `ping -I eth1 -c 2 -W 1 ${node}`)).rejects.toThrow("100% packet loss");
    });
});

describe("an agent that is killed", () => {
    it.each(["switch", "switch-back"] as const)(
        "at the step %s leaves the Node reachable, and the next connects it",
        async (step) => {
            const address = await nodeAddress(second);
            const killedAt = await killAtStep(second, step);
            expect(killedAt).not.toBe("");
            await bridged.ready([second]);
            await ping("near", address);
            expect(await linkStateOf(second)).toEqual(bridged.before.get(second));
            expect(await hasHostPort(second)).toBe(true);
            await namespace.exec("near", answersPings(addresses["far"] ?? ""));
        },
    );
});

describe("without the bridge again", () => {
    beforeAll(async () => {
        await namespace.delete("near", "far", "tagged");
        await bridged.off();
    });

    it.each(allNodes)("%s has its NIC as it was, and no condition", async (node) => {
        await eventually(`the NIC of ${node} is no port`, async () => ((await hasHostPort(node)) ? undefined : true));
        expect(await linkStateOf(node)).toEqual(bridged.before.get(node));
        expect(await shellOnNode(node, "ls /var/lib/antrea/nics/*/uplink.json 2>/dev/null || true")).toBe("");
        await eventually(`${node} reports no bridge`, async () =>
            (await bridgeCondition(node)) === undefined ? true : undefined,
        );
        await eventually("the bridges are gone", async () => {
            const bridges = await inAgent(node, "antrea-ovs", ["ovs-vsctl", "list-br"]);
            return bridges.includes("eth0~br") ? undefined : true;
        });
    });
});
