import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";

const container = "ab12".repeat(16);
const netns = "/run/netns/ab12ab12";
const nothingHeld = { interfaces: [], ports: [], addresses: [], functions: [] };
const net1 = { containerId: container, ifName: "net1" };

let networks: FakeNetworks;

/** A container with its interface on the Pod network; meta plugins ask for those of `plans`. */
async function begin(plans: FakeNetworks["plans"] = [], podCidrs = ["10.10.1.0/24"]): Promise<void> {
    networks = new FakeNetworks({ podCidrs });
    await networks.node.add();
    await networks.node.clock.advance(1);
    networks.plans = plans;
    networks.node.steps.clear();
    networks.log.length = 0;
}

beforeEach(() => begin());

describe("the DEL of one interface", () => {
    it("ends it alone, with its link and address, and nothing when it is repeated", async () => {
        await networks.addOne("net1");
        await networks.addOne("net2");
        await networks.node.clock.advance(1);
        await networks.single.delete(net1);
        expect(networks.held()).toEqual({
            interfaces: ["net2"],
            ports: ["net2"],
            addresses: ["192.168.100.3"],
            functions: [],
        });
        expect(Object.keys(networks.inside(netns))).toEqual(["eth0", "net2"]);
        const before = networks.held();
        await networks.single.delete(net1);
        expect(networks.held()).toEqual(before);
    });

    it.each(["eth0", "lo"])("of %s leaves all as it is, as it is of the Pod network", async (ifName) => {
        await networks.addOne("net1");
        networks.node.steps.clear();
        await networks.single.delete({ containerId: container, ifName });
        expect(networks.node.steps.asked).toEqual([]);
        expect(networks.node.network.hasContainer(container)).toBe(true);
    });

    it("while OVS is away is completed by the reconcile", async () => {
        await networks.addOne("net1");
        await networks.node.clock.advance(1);
        networks.node.steps.failure = (_, name) => (name === "delete network ports" ? "before" : undefined);
        await networks.single.delete(net1);
        expect(networks.held()).toMatchObject({ interfaces: ["net1"], addresses: ["192.168.100.2"] });
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
        expect(Object.keys(networks.inside(netns))).toEqual(["eth0"]);
    });

    it("that waits in vain for other work on the container is left to the reconcile", async () => {
        await networks.addOne("net1");
        await networks.node.clock.advance(1);
        const work = Promise.withResolvers<void>();
        const held = networks.node.network.exclusively(container, () => work.promise);
        const deleting = networks.single.delete(net1);
        await networks.node.clock.advance(5_000);
        await deleting;
        expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject([
            {
                message: "unwiring of a further interface is left to the reconcile",
                fields: {
                    container,
                    interface: "net1",
                    reason: expect.stringContaining("other work on the container took longer than 5 s"),
                },
            },
        ]);
        work.resolve();
        await held;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("frees an allocation of an ADD that failed before it wrote a record, but not where an earlier bridge may have its port", async () => {
        const left = (): void =>
            void networks.allocations.held.set("192.168.100.9", { owner: `${container}/net1`, key: "", pool: "100" });
        left();
        await networks.single.delete(net1);
        expect(networks.held()).toEqual(nothingHeld);
        left();
        networks.hasBridge = false;
        await networks.restart();
        await networks.single.delete(net1);
        expect(networks.held()).toMatchObject({ addresses: ["192.168.100.9"] });
        await networks.node.clock.advance(1);
        await networks.node.network.delete(container, "eth0");
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("goes on when its link cannot be deleted, and reports it", async () => {
        await networks.addOne("net1");
        networks.node.steps.failure = (_, name) => (name === "deleteLink" ? "before" : undefined);
        await networks.single.delete(net1);
        expect(networks.warnings()).toEqual([["link of a Pod cannot be deleted", "deleteLink failed"]]);
        expect(networks.held()).toEqual(nothingHeld);
    });

    describe("that has the Pod's default route", () => {
        const routes = (): readonly string[] => networks.node.inside.routesIn(netns);
        const gateway = (pool: string): ReturnType<typeof plannedNetwork> =>
            plannedNetwork(`net${pool === "100" ? 1 : 2}`, { pool, defaultGateways: [parseIp(`192.168.${pool}.1`)] });

        beforeEach(() => begin([gateway("100"), gateway("200")]));

        it("gives it back to the interface that had it before", async () => {
            await networks.addOne("net1");
            await networks.addOne("net2");
            expect(routes()).toEqual(["0.0.0.0/0 via 192.168.200.1 dev net2"]);
            await networks.single.delete({ ...net1, ifName: "net2" });
            expect(routes()).toEqual(["0.0.0.0/0 via 192.168.100.1 dev net1"]);
            await networks.single.delete(net1);
            expect(routes()).toEqual(["0.0.0.0/0 via 10.10.1.1 dev eth0"]);
        });

        it("takes it from the network that had it, which the log has once with the names of both", async () => {
            const moves = (): readonly unknown[] =>
                networks.log.filter(({ message }) => message.startsWith("the default route of a Pod"));
            await networks.addOne("net1");
            await networks.addOne("net3");
            expect(moves()).toEqual([]);
            await networks.addOne("net2");
            await networks.addOne("net2");
            expect(moves()).toEqual([
                {
                    level: "info",
                    message: "the default route of a Pod leads to another network now",
                    fields: {
                        pod: "default/web-0",
                        container,
                        families: [4],
                        from: ["default/net1"],
                        to: "default/net2",
                    },
                },
            ]);
        });

        it("gives it back where the records were rebuilt from the links", async () => {
            await networks.addOne("net1");
            networks.ports.clear();
            networks.node.stored.clear();
            await networks.restart();
            await networks.single.delete(net1);
            expect(routes()).toEqual(["0.0.0.0/0 via 10.10.1.1 dev eth0"]);
        });

        it("gives back those of both families, and none of a family that it did not have", async () => {
            const order = [0, { ip: parseIp("fd00:100::7"), prefixLength: 64, gateway: parseIp("fd00:100::1") }];
            const addresses = { demands: [{ pool: "100", fixed: undefined }], order, given: new Map<number, never>() };
            const [v4, v6] = [parseIp("192.168.100.1"), parseIp("fd00:100::1")];
            await begin(
                [plannedNetwork("net1", { addresses, defaultGateways: [v4, v6] })],
                ["10.10.1.0/24", "fd10:10:0:1::/64"],
            );
            const own = routes().toSorted();
            await networks.addOne("net1");
            expect(routes().every((route) => route.endsWith("dev net1"))).toBe(true);
            await networks.single.delete(net1);
            expect(routes().toSorted()).toEqual(own);
            networks.plans = [plannedNetwork("net1", { addresses, defaultGateways: [v6] })];
            await networks.node.clock.advance(1);
            await networks.addOne("net1");
            await networks.single.delete(net1);
            expect(routes().toSorted()).toEqual(own);
        });

        it("leaves another one that the Pod has made since", async () => {
            await networks.addOne("net1");
            networks.node.steps.failure = (_, name) => {
                if (name === "deleteLink") {
                    const { index = 0 } = networks.node.inside.end(netns, "eth0") ?? {};
                    void networks.node.inside
                        .openIn(netns)
                        .batch((batch) =>
                            batch.replaceRoute({ dst: "default", via: parseIp("10.10.1.9"), dev: index }),
                        );
                }
                return undefined;
            };
            await networks.single.delete(net1);
            expect(routes()).toEqual(["0.0.0.0/0 via 10.10.1.9 dev eth0"]);
            expect(networks.warnings()).toEqual([]);
        });

        it("has nothing to give back in a namespace that has ended, or without eth0", async () => {
            await networks.addOne("net1");
            networks.node.inside.remove(netns, "eth0");
            await networks.single.delete(net1);
            expect([routes(), networks.warnings()]).toEqual([[], []]);
            await begin([gateway("100")]);
            await networks.addOne("net1");
            networks.node.namespaces.delete(netns);
            await networks.single.delete(net1);
            expect(networks.warnings()).toEqual([]);
        });

        it("reports it when it cannot be given back", async () => {
            await networks.addOne("net1");
            networks.node.steps.failure = (_, name) => (name === "pod batch" ? "before" : undefined);
            await networks.single.delete(net1);
            expect(networks.log.filter(({ level }) => level === "warn")).toMatchObject([
                {
                    message: "the default route of a Pod cannot be given back to its interface on the Pod network",
                    fields: { pod: "default/web-0", container, reason: "pod batch failed" },
                },
            ]);
            expect(networks.held()).toEqual(nothingHeld);
        });
    });
});
