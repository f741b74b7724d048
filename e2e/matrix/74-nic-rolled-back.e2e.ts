import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { apply, daemons, shellOnNode, waitForAgents, workers } from "../fixture/cluster.ts";
import { eventNote } from "../fixture/ipam.ts";
import { beforeNetworks, ReleaseBefore } from "../fixture/network-stage.ts";
import { bridgeCondition, bridgeNics, linksOf, NetworkDefinitions, requesting } from "../fixture/networks.ts";
import { PhysicalNetwork } from "../fixture/physical-network.ts";
import { manifest, TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { notAttached } from "../fixture/vlan-refusals.ts";

// A NIC that the Node uses, and whose gateway answers before the NIC is moved, but not after: the move is undone.

const [first = ""] = workers;
const space = "e2e-rolled-back";
const nic = "eth2";
const [address, gateway, beyondGateway] = ["10.75.0.2/24", "10.75.0.1", "198.51.101.0/24"] as const;
const undone = `the move of ${nic} was undone: within 2 s after the move neither gateway ${gateway} answered`;

let stack: AsyncDisposableStack;
let namespace: TestNamespace;

/** On the first worker the NIC has address and route, and its gateway answers. */
async function isUsed(): Promise<void> {
    await eventually("the gateway answers", () => shellOnNode(first, `ping -c 1 -W 1 -I ${nic} ${gateway}`), 30_000);
    const shown = await shellOnNode(first, `ip -o -4 address show dev ${nic}; ip -4 route show dev ${nic}`);
    for (const part of [address, `${beyondGateway} via ${gateway}`]) expect(shown).toContain(part);
}
/** The links of the agent for the NIC: the port of the Node, and the NIC's bridge. */
const nicLinks = (): Promise<string> => shellOnNode(first, `ls /sys/class/net | grep '~' || true`);
const silence = "nft delete table arp e2e 2> /dev/null || true";

beforeAll(async () => {
    stack = new AsyncDisposableStack();
    await beforeNetworks();
    const physical = stack.use(await PhysicalNetwork.start());
    await physical.plug(first, nic);
    await physical.host(0, `${gateway}/24`);
    await shellOnNode(first, silence);
    stack.defer(async () => void (await shellOnNode(first, silence)));
    await shellOnNode(
        first,
        [
            `ip address add ${address} dev ${nic}`,
            `ip link set ${nic} up`,
            `ip route add ${beyondGateway} via ${gateway} dev ${nic}`,
            // the answers that come to a link of this name which is not the NIC: to the host port
            `nft 'add table arp e2e; add chain arp e2e input { type filter hook input priority 0; policy accept; }'`,
            `nft 'add rule arp e2e input iifname "${nic}" iif != "${nic}" drop'`,
        ].join(" && "),
    );
    await isUsed();
    stack.use(await ReleaseBefore.remember());
    await bridgeNics([nic], { values: ["uplink.checkTimeout=2s"] });
    const definitions = stack.use(await NetworkDefinitions.install());
    namespace = stack.use(await TestNamespace.create(space));
    await definitions.define(space, { wired: { vlan: 100 } });
});
// in reverse order, all of it whatever fails
afterAll(() => stack.disposeAsync());

it("the condition of the Node has the reason NICRolledBack, names NIC and gateway, and the next step", async () => {
    const condition = await eventually(
        "the Node reports it",
        async () => {
            const found = await bridgeCondition(first);
            return found?.reason === "NICRolledBack" ? found : undefined;
        },
        60_000,
    );
    expect(condition).toMatchObject({
        status: "False",
        message: expect.stringMatching(
            new RegExp(
                `^${undone}; see that the network lets the traffic of the Node through .*, then restart the agent`,
            ),
        ),
    });
});

it("the Node has its NIC with address and route, and reaches its gateway", async () => {
    await isUsed();
    expect(await nicLinks()).toBe("");
});

it("a Pod on a VLAN network waits, and an event has the reason", async () => {
    await apply(manifest(space, { name: "wired", node: first, annotations: requesting("wired") }));
    const note = await eventNote(space, "Pod", "wired", notAttached);
    expect(note).toContain(`network ${space}/wired: no NIC of br-sec is connected: ${undone}`);
});

it("the next agent moves the NIC, once its gateway answers, and the Pod starts", async () => {
    await shellOnNode(first, silence);
    await shellOnNode(first, `kill -TERM $(${daemons.agent})`);
    await eventually(
        "the Node is ready",
        async () => ((await bridgeCondition(first))?.reason === "BridgeReady" ? true : undefined),
        120_000,
    );
    await waitForAgents();
    expect((await nicLinks()).trim().split("\n")).toEqual([`${nic}~`, `${nic}~br`]);
    await isUsed();
    await namespace.ready(["wired"]);
    expect((await linksOf(namespace, "wired"))["eth1"]).toMatchObject({ isUp: true, hasCarrier: true });
});
