import { beforeEach, describe, expect, it } from "@jest/globals";
import { messageOf } from "@antrea/errors";
import { parseIp } from "@antrea/ip";
import { hostInterfaceName } from "../../../src/features/pod-network/names.ts";
import { releasedAlias } from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord } from "../../support/records.ts";
import { device, FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import { FakeNode, nothingTaken, type FakeLink } from "./fake-node.ts";
import type { Failure } from "./steps.ts";

const container = "ab12".repeat(16);
const older = "cd34".repeat(16);
const netns = "/run/netns/ab12ab12";
const nothingHeld = { interfaces: [], ports: [], addresses: [], functions: [] };
const both = [plannedNetwork("eth1", { pool: "100" }), plannedNetwork("eth2", { pool: "200" })];

let networks: FakeNetworks;

function begin(plans: FakeNetworks["plans"] = both): void {
    networks = new FakeNetworks();
    networks.plans = plans;
}

beforeEach(() => begin());

const refusal = (adding: Promise<unknown>): Promise<unknown> =>
    adding.then(
        () => undefined,
        (error: unknown) => error,
    );

async function del(containerId = container): Promise<void> {
    await networks.node.clock.advance(1);
    await networks.node.network.delete(containerId, "eth0");
}

function linkOf(ifName: string): FakeLink | undefined {
    return [...networks.node.links.values()].find(({ podEnd }) => podEnd?.ifName === ifName);
}

describe("an ADD of a Pod with networks", () => {
    it("makes each interface with its address, port, VLAN and record", async () => {
        await networks.node.add();
        expect(networks.reported).toEqual(["web-0 eth1 eth2"]);
        // Without an address of IPv6 it is for the Pod to decide.
        expect(networks.node.inside.sysctls.filter((text) => text.includes("disable_ipv6"))).toEqual([]);
        expect(networks.inside()).toEqual({
            eth0: ["10.10.1.2/24"],
            eth1: ["192.168.100.2/24"],
            eth2: ["192.168.200.2/24"],
        });
        expect([...networks.ports.values()].map(({ vlan }) => vlan)).toEqual([100, 200]);
        expect(networks.table.list().map(({ record }) => record)).toMatchObject([
            { ifName: "eth1", network: "default/eth1", netns, vlan: 100, mac: "0a:58:c0:a8:64:02", mtu: 1500 },
            { ifName: "eth2", network: "default/eth2", netns, vlan: 200, mac: "0a:58:c0:a8:c8:02", mtu: 1500 },
        ]);
        const names = networks.table.list().map(({ record }) => record.hostIfName);
        expect(new Set(names)).toEqual(new Set(networks.ports.keys()));
        expect(networks.announced).toEqual(["1 0a:58:c0:a8:64:02 192.168.100.2", "2 0a:58:c0:a8:c8:02 192.168.200.2"]);
        expect(networks.node.inside.end(netns, "eth1")).toMatchObject({
            up: true,
            mac: "0a:58:c0:a8:64:02",
            mtu: 1500,
        });
        expect(networks.log.filter(({ message }) => message === "further Pod interface added")).toMatchObject([
            {
                level: "info",
                fields: {
                    pod: "default/web-0",
                    container,
                    network: "default/eth1",
                    interface: "eth1",
                    vlan: 100,
                    addresses: ["192.168.100.2"],
                },
            },
            { fields: { interface: "eth2" } },
        ]);
    });

    it("reports also that a container has none: an earlier one of its Pod may have had some", async () => {
        begin([]);
        await networks.node.add();
        expect(networks.reported).toEqual(["web-0"]);
    });

    it("makes all ports in one transaction and writes all records in another, whatever their number", async () => {
        await networks.node.add();
        expect(networks.node.steps.done.filter((step) => step === "ensure network ports")).toHaveLength(2);
    });

    it("makes no port before its VLAN is known, and one without VLAN for a network without IPPools", async () => {
        begin([plannedNetwork("eth1", { pool: "100" }), plannedNetwork("eth2"), plannedNetwork("eth3", { vlan: 7 })]);
        const claimed = Promise.withResolvers<void>();
        networks.node.steps.waits.set("claim network", claimed.promise);
        const adding = networks.node.add();
        for (let turns = 0; turns < 100; turns += 1) await new Promise((resolve) => setImmediate(resolve));
        expect([...networks.ports.values()].map(({ vlan }) => vlan)).toEqual([0, 7]);
        // Unfinished: without the MAC address nobody takes it for a record.
        const [port] = networks.ports.values();
        expect(Object.fromEntries(port?.externalIds ?? [])).toEqual({
            "antrea-type": "container",
            "secondary-network": "default/eth2",
            "container-id": container,
            "if-dev": "eth2",
            "boot-id": expect.any(String),
        });
        expect(linkOf("eth1")?.alias).toBe(`antrea2 ${container}`);
        claimed.resolve();
        await adding;
        expect([...networks.ports.values()].map(({ vlan }) => vlan)).toEqual([0, 7, 100]);
        expect(networks.inside()).toMatchObject({ eth2: [], eth3: [] });
        // Without an address nothing is announced of them but their MAC address.
        expect(networks.announced).toHaveLength(3);
    });

    it("gives the interfaces of Pods of one name and container names of their own", async () => {
        begin([plannedNetwork("eth1"), plannedNetwork("eth1x"), plannedNetwork("eth2")]);
        await networks.node.add();
        await networks.node.add({ containerId: older, podUid: "uid-2" });
        expect(new Set(networks.ports.keys()).size).toBe(6);
        expect(networks.node.links.size).toBe(9);
    });

    it("sets up a link that OVS has set down, or that is in no group", async () => {
        begin([plannedNetwork("eth1")]);
        const { links, steps } = networks.node;
        steps.failure = (_, name) => {
            const link = linkOf("eth1");
            if (name === "network ports opened" && link !== undefined)
                links.set(link.name, { ...link, up: false, group: 0 });
            return undefined;
        };
        await networks.node.add();
        expect(linkOf("eth1")).toMatchObject({ up: true, group: 178 });
    });

    it.each<[string, Failure]>([
        ["a step fails", "before"],
        ["the answer of a step is lost", "after"],
    ])("when %s gives all back, and works the next time", async (_, failure) => {
        const planned = [...both, plannedNetwork("eth3", { pool: "0", device })];
        begin(planned);
        await networks.node.add();
        const steps = [...networks.node.steps.asked];
        expect(steps.length).toBeGreaterThan(20);
        for (const [at, name] of steps.entries()) {
            begin(planned);
            networks.node.steps.failure = (step) => (step === at ? failure : undefined);
            const failed = await refusal(networks.node.add());
            networks.node.steps.failure = () => undefined;
            const context = `step ${at}, ${name}`;
            // What only follows the answer of the wiring is of no matter for it.
            if (failed === undefined) continue;
            for (let round = 0; round < 3; round += 1) await networks.round();
            const { links, ...taken } = networks.node.taken();
            expect([context, networks.held(), taken]).toEqual([
                context,
                nothingHeld,
                expect.objectContaining({ addresses: 0, interfaces: 0, ports: [], flows: 0, allocations: [] }),
            ]);
            expect([context, (links as string[]).filter((alias) => alias !== releasedAlias)]).toEqual([context, []]);
            await networks.node.clock.advance(1);
            await networks.node.add();
            expect([context, Object.keys(networks.inside())]).toEqual([
                context,
                expect.arrayContaining(["eth0", "eth1", "eth2", "eth3"]),
            ]);
        }
    });

    it("gives back an interface whose port OVS does not delete by the reconcile, and meanwhile keeps its address only if its link may be up", async () => {
        begin([plannedNetwork("eth1", { pool: "100" }), plannedNetwork("eth2", { pool: "200" })]);
        const { steps } = networks.node;
        steps.failure = (_, name) =>
            name === "network ports opened" || name === "delete network ports" ? "before" : undefined;
        expect(await refusal(networks.node.add())).toMatchObject({ message: "network ports opened failed" });
        expect(networks.warnings()).toContainEqual([
            "further interfaces of a failed ADD are left to the reconcile",
            "delete network ports failed",
        ]);
        // Down: no Pod uses the addresses.
        expect([linkOf("eth1"), linkOf("eth2")]).toMatchObject([
            { up: false, alias: releasedAlias },
            { up: false, alias: releasedAlias },
        ]);
        expect(networks.held()).toEqual({ ...nothingHeld, interfaces: ["eth1", "eth2"], ports: ["eth1", "eth2"] });
        steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("keeps an address whose link cannot be set down, and reports it, until its container is gone", async () => {
        begin([plannedNetwork("eth1", { pool: "100" })]);
        const { steps } = networks.node;
        steps.failure = (_, name) =>
            ["network ports opened", "delete network ports", "close link"].includes(name) ? "before" : undefined;
        await refusal(networks.node.add());
        expect(networks.held()).toEqual({
            ...nothingHeld,
            interfaces: ["eth1"],
            ports: ["eth1"],
            addresses: ["192.168.100.2"],
        });
        expect(networks.warnings()).toContainEqual(["link of a Pod cannot be set down", "close link failed"]);
        steps.failure = () => undefined;
        await del();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("fails as one: with one of two networks nothing of the Pod remains, and the reason is reported", async () => {
        begin([plannedNetwork("eth1", { pool: "100" }), plannedNetwork("eth2", { pool: "full" })]);
        expect(await refusal(networks.node.add())).toMatchObject({ code: "EXHAUSTED" });
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.node.taken()).toEqual({ ...nothingTaken, links: expect.any(Array) });
        expect(networks.failed).toEqual([expect.stringContaining("full")]);
        networks.failed.length = 0;
        expect(networks.reported).toEqual([]);
        // Gone, not only down: the kubelet may ask again with the same namespace.
        expect(networks.inside()).toEqual({});
        networks.plans = [plannedNetwork("eth1", { pool: "100", routes: [{ dst: "10.20.0.0/16", gw: "172.31.0.1" }] })];
        expect(await refusal(networks.node.add())).toMatchObject({ code: "BAD_ROUTE", fault: "caller" });
        expect(networks.failed).toEqual([
            "network default/eth1: ipam.routes: the route to 10.20.0.0/16 via 172.31.0.1 on eth1 is not taken by the kernel: 172.31.0.1 is not in a subnet of eth1; next: correct the route; its gateway must be in the subnet of an address of the interface",
        ]);
        expect(networks.held()).toEqual(nothingHeld);
    });

    it.each([
        ["OVS does not open its port", "network ports opened"],
        ["its virtual function has no link", "take function"],
    ])("fails if %s, which is reported", async (_, step) => {
        begin([plannedNetwork("eth1", { pool: "100" }), plannedNetwork("eth2", { device })]);
        networks.node.steps.failure = (_, name) => (name === step ? "before" : undefined);
        expect(messageOf(await refusal(networks.node.add()))).toContain(`${step} failed`);
        expect(networks.failed).toEqual([expect.stringContaining(`${step} failed`)]);
    });

    it("fails with the same text in each sandbox if OVS refuses its port, whose name each has another", async () => {
        for (const id of [container, older]) {
            networks.node.steps.failure = (_, name) => {
                if (name !== "network ports opened") return undefined;
                for (const [at, port] of networks.ports)
                    if (port.externalIds.get("if-dev") === "eth2") networks.ports.set(at, { ...port, ofPort: -1 });
                return undefined;
            };
            const error = await refusal(networks.node.add({ containerId: id, netns: `/run/netns/${id.slice(0, 8)}` }));
            expect(error).toMatchObject({
                code: "PORT_REFUSED",
                details: { port: hostInterfaceName("web-0", id, "eth2") },
            });
        }
        const text =
            "network default/eth2: OVS could not add the port of interface eth2: could not open network device (No such device); next: see the log of ovs-vswitchd on this Node";
        expect(networks.failed).toEqual([text, text]);
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("is no failure of its networks if the interface on the Pod network cannot be made, or it is stopped", async () => {
        networks.node.steps.failure = (_, name) => (name === "ensurePort" ? "before" : undefined);
        expect(messageOf(await refusal(networks.node.add()))).toBe("ensurePort failed");
        networks.node.steps.failure = () => undefined;
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.inside()).toEqual({});
        const stop = new AbortController();
        const stopped = refusal(networks.node.network.add(networks.node.request(), stop.signal));
        stop.abort();
        expect(await stopped).toMatchObject({ fault: "aborted" });
        expect(networks.failed).toEqual([]);
    });

    it.each([
        ["two VLANs of its IPPools", ["100", "200"], 1500, /its IPPools 100 and 200 have the VLANs 100 and 200/],
        ["an MTU that IPv6 does not have", ["6"], 1279, /mtu: 1279 is under 1280/],
    ])("fails with %s, which is reported on the Pod", async (_, pools, mtu, message) => {
        const demands = pools.map((pool) => ({ pool, fixed: undefined }));
        const gateway = parseIp("fd00:6::1");
        const order = mtu === 1279 ? [0, { ip: parseIp("fd00:6::7"), prefixLength: 64, gateway }] : [0, 1];
        begin([plannedNetwork("eth1", { mtu, addresses: { demands, order, given: new Map() } })]);
        expect(await refusal(networks.node.add())).toMatchObject({
            fault: "caller",
            message: expect.stringMatching(message),
        });
        expect(networks.failed).toEqual([expect.stringMatching(message)]);
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("takes nothing of router advertisements with addresses, and no default route without", async () => {
        begin([
            plannedNetwork("eth1", { pool: "100" }),
            plannedNetwork("eth2"),
            plannedNetwork("eth3", { device }),
            plannedNetwork("eth4", { pool: "0", device: { ...device, id: "0000:af:06.1" } }),
            plannedNetwork("eth5", { addresses: { demands: [], order: [], given: new Map() } }),
        ]);
        await networks.node.add();
        const set = networks.node.inside.sysctls.flatMap(
            (text) => /conf\/(eth[1-9]\/accept_ra\S*)/.exec(text)?.[1] ?? [],
        );
        expect(set.toSorted()).toEqual([
            "eth1/accept_ra=0",
            "eth2/accept_ra_defrtr=0",
            "eth3/accept_ra_defrtr=0",
            "eth4/accept_ra=0",
            "eth5/accept_ra_defrtr=0",
        ]);
    });

    it("makes no port once its container was deleted", async () => {
        begin([plannedNetwork("eth1")]);
        const made = Promise.withResolvers<void>();
        networks.node.steps.waits.set("createVeth", made.promise);
        const adding = refusal(networks.node.add());
        for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
        const deleting = del();
        for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
        made.resolve();
        expect(await adding).toMatchObject({ code: "DELETED_MEANWHILE" });
        await deleting;
        expect(networks.node.steps.asked).not.toContain("ensure network ports");
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("gives no link a name that the Node has for another Pod", async () => {
        const [first, second] = [0, 1].map((attempt) => hostInterfaceName("web-0", container, "eth1", attempt));
        begin([plannedNetwork("eth1")]);
        networks.table.put(networkRecord({ containerId: older, podUid: "uid-2", hostIfName: first ?? "" }));
        await networks.node.add();
        expect([...networks.ports.keys()]).toEqual([second]);
    });

    it("that comes late, of a sandbox that is gone, ends no interface of the Pod's current one", async () => {
        await networks.node.add({ containerId: older });
        const before = networks.held();
        const late = networks.node.request();
        networks.node.namespaces.delete(late.netns);
        const { signal } = new AbortController();
        expect(await refusal(networks.node.network.add(late, signal))).toMatchObject({ code: "ENOENT" });
        expect(networks.held()).toEqual(before);
        // It may also end while the ADD reads what the Pod is to get.
        networks.node.steps.failure = (_, name) => {
            if (name === "plan") networks.node.namespaces.delete(late.netns);
            return undefined;
        };
        await refusal(networks.node.add());
        expect(networks.held()).toEqual(before);
    });

    it("fails with an allocation that is deleted by force meanwhile, and names it", async () => {
        const { steps } = networks.node;
        steps.failure = (_, name) => {
            if (name === "network ports opened") networks.allocations.held.delete("192.168.200.2");
            return undefined;
        };
        expect(await refusal(networks.node.add())).toMatchObject({
            code: "ALLOCATION_DELETED",
            fault: "environment",
            message: expect.stringMatching(
                /^the IPAllocation of 192\.168\.200\.2 \(IPPool 200\) for eth2 of Pod default\/web-0 was deleted/,
            ),
        });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("without IPPools makes interfaces without addresses", async () => {
        begin();
        networks.hasPools = false;
        networks.node.restart();
        networks.plans = [plannedNetwork("eth1")];
        await networks.node.add();
        expect(networks.inside()).toMatchObject({ eth1: [] });
        await del();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("that is repeated gives the same, and makes again what was lost of it", async () => {
        const answer = await networks.node.add();
        const before = [networks.held(), networks.inside()];
        expect(await networks.node.add()).toEqual(answer);
        expect([networks.held(), networks.inside()]).toEqual(before);
        // The agent was killed before it made eth2, and OVS lost a port.
        networks.ports.clear();
        networks.table.remove({ containerId: container, ifName: "eth2" });
        await networks.allocations.release({ containerId: container, ifName: "eth2" });
        const lost = linkOf("eth2");
        if (lost !== undefined) networks.node.links.delete(lost.name);
        expect(await networks.node.add()).toEqual(answer);
        expect(networks.held()).toMatchObject({ ports: ["eth1", "eth2"], interfaces: ["eth1", "eth2"] });
    });

    it("takes over the addresses of an earlier sandbox of the Pod, whose interfaces end first", async () => {
        await networks.node.add({ containerId: older });
        const addresses = networks.held()["addresses"];
        await networks.node.add();
        expect(networks.held()).toEqual({
            ...nothingHeld,
            interfaces: ["eth1", "eth2"],
            ports: ["eth1", "eth2"],
            addresses,
        });
        expect(networks.table.list().map(({ record }) => record.containerId)).toEqual([container, container]);
        expect(networks.node.network.interfaces().map(({ record }) => record.containerId)).toContain(container);
    });

    it("waits for those of the earlier sandbox, and asks the kubelet to come again while OVS is away", async () => {
        await networks.node.add({ containerId: older });
        networks.node.steps.failure = (_, name) => (name === "delete network ports" ? "before" : undefined);
        expect(await refusal(networks.node.add())).toMatchObject({
            code: "STILL_REMOVED",
            fault: "timeout",
            message:
                "further interfaces of an earlier sandbox of Pod default/web-0 are not removed yet; is ovs-vswitchd up?",
        });
        expect(networks.failed).toHaveLength(1);
        networks.node.steps.failure = () => undefined;
        await networks.node.add();
        expect(networks.table.list().map(({ record }) => record.containerId)).toEqual([container, container]);
    });

    it("of another Pod, or of one whose UID is not known, ends no interface of others", async () => {
        await networks.node.add({ containerId: older, podUid: "" });
        await networks.node.add({ podUid: "" });
        await networks.node.add({ containerId: "ef56".repeat(16), podUid: "uid-3", podName: "web-3" });
        expect(networks.table.list()).toHaveLength(6);
    });

    it("for which networks are planned on a Node that makes none is an error of this program", async () => {
        const node = new FakeNode({ networks: () => ({ planNetworks: () => Promise.resolve(both) }) });
        await expect(node.add()).rejects.toMatchObject({ code: "NO_FURTHER", fault: "internal" });
        expect(node.taken()).toEqual(nothingTaken);
    });
});
