import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools, type IpRangeSpec } from "@antrea/crd";
import { eventually } from "@antrea/kube/testing";
import { PoolCluster, podOn } from "../../pool-cluster.ts";

describe("gateways of pools", () => {
    let cluster: PoolCluster;
    beforeAll(async () => {
        cluster = await PoolCluster.start();
    });
    afterAll(async () => cluster[Symbol.asyncDispose]());
    afterEach(async () => cluster.clear());

    async function pool(name: string, range: IpRangeSpec): Promise<void> {
        await cluster.api.create(ipPools, { metadata: { name }, spec: { ipVersion: 4, ipRanges: [range] } });
    }
    async function held(): Promise<readonly string[]> {
        return (await cluster.api.list(ipAllocations)).items
            .filter(({ spec: { owner } }) => owner.kind === "Gateway")
            .map(({ metadata, spec: { owner, state } }) => `${metadata?.name} ${owner.name} ${state}`)
            .sort();
    }
    async function eventuallyHeld(...expected: readonly string[]): Promise<void> {
        const last = async (): Promise<boolean> => JSON.stringify(await held()) === JSON.stringify(expected);
        await eventually(last, { what: expected.join(", ") });
    }

    it("are held, of pools that were there before too, as long as any pool names them", async () => {
        await pool("a", { start: "10.7.0.10", end: "10.7.0.19", gateway: "10.7.0.1", prefixLength: 24 });
        await using term = cluster.term();
        await eventuallyHeld("10.7.0.1 10.7.0.1 Reserved");
        await pool("b", { start: "10.7.0.20", end: "10.7.0.29", gateway: "10.7.0.1", prefixLength: 24 });
        await cluster.pool("p6", "fd00:7::10-fd00:7::1f");
        await eventuallyHeld("10.7.0.1 10.7.0.1 Reserved", "fd00-7-0-0-0-0-0-1 fd00:7::1 Reserved");
        const uid = (await cluster.find("10.7.0.1"))?.metadata?.uid;
        await cluster.api.delete(ipPools, { name: "a" });
        await cluster.api.delete(ipPools, { name: "p6" });
        await eventuallyHeld("10.7.0.1 10.7.0.1 Reserved");
        expect((await cluster.find("10.7.0.1"))?.metadata?.uid).toBe(uid);
        // Someone deletes it: it is made again.
        await cluster.free("10.7.0.1");
        await eventually(async () => ![undefined, uid].includes((await cluster.find("10.7.0.1"))?.metadata?.uid));
        await cluster.api.delete(ipPools, { name: "b" });
        await eventuallyHeld();
        await term.eventuallyMetric('antrea_controller_ippool_reclaims_total{reason="gateway-unwanted"}', "2");
    });

    it("count as neither used nor reserved, and keep an agent that does not know the pool from them", async () => {
        await using _term = cluster.term();
        await pool("a", { cidr: "10.7.1.0/29", gateway: "10.7.1.1", prefixLength: 24 });
        await eventuallyHeld("10.7.1.1 10.7.1.1 Reserved");
        await expect(cluster.claim("10.7.1.1", "a", podOn("n1", "web"))).rejects.toMatchObject({
            code: "ALREADY_EXISTS",
        });
        await eventually(async () => {
            const { status } = await cluster.api.get(ipPools, { name: "a" });
            return JSON.stringify(status?.usage) === '{"free":5,"reserved":0,"total":5,"used":0}';
        });
    });

    it("that a Pod has are reported on the pool, and held as soon as the Pod is gone", async () => {
        await using term = cluster.term();
        await pool("a", { cidr: "10.7.2.0/25", gateway: "10.7.2.1", prefixLength: 24 });
        await cluster.claim("10.7.2.50", "a", podOn("n1", "web"));
        await pool("b", { cidr: "10.7.2.128/25", gateway: "10.7.2.50", prefixLength: 24 });
        await eventually(() => term.notes("AddressHeldElsewhere").length === 1);
        expect(term.events.find(({ reason }) => reason === "AddressHeldElsewhere")?.regarding.name).toBe("b");
        expect(term.notes("AddressHeldElsewhere")[0]).toMatch(/gateway 10\.7\.2\.50 .* Pod default\/web on Node n1/);
        // Each pool that names it gets the event, however late it comes (found by the simulation).
        await pool("c", { cidr: "10.7.1.128/25", gateway: "10.7.2.50", prefixLength: 22 });
        await eventually(() => term.notes("AddressHeldElsewhere").length === 2);
        const reported = term.events.filter(({ reason }) => reason === "AddressHeldElsewhere");
        expect(reported.map(({ regarding }) => regarding.name)).toEqual(["b", "c"]);
        await cluster.free("10.7.2.50");
        await eventuallyHeld("10.7.2.1 10.7.2.1 Reserved", "10.7.2.50 10.7.2.50 Reserved");
    });

    it("that a Node has are held once, for whoever was first, and for the other when that one is gone", async () => {
        await using term = cluster.term();
        await cluster.server.addNode("n1", { internalIps: ["10.7.3.1"] });
        await pool("a", { cidr: "10.7.3.0/24", gateway: "10.7.3.2", prefixLength: 24 });
        const kind = async (): Promise<string | undefined> => (await cluster.find("10.7.3.1"))?.spec.owner.kind;
        await eventually(async () => (await kind()) === "Node");
        await pool("b", { start: "10.7.4.9", end: "10.7.4.9", gateway: "10.7.3.1", prefixLength: 21 });
        await cluster.server.deleteNode("n1");
        await eventually(async () => (await kind()) === "Gateway");
        await cluster.server.addNode("n1", { internalIps: ["10.7.3.1"] });
        await cluster.api.delete(ipPools, { name: "b" });
        await eventually(async () => (await kind()) === "Node");
        expect(term.notes("AddressHeldElsewhere")).toEqual([]);
    });

    it("are left to a pool of another VLAN that hands the address out", async () => {
        await using _term = cluster.term();
        await pool("a", { start: "10.7.5.10", end: "10.7.5.19", gateway: "10.7.5.1", prefixLength: 24, vlan: 5 });
        await eventuallyHeld("10.7.5.1 10.7.5.1 Reserved");
        await pool("b", { start: "10.7.5.1", end: "10.7.5.4", gateway: "10.7.5.254", prefixLength: 24, vlan: 6 });
        await eventuallyHeld("10.7.5.254 10.7.5.254 Reserved");
        await cluster.api.delete(ipPools, { name: "b" });
        await eventuallyHeld("10.7.5.1 10.7.5.1 Reserved");
    });
});
