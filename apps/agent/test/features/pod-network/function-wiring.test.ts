import { beforeEach, describe, expect, it } from "@jest/globals";
import { releasedAlias } from "../../../src/platform/pod-interfaces/index.ts";
import { device, FakeNetworks } from "./fake-networks.ts";
import { plannedNetwork } from "../../support/planned-network.ts";
import { nothingTaken } from "./fake-node.ts";

const container = "ab12".repeat(16);
const netns = "/run/netns/ab12ab12";
const nothingHeld = { interfaces: [], ports: [], addresses: [], functions: [] };
const plan = plannedNetwork("eth1", { pool: "100", device, mac: "02:00:00:00:00:07" });

let networks: FakeNetworks;

function begin(plans: FakeNetworks["plans"] = [plan]): void {
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

describe("a virtual function", () => {
    it("moves into the Pod with its address, and its record is that of the Pod's own interface", async () => {
        await networks.node.add();
        expect(networks.held()).toEqual({
            interfaces: ["eth1"],
            ports: [],
            addresses: ["192.168.100.2"],
            functions: [device.id],
        });
        expect(networks.inside()).toMatchObject({ eth1: ["192.168.100.2/24"] });
        expect(networks.node.inside.end(netns, "eth1")).toMatchObject({ mac: "02:00:00:00:00:07", up: true });
        expect(networks.node.network.interfaces()[0]?.record.functions).toMatchObject([
            { ifName: "eth1", device, vlan: 0 },
        ]);
        expect(networks.log.find(({ message }) => message === "further Pod interface added")).toMatchObject({
            level: "info",
            fields: {
                pod: "default/web-0",
                container,
                network: "default/eth1",
                interface: "eth1",
                device: device.id,
                addresses: ["192.168.100.2"],
            },
        });
        // The NIC completes its checksums.
        expect(networks.node.inside.sysctls).not.toContain(`${netns} eth1 checksums false`);
    });

    it("is recorded before it moves, so that an agent that is killed then brings it home", async () => {
        await networks.node.add();
        const { done } = networks.node.steps;
        expect(done.indexOf("write record")).toBeLessThan(done.indexOf("take function"));
    });

    it("of one Pod is none of another's", async () => {
        const other = { ...device, id: "0000:af:06.1" };
        await networks.node.add();
        networks.plans = [plannedNetwork("eth1", { pool: "100", device: other })];
        await networks.node.add({ containerId: "cd34".repeat(16), podUid: "uid-1", podName: "web-1" });
        const recorded = (): unknown =>
            networks.node.network.interfaces().map(({ record }) => record.functions?.map((one) => one.device?.id));
        expect(recorded()).toEqual([[device.id], [other.id]]);
        await del("cd34".repeat(16));
        expect(recorded()).toEqual([[device.id]]);
        expect(networks.held()).toMatchObject({ functions: [device.id] });
    });

    it("that the Pod has lost can be isolated all the same, in its record", async () => {
        await networks.node.add();
        networks.node.inside.remove(netns, "eth1");
        const [known] = networks.table.list();
        if (known === undefined) throw new Error("no record");
        await networks.further.setIsolated(known.record, true);
        expect(networks.table.list()).toMatchObject([{ record: { isolated: true } }]);
    });

    it("goes home with the DEL, and out of the record", async () => {
        await networks.node.add();
        await del();
        expect(networks.held()).toEqual(nothingHeld);
        expect(networks.node.taken()).toEqual({ ...nothingTaken, links: [releasedAlias] });
    });

    it("that cannot go home yet stays known, and does so by the reconcile", async () => {
        await networks.node.add();
        networks.node.steps.failure = (_, name) => (name === "bring function home" ? "before" : undefined);
        await del();
        expect(networks.held()).toEqual({
            interfaces: ["eth1"],
            ports: [],
            addresses: ["192.168.100.2"],
            functions: [device.id],
        });
        expect(
            networks.log.find(({ message }) => message === "virtual function not yet returned to the Node"),
        ).toMatchObject({
            level: "warn",
            fields: { pod: "default/web-0", container, device: device.id, reason: "bring function home failed" },
        });
        networks.node.steps.failure = () => undefined;
        await networks.round();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("that has no link fails the ADD with what is wrong of it, as a fault of the network", async () => {
        networks.taken.set(device.id, "/run/netns/other");
        const error = await refusal(networks.node.add());
        expect(error).toMatchObject({
            code: "FUNCTION_NOT_TAKEN",
            fault: "environment",
            message: `${device.id} has no link`,
        });
        expect(networks.failed).toEqual([`${device.id} has no link`]);
    });

    it("of a failed ADD goes home, and out of the record", async () => {
        begin([plannedNetwork("eth1", { pool: "100", device, routes: [{ dst: "10.20.0.0/16", gw: "172.31.0.1" }] })]);
        expect(await refusal(networks.node.add())).toMatchObject({ code: "BAD_ROUTE" });
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("is known again after a restart, and one that the Pod lost is put back by a repeated ADD", async () => {
        const answer = await networks.node.add();
        await networks.restart();
        expect(networks.held()).toMatchObject({ interfaces: ["eth1"], functions: [device.id] });
        networks.node.inside.remove(netns, "eth1");
        networks.taken.clear();
        expect(await networks.node.add()).toMatchObject({
            containerId: (answer as { containerId: string }).containerId,
        });
        expect(networks.inside()).toMatchObject({ eth1: ["192.168.100.2/24"] });
        await del();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("that a repeated ADD cannot put back goes home, with its address, and out of the record", async () => {
        await networks.node.add();
        networks.node.inside.remove(netns, "eth1");
        networks.taken.clear();
        let batches = 0;
        networks.node.steps.failure = (_, name) =>
            name === "pod batch" && (batches += 1) === 2 ? "before" : undefined;
        expect(await refusal(networks.node.add())).toMatchObject({ message: "pod batch failed" });
        expect(networks.held()).toEqual(nothingHeld);
        const [own] = networks.node.network.interfaces();
        expect([own?.record.ifName, own?.record.functions]).toEqual(["eth0", undefined]);
        await networks.node.add();
        expect(networks.inside()).toMatchObject({ eth1: ["192.168.100.2/24"] });
    });

    it("needs no bridge", async () => {
        networks.hasBridge = false;
        networks.node.restart();
        expect(networks.further.hasBridge).toBe(false);
        await networks.node.add();
        await networks.round();
        expect(networks.inside()).toMatchObject({ eth1: ["192.168.100.2/24"] });
        await del();
        expect(networks.held()).toEqual(nothingHeld);
    });

    it("that is isolated is down, and isolated in its record", async () => {
        await networks.node.add();
        const known = (): Parameters<FakeNetworks["further"]["setIsolated"]>[0] | undefined =>
            networks.table.list()[0]?.record;
        for (const isIsolated of [true, false]) {
            const record = known();
            if (record === undefined) throw new Error("no record");
            await networks.further.setIsolated(record, isIsolated);
            expect(networks.node.inside.end(netns, "eth1")?.up).toBe(!isIsolated);
            expect(known()?.isolated ?? false).toBe(isIsolated);
            expect(networks.node.network.interfaces()[0]?.record.functions?.[0]?.isolated ?? false).toBe(isIsolated);
        }
    });
});
