import { beforeEach, describe, expect, it } from "@jest/globals";
import { messageOf } from "@antrea/errors";
import { parseIp } from "@antrea/ip";
import { wiringErrorCode } from "../../../src/features/pod-network/index.ts";
import { askedFor, device, FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";

const container = "ab12".repeat(16);
const other = "cd34".repeat(16);
const netns = "/run/netns/ab12ab12";
const nothingHeld = { interfaces: [], ports: [], addresses: [], functions: [] };
const net1 = { containerId: container, ifName: "net1" };

let networks: FakeNetworks;

const refusal = (adding: Promise<unknown>): Promise<unknown> =>
    adding.then(
        () => undefined,
        (error: unknown) => error,
    );
const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** A container with its interface on the Pod network; meta plugins ask for those of `plans`. */
async function begin(plans: FakeNetworks["plans"] = []): Promise<void> {
    networks = new FakeNetworks();
    await networks.node.add();
    await networks.node.clock.advance(1);
    networks.plans = plans;
    networks.node.steps.clear();
    networks.log.length = 0;
}

beforeEach(() => begin());

describe("the ADD of one interface", () => {
    it("makes it beside the others of its container, and gives the same when it is repeated", async () => {
        const record = await networks.addOne("net1");
        expect(record).toMatchObject({ ...net1, network: "default/net1", netns, vlan: 100 });
        await networks.addOne("net2");
        const before = networks.held();
        expect(before).toEqual({
            interfaces: ["net1", "net2"],
            ports: ["net1", "net2"],
            addresses: ["192.168.100.2", "192.168.100.3"],
            functions: [],
        });
        expect(await networks.addOne("net1")).toEqual(record);
        expect(networks.held()).toEqual(before);
    });

    it("that is repeated restores what OVS lost", async () => {
        await networks.addOne("net1");
        networks.ports.clear();
        await networks.addOne("net1");
        expect(networks.held()).toMatchObject({ ports: ["net1"] });
    });

    it("that is repeated makes it anew, with its address, when its link is gone or its removal has begun", async () => {
        await networks.addOne("net1");
        for (const { name, podEnd } of networks.node.links.values())
            if (podEnd?.ifName === "net1") networks.node.links.delete(name);
        expect(await networks.addOne("net1")).toMatchObject({ ifName: "net1" });
        expect(networks.inside(netns)).toMatchObject({ net1: ["192.168.100.2/24"] });
        networks.node.steps.failure = (_, name) => (name === "delete network ports" ? "before" : undefined);
        await networks.single.delete(net1);
        networks.node.steps.failure = () => undefined;
        await networks.node.clock.advance(1);
        await networks.addOne("net1");
        expect(networks.table.list()).toMatchObject([{ leaving: undefined }]);
        expect(networks.inside(netns)).toMatchObject({ net1: ["192.168.100.2/24"] });
    });

    it.each([
        ["the plan", "plan"],
        ["the allocation", "claim network"],
        ["OVS, which keeps the port", "delete network ports"],
    ])("that is repeated and fails at %s gives back the address of what it removed", async (_, step) => {
        await networks.addOne("net1");
        for (const { name, podEnd } of networks.node.links.values())
            if (podEnd?.ifName === "net1") networks.node.links.delete(name);
        networks.node.steps.failure = (_at, name) => (name === step ? "before" : undefined);
        expect(await refusal(networks.addOne("net1"))).toBeDefined();
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
        expect(Object.keys(networks.inside(netns))).toEqual(["eth0"]);
    });

    it("that is repeated and fails at its plan leaves what is there, and what it does not know", async () => {
        await networks.addOne("net1");
        // Of another plugin's interface.
        networks.allocations.held.set("192.168.100.9", { owner: `${container}/net2`, key: "", pool: "100" });
        const before = networks.held();
        networks.node.steps.failure = (_, name) => (name === "plan" ? "before" : undefined);
        for (const ifName of ["net1", "net2"]) expect(await refusal(networks.addOne(ifName))).toBeDefined();
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toEqual(before);
    });

    it("that fails before the Pod has its address gives that back, though neither link nor port can be taken back", async () => {
        networks.node.steps.failure = (_, name) =>
            ["ensure network ports", "delete network ports", "close link"].includes(name) ? "before" : undefined;
        expect(await refusal(networks.addOne("net1"))).toMatchObject({ message: "ensure network ports failed" });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("is refused under a name that the container has for another network, or on the Pod network", async () => {
        await networks.addOne("net1");
        const before = networks.held();
        const error = await refusal(networks.addOne("net1", { asked: askedFor("net1", "default/net7") }));
        expect(error).toMatchObject({
            code: "SECOND_INTERFACE",
            fault: "caller",
            message: `network default/net7: container ${container} has interface net1 of network default/net1 already; next: request another interface name in the Pod's annotation k8s.v1.cni.cncf.io/networks, or DEL net1 first`,
        });
        expect(wiringErrorCode(error)).toBe("INVALID_NETWORK_CONFIG");
        expect(networks.failed).toEqual([messageOf(error)]);
        for (const ifName of ["eth0", "lo"]) {
            expect(await refusal(networks.addOne(ifName))).toMatchObject({
                code: "SECOND_INTERFACE",
                message: expect.stringContaining(`has interface ${ifName} of the Pod network already`),
            });
        }
        expect(networks.held()).toEqual(before);
    });

    it("does not know the name of a network whose database was lost, and reports it", async () => {
        await networks.addOne("net1");
        networks.ports.clear();
        networks.node.stored.clear();
        await networks.restart();
        await networks.node.clock.advance(1);
        expect(await refusal(networks.addOne("net1"))).toMatchObject({
            message: expect.stringContaining("has interface net1 of network of another name already"),
        });
    });

    it("is refused in a container that is not of antrea, or is being removed", async () => {
        const message = (id: string): string =>
            `network default/net1: container ${id} of Pod default/web-0 has no interface on the Pod network of antrea, and only such containers get further interfaces; next: let antrea be the network of the cluster, which the runtime or the meta plugin attaches first`;
        const error = await refusal(networks.addOne("net1", { containerId: other }));
        expect(error).toMatchObject({ code: "OTHERS_SANDBOX", fault: "caller", message: message(other) });
        expect(networks.failed).toEqual([message(other)]);
        expect(wiringErrorCode(error)).toBe("INVALID_NETWORK_CONFIG");
        networks.node.steps.failure = (_, name) => (name === "deletePort" ? "before" : undefined);
        await networks.node.network.delete(container, "eth0");
        await networks.node.clock.advance(1);
        expect(await refusal(networks.addOne("net1"))).toMatchObject({
            code: "OTHERS_SANDBOX",
            message: message(container),
        });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("is refused in the namespace of another container", async () => {
        await networks.node.add({ containerId: other, podUid: "uid-1", podName: "web-1" });
        expect(await refusal(networks.addOne("net1", { netns: "/run/netns/cd34cd34" }))).toMatchObject({
            code: "OTHERS_NETNS",
        });
    });

    it("fails after a DEL of it that came later, also while it is made, and leaves nothing", async () => {
        const call = networks.call("net1");
        const { signal } = new AbortController();
        await networks.node.clock.advance(1);
        await networks.single.delete(net1);
        const deleted = {
            code: "DELETED_MEANWHILE",
            fault: "caller",
            message: `interface net1 of container ${container} was deleted after this ADD was asked for`,
        };
        expect(await refusal(networks.single.add(call, signal))).toMatchObject(deleted);
        expect(networks.node.steps.asked).not.toContain("plan");
        // That of another interface is no matter for it.
        await networks.node.clock.advance(1);
        const opened = Promise.withResolvers<void>();
        networks.node.steps.waits.set("network ports opened", opened.promise);
        const adding = refusal(networks.addOne("net1"));
        await turns(100);
        await networks.node.clock.advance(1);
        const deleting = [networks.single.delete(net1), networks.single.delete({ ...net1, ifName: "net2" })];
        opened.resolve();
        expect(await adding).toMatchObject(deleted);
        await Promise.all(deleting);
        expect(networks.held()).toEqual(nothingHeld);
        await networks.node.clock.advance(1);
        await networks.addOne("net1");
    });

    it("fails after a DEL of its container, and an abort, of which nothing is reported", async () => {
        const opened = Promise.withResolvers<void>();
        networks.node.steps.waits.set("network ports opened", opened.promise);
        const adding = refusal(networks.addOne("net1"));
        await turns(100);
        await networks.node.clock.advance(1);
        const deleting = networks.node.network.delete(container, "eth0");
        opened.resolve();
        expect(await adding).toMatchObject({ code: "DELETED_MEANWHILE" });
        await deleting;
        expect([networks.held(), networks.failed]).toEqual([nothingHeld, []]);
        await begin();
        const stop = new AbortController();
        const aborted = refusal(networks.single.add(networks.call("net1"), stop.signal));
        await turns(3);
        stop.abort();
        expect(await aborted).toMatchObject({ fault: "aborted" });
        expect([networks.held(), networks.failed]).toEqual([nothingHeld, []]);
    });

    it("that fails gives all back, and reports why, whatever the reason", async () => {
        await begin([
            plannedNetwork("net1", { pool: "full" }),
            plannedNetwork("net2", { pool: "100", routes: [{ dst: "10.10.1.0/24" }] }),
        ]);
        const exhausted = await refusal(networks.addOne("net1"));
        expect(exhausted).toMatchObject({ code: "EXHAUSTED" });
        expect(await refusal(networks.addOne("net2"))).toMatchObject({ code: "BAD_ROUTE" });
        networks.node.steps.failure = (_, name) => (name === "network ports opened" ? "before" : undefined);
        const unopened = await refusal(networks.addOne("net3"));
        networks.node.steps.failure = () => undefined;
        expect(networks.failed).toEqual([
            messageOf(exhausted),
            expect.stringContaining("the route to 10.10.1.0/24"),
            messageOf(unopened),
        ]);
        expect(networks.held()).toEqual(nothingHeld);
        expect(Object.keys(networks.inside(netns))).toEqual(["eth0"]);
    });

    it("that is refused before it is planned is reported", () => {
        networks.single.refused(networks.call("net1"), new Error("runtimeConfig.ips: is refused"));
        expect(networks.failed).toEqual(["runtimeConfig.ips: is refused"]);
    });

    it("that cannot have the default route is not made at all", async () => {
        await begin([plannedNetwork("net1", { pool: "100", defaultGateways: [parseIp("198.51.100.1")] })]);
        expect(await refusal(networks.addOne("net1"))).toMatchObject({ code: "BAD_ROUTE" });
        expect(networks.held()).toEqual(nothingHeld);
        expect(Object.keys(networks.inside(netns))).toEqual(["eth0"]);
    });

    it("takes over the address of an earlier sandbox, whose interface of the name ends, and no other", async () => {
        await networks.addOne("net1");
        await networks.addOne("net2");
        await networks.node.add({ containerId: other });
        // All ended with the earlier sandbox's own interface only if that went: it did not here.
        await networks.addOne("net1", { containerId: other });
        expect(networks.further.ofContainer(other).map(({ record }) => record.ifName)).toEqual(["net1"]);
        expect(networks.further.ofContainer(container).map(({ record }) => record.ifName)).not.toContain("net1");
        expect(networks.inside("/run/netns/cd34cd34")).toMatchObject({ net1: ["192.168.100.2/24"] });
    });

    it("reports it when the interface is gone once it is made", async () => {
        const { further } = networks;
        const { moveDefaultRoutes } = further;
        further.moveDefaultRoutes = async (own) => {
            await moveDefaultRoutes.call(further, own);
            await further.remove(container, "release", "net1");
        };
        expect(await refusal(networks.addOne("net1"))).toMatchObject({
            code: "LINK_VANISHED",
            message:
                "network default/net1: interface net1 of Pod default/web-0 was removed while it was made; next: wait, as the kubelet tries again",
        });
        expect(networks.failed).toHaveLength(1);
    });
});

describe("a virtual function as one interface", () => {
    beforeEach(() => begin([plannedNetwork("net1", { pool: "100", device })]));

    it("goes home with its DEL, and back by a repeated ADD if the Pod lost it", async () => {
        await networks.addOne("net1");
        await networks.addOne("net1");
        expect(networks.node.steps.done.filter((step) => step === "take function")).toHaveLength(1);
        networks.node.inside.remove(netns, "net1");
        networks.taken.clear();
        await networks.addOne("net1");
        expect(networks.inside(netns)).toMatchObject({ net1: ["192.168.100.2/24"] });
        await networks.single.delete(net1);
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.node.network.interfaces()[0]?.record.functions).toBeUndefined();
        expect(Object.keys(networks.inside(netns))).toEqual(["eth0"]);
    });

    it("of a failed ADD goes home, with its address, and out of the record", async () => {
        networks.plans = [plannedNetwork("net1", { pool: "100", device, routes: [{ dst: "10.10.1.0/24" }] })];
        expect(await refusal(networks.addOne("net1"))).toMatchObject({ code: "BAD_ROUTE" });
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.node.network.interfaces()[0]?.record.functions).toBeUndefined();
        const [port] = networks.node.stored.values();
        expect(JSON.stringify([...(port?.externalIds ?? [])])).not.toContain("net1");
    });

    it("stays in the record beside one that ends", async () => {
        networks.plans = [...networks.plans, plannedNetwork("net2", { device: { ...device, id: "0000:af:06.1" } })];
        await networks.addOne("net1");
        await networks.addOne("net2");
        const recorded = (): readonly string[] | undefined =>
            networks.node.network.interfaces()[0]?.record.functions?.map(({ ifName }) => ifName);
        expect(recorded()).toEqual(["net1", "net2"]);
        await networks.single.delete(net1);
        expect(recorded()).toEqual(["net2"]);
        const [port] = networks.node.stored.values();
        expect(JSON.stringify([...(port?.externalIds ?? [])])).not.toContain("net1");
    });
});

describe("a GC", () => {
    it("removes the interfaces of its network that it does not list, and none that is asked for meanwhile", async () => {
        for (const ifName of ["net1", "net2", "net3"]) {
            const network = ifName === "net3" ? "default/b" : "default/a";
            networks.plans = [plannedNetwork(ifName, { pool: "100", network })];
            await networks.addOne(ifName, { asked: askedFor(ifName, network) });
        }
        const now = networks.node.clock.monotonic();
        // Answered in the very moment of the GC.
        expect(await networks.single.collect("a", [], now)).toBe(0);
        expect(await networks.single.collect("c", [], now + 1)).toBe(0);
        expect(await networks.single.collect("a", [net1], now + 1)).toBe(1);
        expect(networks.held()).toMatchObject({ interfaces: ["net1", "net3"] });
        expect(await networks.single.collect("b", [], now + 1)).toBe(1);
        expect(networks.held()).toMatchObject({ interfaces: ["net1"], ports: ["net1"], addresses: ["192.168.100.2"] });
    });
});

describe("a GC of a network that Pods also have by their annotation", () => {
    const collect = (): Promise<number> => networks.single.collect("a", [], networks.node.clock.monotonic() + 1);

    beforeEach(async () => {
        networks = new FakeNetworks();
        networks.plans = [plannedNetwork("eth1", { pool: "100", network: "default/a" })];
        await networks.node.add();
        await networks.node.clock.advance(1);
        networks.plans = [plannedNetwork("net1", { pool: "100", network: "default/a" })];
        await networks.addOne("net1", { asked: askedFor("net1", "default/a") });
    });

    it("removes those of meta plugins only, also after a restart", async () => {
        await networks.restart();
        expect(await collect()).toBe(1);
        expect(networks.held()).toMatchObject({ interfaces: ["eth1"], ports: ["eth1"] });
    });

    it("does so after the database was lost", async () => {
        networks.ports.clear();
        networks.networkOf = "default/a";
        await networks.restart();
        expect(networks.table.list()).toHaveLength(2);
        expect(await collect()).toBe(1);
        expect(networks.held()).toMatchObject({ interfaces: ["eth1"] });
    });

    it("keeps those of records that do not say who attached them", async () => {
        for (const [name, port] of networks.ports) {
            const ids = [...port.externalIds].filter(([key]) => key !== "attached-by");
            networks.ports.set(name, { ...port, externalIds: new Map(ids) });
        }
        await networks.restart();
        expect(await collect()).toBe(0);
        await networks.single.delete(net1);
        expect(networks.held()).toMatchObject({ interfaces: ["eth1"] });
    });
});

describe("the CHECK of one interface", () => {
    it("compares it, and reports it when there is none", async () => {
        await networks.addOne("net1");
        await expect(networks.single.check({ ...net1, netns, previous: undefined })).rejects.toThrow(
            "net1 was compared",
        );
        await expect(
            networks.single.check({ ...net1, ifName: "net2", netns, previous: undefined }),
        ).rejects.toMatchObject({
            code: "INTERFACE",
            fault: "environment",
            message: `container ${container} has no interface net2 on this Node`,
        });
    });
});
