import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp, parsePrefix } from "@antrea/ip";
import { FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";

const container = "ab12".repeat(16);
const netns = "/run/netns/ab12ab12";
const nothingHeld = { interfaces: [], ports: [], addresses: [], functions: [] };

let networks: FakeNetworks;

function begin(plans: FakeNetworks["plans"], podCidrs = ["10.10.1.0/24"]): void {
    networks = new FakeNetworks({ podCidrs });
    networks.plans = plans;
}

const refusal = (adding: Promise<unknown>): Promise<unknown> =>
    adding.then(
        () => undefined,
        (error: unknown) => error,
    );
const routes = (): readonly string[] => networks.node.inside.routesIn(netns).toSorted();

describe("the default route", () => {
    const moving = plannedNetwork("eth1", { pool: "100", defaultGateways: [parseIp("192.168.100.1")] });

    it("moves to the interface that asks for it, while Services stay with the Pod network, also after a repeated ADD", async () => {
        begin([moving]);
        networks.serviceCidrs = [parsePrefix("10.96.0.0/12"), parsePrefix("fd00:96::/112")];
        await networks.node.add();
        const moved = ["0.0.0.0/0 via 192.168.100.1 dev eth1", "10.96.0.0/12 via 10.10.1.1 dev eth0"];
        expect(routes()).toEqual(moved);
        expect(networks.further.defaultFamilies(container)).toEqual(new Set([4]));
        await networks.node.add();
        expect(routes()).toEqual(moved);
    });

    it("stays with the Pod network where none asks for it", async () => {
        begin([plannedNetwork("eth1", { pool: "100" })]);
        await networks.node.add();
        expect(networks.node.inside.routesIn(netns)).toEqual(["0.0.0.0/0 via 10.10.1.1 dev eth0"]);
        expect(networks.further.defaultFamilies(container)).toEqual(new Set());
    });

    it("that the kernel does not take fails the ADD, which then leaves nothing", async () => {
        begin([plannedNetwork("eth1", { pool: "100", defaultGateways: [parseIp("198.51.100.1")] })]);
        expect(await refusal(networks.node.add())).toMatchObject({
            code: "BAD_ROUTE",
            fault: "caller",
            message:
                "network default/eth1: default-route: the kernel does not take 198.51.100.1 on eth1: 198.51.100.1 is not in a subnet of eth1; next: name a gateway in the subnet of an address of the interface",
        });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("of one family moves alone, and of both each with its Services", async () => {
        const cidrs = ["10.10.1.0/24", "fd10:10:0:1::/64"];
        begin([moving], cidrs);
        networks.serviceCidrs = [parsePrefix("10.96.0.0/12"), parsePrefix("fd00:96::/112")];
        await networks.node.add();
        expect(routes()).toEqual([
            "0.0.0.0/0 via 192.168.100.1 dev eth1",
            "10.96.0.0/12 via 10.10.1.1 dev eth0",
            "::/0 via fd10:10:0:1::1 dev eth0",
        ]);
        const fixed = { ip: parseIp("fd00:100::7"), prefixLength: 64, gateway: parseIp("fd00:100::1") };
        const addresses = {
            demands: [{ pool: "100", fixed: undefined }],
            order: [0, fixed],
            given: new Map<number, never>(),
        };
        begin([plannedNetwork("eth1", { addresses, routes: [{ dst: "0.0.0.0/0" }, { dst: "::/0" }] })], cidrs);
        networks.serviceCidrs = [parsePrefix("10.96.0.0/12"), parsePrefix("fd00:96::/112")];
        await networks.node.add();
        expect(routes()).toEqual([
            "0.0.0.0/0 via 192.168.100.1 dev eth1",
            "10.96.0.0/12 via 10.10.1.1 dev eth0",
            "::/0 via fd00:100::1 dev eth1",
            "fd00:96::/112 via fd10:10:0:1::1 dev eth0",
        ]);
        // Only an interface with IPv6 needs it on.
        expect(networks.node.inside.sysctls).toContain(`${netns} net/ipv6/conf/eth1/disable_ipv6=0`);
    });

    it("leads to the gateway of the annotation rather than to that of the network", async () => {
        const gateways = [parseIp("192.168.100.9")];
        begin([plannedNetwork("eth1", { pool: "100", defaultGateways: gateways, routes: [{ dst: "0.0.0.0/0" }] })]);
        await networks.node.add();
        expect(routes()).toEqual(["0.0.0.0/0 via 192.168.100.9 dev eth1"]);
    });

    it("moves also where its destination is written with host bits", async () => {
        begin([plannedNetwork("eth1", { pool: "100", routes: [{ dst: "10.0.0.1/0" }] })]);
        await networks.node.add();
        expect(routes()).toEqual(["0.0.0.0/0 via 192.168.100.1 dev eth1"]);
    });

    it("without a gateway is refused, with what is missing", async () => {
        begin([plannedNetwork("eth1", { routes: [{ dst: "0.0.0.0/0" }] })]);
        expect(await refusal(networks.node.add())).toMatchObject({
            code: "BAD_ROUTE",
            fault: "caller",
            message:
                "network default/eth1: ipam.routes: 0.0.0.0/0 has no gateway, and no address of the interface has one; next: write gw",
        });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("is left as it is in a namespace from which an interface has vanished", async () => {
        begin([moving]);
        await networks.node.add();
        const [own] = networks.node.network.interfaces();
        if (own === undefined) throw new Error("no interface");
        networks.node.inside.remove(netns, "eth1");
        await networks.further.moveDefaultRoutes(own.record);
        expect(routes()).toEqual([]);
    });
});

describe("the routes of a running Pod to the ranges of Services", () => {
    const moving = plannedNetwork("eth1", { pool: "100", defaultGateways: [parseIp("192.168.100.1")] });
    const known = async (...cidrs: readonly string[]): Promise<void> => {
        networks.areServiceCidrsKnown = true;
        networks.serviceCidrs = cidrs.map((cidr) => parsePrefix(cidr));
        await networks.round();
    };
    const toServices = (): readonly string[] => routes().filter((route) => route.endsWith("dev eth0"));

    beforeEach(async () => {
        begin([moving], ["10.10.1.0/24", "fd10:10:0:1::/64"]);
        networks.serviceCidrs = [parsePrefix("10.96.0.0/12")];
        await networks.node.add();
    });

    it("follow the ranges, once the API server has answered, also in another start of the agent", async () => {
        networks.serviceCidrs = [];
        await networks.round();
        const six = "::/0 via fd10:10:0:1::1 dev eth0";
        expect(toServices()).toEqual(["10.96.0.0/12 via 10.10.1.1 dev eth0", six]);
        // IPv6 stays with the Pod network as a whole.
        await known("10.96.0.0/12", "10.200.0.0/24", "fd00:96::/112");
        const both = ["10.200.0.0/24 via 10.10.1.1 dev eth0", "10.96.0.0/12 via 10.10.1.1 dev eth0", six];
        expect(toServices()).toEqual(both);
        await known("10.200.0.0/24");
        expect(toServices()).toEqual(["10.200.0.0/24 via 10.10.1.1 dev eth0", six]);
        expect(routes()).toContain("0.0.0.0/0 via 192.168.100.1 dev eth1");
        await networks.restart();
        await known("10.97.0.0/16");
        expect(toServices()).toEqual(["10.97.0.0/16 via 10.10.1.1 dev eth0", six]);
    });

    it("are compared once for each change of the ranges", async () => {
        await known("10.96.0.0/12");
        networks.node.steps.failure = (_, name) => (name === "open namespace" ? "before" : undefined);
        await networks.round();
        expect(networks.warnings()).toEqual([]);
    });

    it("never take the place of a route of the Pod's own", async () => {
        await networks.node.inside.openIn(netns).batch((batch) => {
            const dev = networks.node.inside.end(netns, "eth1")?.index;
            batch.addRoute({ dst: parsePrefix("10.30.0.0/16"), dev });
        });
        await known("10.96.0.0/12", "10.30.0.0/16", "192.168.100.0/24");
        expect(toServices()).toHaveLength(2);
        await known("10.96.0.0/12");
        expect(routes()).toContain("10.30.0.0/16 via - dev eth1");
    });

    it("that cannot be set are logged, and tried again with the next check, which goes on with the rest", async () => {
        networks.node.steps.failure = (_, name) => (name === "pod batch" ? "before" : undefined);
        await known("10.97.0.0/16");
        expect(networks.warnings()).toEqual([["routes to the Service CIDRs of a Pod are not set", "pod batch failed"]]);
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(toServices()).toContain("10.97.0.0/16 via 10.10.1.1 dev eth0");
    });

    it("are left alone where the namespace has ended or its eth0 is gone", async () => {
        networks.node.inside.remove(netns, "eth0");
        await known("10.97.0.0/16");
        networks.node.namespaces.delete(netns);
        await known("10.98.0.0/16");
        expect(networks.warnings()).toEqual([]);
    });

    describe("of which the records were rebuilt from the links, as the database was lost", () => {
        async function loseDatabase(): Promise<void> {
            networks.ports.clear();
            networks.node.stored.clear();
            await networks.restart();
            expect(networks.node.network.interfaces().map(({ record }) => record.netns)).toEqual([""]);
        }

        it("follow the ranges too", async () => {
            await loseDatabase();
            // It has ended since its path was read.
            networks.node.namespaces.add("/run/netns/0");
            await known("10.97.0.0/16");
            expect(toServices()).toContain("10.97.0.0/16 via 10.10.1.1 dev eth0");
            expect(toServices()).not.toContain("10.96.0.0/12 via 10.10.1.1 dev eth0");
            networks.node.links.delete(networks.node.network.interfaces()[0]?.record.hostIfName ?? "");
            await known("10.98.0.0/16");
            expect(networks.warnings()).toEqual([]);
        });

        it("are left alone where the namespace is not found; the log has it once, with the next step", async () => {
            begin([moving]);
            networks.serviceCidrs = [parsePrefix("10.96.0.0/12")];
            await networks.node.add({ netns: "/proc/4000000000/ns/net" });
            await loseDatabase();
            networks.log.length = 0;
            await known("10.97.0.0/16");
            await networks.round();
            expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject([
                { message: expect.stringMatching(/; next: delete the Pod, /), fields: { container } },
            ]);
            expect(networks.node.inside.routesIn("/proc/4000000000/ns/net")).toContain(
                "10.96.0.0/12 via 10.10.1.1 dev eth0",
            );
        });
    });

    it("are not touched in a Pod whose default route leads to the Pod network", async () => {
        begin([plannedNetwork("eth1", { pool: "100" })]);
        await networks.node.add();
        await known("10.97.0.0/16");
        expect(routes()).toEqual(["0.0.0.0/0 via 10.10.1.1 dev eth0"]);
    });
});

describe("the routes of a network", () => {
    it("lead to the gateway of its address, or the one that is named", async () => {
        begin([
            plannedNetwork("eth1", {
                pool: "100",
                routes: [{ dst: "10.20.0.0/16" }, { dst: "10.30.0.0/16", gw: "192.168.100.254" }],
            }),
            plannedNetwork("eth2", { routes: [{ dst: "10.40.0.0/16" }] }),
        ]);
        await networks.node.add();
        expect(routes()).toEqual([
            "0.0.0.0/0 via 10.10.1.1 dev eth0",
            "10.20.0.0/16 via 192.168.100.1 dev eth1",
            "10.30.0.0/16 via 192.168.100.254 dev eth1",
            "10.40.0.0/16 via - dev eth2",
        ]);
    });

    it("lead to the range of a destination that has host bits", async () => {
        begin([
            plannedNetwork("eth1", {
                pool: "100",
                routes: [{ dst: "10.20.0.5/16" }, { dst: "3ffe:ffff:0:01ff::1/64" }],
            }),
        ]);
        await networks.node.add();
        expect(routes()).toEqual([
            "0.0.0.0/0 via 10.10.1.1 dev eth0",
            "10.20.0.0/16 via 192.168.100.1 dev eth1",
            "3ffe:ffff:0:1ff::/64 via - dev eth1",
        ]);
    });

    it("lead to the same place through two interfaces on one network", async () => {
        const twice = { pool: "100", routes: [{ dst: "10.20.0.0/16" }] };
        begin([plannedNetwork("eth1", twice), plannedNetwork("eth2", twice)]);
        await networks.node.add();
        expect(routes()).toEqual([
            "0.0.0.0/0 via 10.10.1.1 dev eth0",
            "10.20.0.0/16 via 192.168.100.1 dev eth1",
            "10.20.0.0/16 via 192.168.100.1 dev eth2",
        ]);
    });

    it("that the Pod has already from the same interface are no matter", async () => {
        begin([plannedNetwork("eth1", { pool: "100", routes: [{ dst: "10.20.0.0/16" }, { dst: "10.20.0.0/16" }] })]);
        await networks.node.add();
        expect(routes()).toHaveLength(2);
    });

    it.each([
        ["the Pod network", "10.10.1.0/24", "eth0"],
        ["another network", "192.168.200.0/24", "eth2"],
    ])("never take the place of one of %s", async (_, dst, holder) => {
        begin([plannedNetwork("eth2", { pool: "200" }), plannedNetwork("eth1", { pool: "100", routes: [{ dst }] })]);
        // Its addresses come first.
        const configured = Promise.withResolvers<void>();
        networks.node.steps.waits.set("claim network", configured.promise);
        const adding = refusal(networks.node.add());
        for (let turns = 0; turns < 100; turns += 1) await new Promise((resolve) => setImmediate(resolve));
        configured.resolve();
        expect(await adding).toMatchObject({
            code: "BAD_ROUTE",
            fault: "caller",
            message: `network default/eth1: ipam.routes: the route to ${dst} via 192.168.100.1 on eth1 cannot be added, as ${holder} has a route to that range; next: remove the route or narrow its range`,
            cause: { code: "EEXIST" },
        });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("that lead elsewhere from two interfaces are refused for the second", async () => {
        const routeTo = (pool: string): Parameters<typeof plannedNetwork>[1] => ({
            pool,
            routes: [{ dst: "10.20.0.0/16" }],
        });
        begin([plannedNetwork("eth1", routeTo("100")), plannedNetwork("eth2", routeTo("200"))]);
        expect(await refusal(networks.node.add())).toMatchObject({ code: "BAD_ROUTE" });
        const direct = { routes: [{ dst: "10.20.0.0/16" }] };
        begin([plannedNetwork("eth1", direct), plannedNetwork("eth2", direct)]);
        expect(await refusal(networks.node.add())).toMatchObject({
            message: expect.stringContaining("the route to 10.20.0.0/16 on eth2 cannot be added, as eth1 has"),
        });
    });

    it("are not blamed for what is an error of this program", async () => {
        begin([plannedNetwork("eth1", { pool: "100", routes: [{ dst: "10.20.0.0/16" }] })]);
        let batches = 0;
        networks.node.steps.failure = (_, name) => (name === "pod batch" && (batches += 1) > 2 ? "before" : undefined);
        expect(await refusal(networks.node.add())).toMatchObject({ code: "STEP_FAILED" });
    });
});

it("an interface that vanishes while it is set up fails its ADD", async () => {
    begin([plannedNetwork("eth1", { pool: "100" })]);
    networks.node.steps.failure = (_, name) => {
        if (name === "ensure network ports") networks.node.inside.remove(netns, "eth1");
        return undefined;
    };
    expect(await refusal(networks.node.add())).toMatchObject({
        code: "LINK_VANISHED",
        fault: "environment",
        message: `network default/eth1: interface eth1 vanished from ${netns} while it was set up; next: wait, as the kubelet tries again; if it stays so, see what else changes the interfaces of Pods on this Node`,
    });
    expect(networks.held()).toEqual(nothingHeld);
});
