import { beforeEach, describe, expect, it } from "@jest/globals";
import { releasedAlias } from "../../../src/platform/pod-interfaces/index.ts";
import { FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import type { FakeLink } from "./fake-node.ts";

const container = "ab12".repeat(16);
const older = "cd34".repeat(16);
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

describe("the DEL of a Pod with networks", () => {
    it("removes all of it in one transaction, and reports it", async () => {
        await networks.node.add();
        networks.log.length = 0;
        await del();
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.node.steps.done.filter((step) => step === "delete network ports")).toHaveLength(1);
        expect([linkOf("eth1"), linkOf("eth2")]).toMatchObject([
            { alias: releasedAlias, up: false },
            { alias: releasedAlias, up: false },
        ]);
        expect(networks.log.filter(({ message }) => message === "further Pod interface removed")).toMatchObject([
            { level: "info", fields: { pod: "default/web-0", container, network: "default/eth1", interface: "eth1" } },
            { fields: { interface: "eth2" } },
        ]);
    });

    it("while OVS is away is completed by the reconcile, which then frees the addresses", async () => {
        await networks.node.add();
        networks.node.steps.failure = (_, name) => (name === "delete network ports" ? "before" : undefined);
        await del();
        expect(networks.held()).toMatchObject({
            interfaces: ["eth1", "eth2"],
            ports: ["eth1", "eth2"],
            addresses: ["192.168.100.2", "192.168.200.2"],
        });
        expect(networks.warnings()).toContainEqual([
            "unwiring of further interfaces is left to the reconcile",
            "delete network ports failed",
        ]);
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
    });

    describe("that OVS kept from its end", () => {
        const away = (_: number, name: string): "before" | undefined =>
            name === "delete network ports" ? "before" : undefined;

        beforeEach(async () => {
            await networks.node.add();
            networks.node.steps.failure = away;
            await del();
            await networks.node.clock.advance(1);
        });

        it("is completed by the next ADD of the container, whose interfaces are its own", async () => {
            networks.node.steps.failure = () => undefined;
            await networks.node.add();
            await networks.round();
            expect(networks.table.list().map(({ leaving }) => leaving)).toEqual([undefined, undefined]);
            expect(networks.held()).toMatchObject({ interfaces: ["eth1", "eth2"], ports: ["eth1", "eth2"] });
            expect(Object.keys(networks.inside())).toEqual(["eth0", "eth1", "eth2"]);
        });

        it("refuses that ADD, and keeps the addresses as long as their ports are there", async () => {
            expect(await refusal(networks.node.add())).toMatchObject({ code: "STILL_REMOVED" });
            expect(networks.held()).toMatchObject({
                ports: ["eth1", "eth2"],
                addresses: ["192.168.100.2", "192.168.200.2"],
            });
            networks.node.steps.failure = () => undefined;
            await networks.round();
            expect(networks.held()).toEqual(nothingHeld);
        });

        it("leaves no port and no address when that ADD fails for another reason", async () => {
            networks.node.steps.failure = (_, name) => (name === "network ports opened" ? "before" : undefined);
            expect(await refusal(networks.node.add())).toMatchObject({ message: "network ports opened failed" });
            expect(networks.held()).toEqual(nothingHeld);
        });
    });

    it("gives OVS five seconds", async () => {
        await networks.node.add();
        networks.node.steps.hanging.add("delete network ports");
        await networks.node.clock.advance(1);
        const deleting = networks.node.network.delete(container, "eth0");
        for (let turns = 0; turns < 100; turns += 1) await new Promise((resolve) => setImmediate(resolve));
        await networks.node.clock.advance(4_999);
        expect(networks.warnings()).toEqual([]);
        await networks.node.clock.advance(1);
        await deleting;
        expect(networks.warnings()).toContainEqual([
            "unwiring of further interfaces is left to the reconcile",
            expect.stringContaining("unwiring took longer than 5 s"),
        ]);
    });

    it("that waits in vain for other work on the container leaves all its interfaces to the reconcile", async () => {
        await networks.node.add();
        const work = Promise.withResolvers<void>();
        const held = networks.node.network.exclusively(container, () => work.promise);
        await networks.node.clock.advance(1);
        const deleting = networks.node.network.delete(container, "eth0");
        await networks.node.clock.advance(5_000);
        await deleting;
        expect(networks.table.list().map(({ leaving }) => leaving)).toEqual(["release", "release"]);
        work.resolve();
        await held;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("frees allocations of an ADD that failed before it wrote a record", async () => {
        networks.allocations.held.set("192.168.100.9", { owner: `${container}/eth1`, key: "", pool: "100" });
        networks.allocations.held.set("192.168.100.10", { owner: `${older}/eth1`, key: "", pool: "100" });
        await del();
        expect(networks.held()["addresses"]).toEqual(["192.168.100.10"]);
    });

    it("ends an interface whose host end is gone already, and one whose link is another's", async () => {
        await networks.node.add();
        const [first, second] = [linkOf("eth1"), linkOf("eth2")];
        if (first === undefined || second === undefined) throw new Error("no links");
        networks.node.links.delete(first.name);
        networks.node.links.set(second.name, { ...second, alias: "uplink of the printer" });
        await del();
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.node.links.get(second.name)?.up).toBe(true);
    });

    it("ends one whose link goes in that very moment, without a word", async () => {
        await networks.node.add();
        networks.node.steps.failure = (_, name) => {
            const link = linkOf("eth1");
            if (name === "close link" && link !== undefined) networks.node.links.delete(link.name);
            return undefined;
        };
        await del();
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.warnings().filter(([, reason]) => String(reason).includes("no link"))).toEqual([]);
    });
});

describe("an interface that is isolated", () => {
    const recordOf = (ifName: string): Parameters<FakeNetworks["further"]["setIsolated"]>[0] => {
        const record = networks.further.get({ containerId: container, ifName })?.record;
        if (record === undefined) throw new Error(`no ${ifName}`);
        return record;
    };

    it("has its link down and notes it in its record and alias, until it is connected again", async () => {
        await networks.node.add();
        await networks.node.network.setNetworkIsolated(recordOf("eth1"), true);
        expect(linkOf("eth1")).toMatchObject({ up: false, alias: expect.stringContaining("iso") });
        const ids = (): unknown =>
            [...networks.ports.values()].find(({ externalIds }) => externalIds.get("if-dev") === "eth1")?.externalIds;
        expect(ids()).toContainEqual(["isolated", "true"]);
        expect(recordOf("eth1").isolated).toBe(true);
        expect(linkOf("eth2")?.up).toBe(true);
        // Nor does a round connect it, but takes back what others did.
        const link = linkOf("eth1");
        if (link !== undefined) networks.node.links.set(link.name, { ...link, up: true });
        await networks.round();
        await networks.node.add();
        expect(linkOf("eth1")?.up).toBe(false);
        await networks.node.network.setNetworkIsolated(recordOf("eth1"), false);
        expect(linkOf("eth1")).toMatchObject({ up: true, alias: expect.not.stringContaining("iso") });
        expect(ids()).not.toContainEqual(["isolated", "true"]);
        expect(recordOf("eth1").isolated).toBeUndefined();
    });

    it("counts as isolated from the beginning of that, and as connected only from its end", async () => {
        await networks.node.add();
        networks.node.steps.failure = (_, name) => (name === "ensure network ports" ? "before" : undefined);
        await expect(networks.further.setIsolated(recordOf("eth1"), true)).rejects.toThrow(
            "ensure network ports failed",
        );
        expect(recordOf("eth1").isolated).toBe(true);
        networks.node.steps.failure = () => undefined;
        await networks.further.setIsolated(recordOf("eth1"), true);
        networks.node.steps.failure = (_, name) => (name === "ensure network ports" ? "before" : undefined);
        await expect(networks.further.setIsolated(recordOf("eth1"), false)).rejects.toThrow(
            "ensure network ports failed",
        );
        expect(recordOf("eth1").isolated).toBe(true);
    });

    it.each([
        [true, "isolating the interface took longer than 20 s"],
        [false, "reconnecting the interface took longer than 20 s"],
    ])("is given up by an OVS that does not answer (isolated: %s)", async (isolated, message) => {
        await networks.node.add();
        networks.node.steps.hanging.add("ensure network ports");
        const outcome = refusal(networks.further.setIsolated(recordOf("eth1"), isolated));
        for (let turns = 0; turns < 20; turns += 1) await new Promise((resolve) => setImmediate(resolve));
        await networks.node.clock.advance(20_000);
        expect(await outcome).toMatchObject({ code: "TOO_SLOW", message: expect.stringContaining(message) });
    });
});
