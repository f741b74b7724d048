import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { device, FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";

const netns = "/run/netns/ab12ab12";
const routes = [{ dst: "10.20.0.0/16", gw: "192.168.100.254" }, { dst: "10.30.0.0/16" }];
const plans = [plannedNetwork("eth1", { pool: "100", routes }), plannedNetwork("eth2", { pool: "200" })];

let networks: FakeNetworks;

beforeEach(() => {
    networks = new FakeNetworks();
    networks.plans = plans;
});

const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** The state of the namespace: addresses, routes, and which ends are up. */
function inside(): unknown {
    const ends = networks.node.inside.endsIn(netns);
    const up = ends.filter((end) => end.up).map(({ name }) => name);
    return [networks.inside(), networks.node.inside.routesIn(netns).toSorted(), up.toSorted()];
}

/** Kills the agent in an ADD at its first requests in the namespace, which come beside the records, and starts it again. */
async function killBeforeConfiguration(adding: () => Promise<unknown>): Promise<void> {
    networks.node.steps.hanging.add("pod batch");
    void adding();
    await turns(200);
    networks.node.steps.hanging.clear();
    await networks.restart();
    await networks.node.clock.advance(1);
}

function loseLink(ifName: string): void {
    for (const { name, podEnd } of networks.node.links.values())
        if (podEnd?.ifName === ifName) networks.node.links.delete(name);
}

describe("a repeated ADD of a Pod with networks", () => {
    it("configures interfaces that a killed agent had recorded only", async () => {
        await networks.node.add();
        const whole = [inside(), networks.held()];
        networks = new FakeNetworks();
        networks.plans = plans;
        await killBeforeConfiguration(() => networks.node.add());
        expect(networks.held()).toEqual(whole[1]);
        expect(networks.inside()).toEqual({ eth0: [], eth1: [], eth2: [] });
        await networks.node.add();
        expect([inside(), networks.held()]).toEqual(whole);
        // Nor does one more change or refuse anything.
        await networks.node.add();
        expect([inside(), networks.held()]).toEqual(whole);
    });

    it("reports them again: the agent may have been killed before it had done so", async () => {
        await networks.node.add();
        await networks.node.add();
        expect(networks.reported).toEqual(["web-0 eth1 eth2", "web-0 eth1 eth2"]);
    });

    it("keeps in its record from which annotation they were made, over a restart of the agent", async () => {
        const hashes = (): readonly unknown[] =>
            networks.node.network.interfaces().map(({ record }) => record.networksHash);
        await networks.node.add();
        expect(hashes()).toEqual(["0123456789abcdef"]);
        await networks.restart();
        await networks.node.clock.advance(1);
        await networks.node.add();
        expect(hashes()).toEqual(["0123456789abcdef"]);
    });

    it("enables IPv6 for them", async () => {
        const given = { ip: parseIp("fd00:100::7"), prefixLength: 64, gateway: undefined };
        networks.plans = [plannedNetwork("eth1", { addresses: { demands: [], order: [given], given: new Map() } })];
        await networks.node.add();
        networks.node.inside.sysctls.length = 0;
        await networks.node.add();
        expect(networks.node.inside.sysctls).toContain(`${netns} net/ipv6/conf/eth1/disable_ipv6=0`);
    });

    it("makes an interface whose link is gone again, with its address", async () => {
        await networks.node.add();
        const [whole, addresses] = [inside(), networks.held()["addresses"]];
        loseLink("eth1");
        await networks.node.add();
        expect(inside()).toEqual(whole);
        expect(networks.held()).toEqual({
            interfaces: ["eth2", "eth1"],
            ports: ["eth2", "eth1"],
            addresses,
            functions: [],
        });
    });

    it("makes a virtual function whose link is gone from the sandbox anew, and only configures one that is there", async () => {
        networks.plans = [plannedNetwork("eth1", { pool: "100", routes, device })];
        await networks.node.add();
        const whole = [inside(), networks.held()];
        let taken = 0;
        networks.node.steps.failure = (_, name) => {
            taken += name === "take function" ? 1 : 0;
            return undefined;
        };
        await networks.node.add();
        expect([taken, inside(), networks.held()]).toEqual([0, ...whole]);
        networks.node.inside.remove(netns, "eth1");
        networks.taken.delete(device.id);
        await networks.node.add();
        expect([taken, inside(), networks.held()]).toEqual([1, ...whole]);
        expect(networks.node.network.interfaces().map(({ record }) => record.functions?.length)).toEqual([1]);
    });

    it("waits for a removal that has begun, and makes the interface again", async () => {
        await networks.node.add();
        loseLink("eth1");
        networks.node.steps.failure = (_, name) => (name === "delete network ports" ? "before" : undefined);
        await expect(networks.node.add()).rejects.toMatchObject({ code: "STILL_REMOVED", fault: "timeout" });
        await expect(networks.node.add()).rejects.toMatchObject({ code: "STILL_REMOVED" });
        networks.node.steps.failure = () => undefined;
        await networks.node.add();
        expect(networks.table.list().map(({ leaving }) => leaving)).toEqual([undefined, undefined]);
        expect(networks.inside()).toMatchObject({ eth1: ["192.168.100.2/24"] });
    });

    it.each([
        ["a removal that has begun", "delete network ports", 1],
        // After that on the Pod network.
        ["the configuration of another interface", "pod batch", 2],
    ])("that fails at %s gives back the address of what it removed, and of nothing else", async (_, step, nth) => {
        await networks.node.add();
        loseLink("eth1");
        let count = 0;
        networks.node.steps.failure = (_at, name) => (name === step && (count += 1) >= nth ? "before" : undefined);
        await expect(networks.node.add()).rejects.toBeDefined();
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toMatchObject({ interfaces: ["eth2"], addresses: ["192.168.200.2"] });
    });

    it("leaves one that was rebuilt from its link as it is: its record has no gateways for routes", async () => {
        await networks.node.add();
        const whole = inside();
        networks.ports.clear();
        networks.allocations.held.clear();
        await networks.restart();
        await networks.node.clock.advance(1);
        await networks.node.add();
        expect(inside()).toEqual(whole);
    });

    it("adds no routes of another network that the annotation names now", async () => {
        await networks.node.add();
        const whole = inside();
        networks.plans = [plannedNetwork("eth1", { network: "default/other", routes: [{ dst: "10.40.0.0/16" }] })];
        await networks.node.add();
        expect(inside()).toEqual(whole);
    });
});

describe("a repeated ADD of one interface", () => {
    it.each([
        ["one of a VLAN", undefined],
        ["a virtual function", device],
    ])("configures what a killed agent had recorded only: %s", async (_, one) => {
        networks.plans = [];
        await networks.node.add();
        networks.plans = [plannedNetwork("net1", { pool: "100", routes, device: one })];
        await networks.node.clock.advance(1);
        await killBeforeConfiguration(() => networks.addOne("net1"));
        expect(networks.inside()).toMatchObject({ net1: [] });
        await networks.addOne("net1");
        await networks.addOne("net1");
        expect(inside()).toEqual([
            { eth0: ["10.10.1.2/24"], net1: ["192.168.100.2/24"] },
            [
                "0.0.0.0/0 via 10.10.1.1 dev eth0",
                "10.20.0.0/16 via 192.168.100.254 dev net1",
                "10.30.0.0/16 via 192.168.100.1 dev net1",
            ],
            ["eth0", "net1"],
        ]);
    });
});
