import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp, parseIp } from "@antrea/ip";
import { networkAllocations } from "../../../src/features/ip-pools/index.ts";
import { poolWiring } from "../../../src/features/ip-pools/node-interfaces.ts";
import {
    NetworkInterfaces,
    PodInterfaces,
    type NetworkAddress,
    type NetworkAddresses,
    type NetworkAllocations,
    type NetworkRecordAddress,
} from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord } from "../../support/records.ts";
import { FakeCluster } from "./support/fake-cluster.ts";
import { type TestPoolAgent } from "./support/test-agent.ts";

let cluster: FakeCluster;
let agent: TestPoolAgent;
let allocations: NetworkAllocations;

beforeEach(async () => {
    cluster = new FakeCluster();
    cluster.addPool("pool1", { cidr: "10.2.0.0/24", gateway: "10.2.0.1", prefixLength: 24 });
    cluster.addPool("pool2", { cidr: "10.3.0.0/24", gateway: "10.3.0.1", prefixLength: 24, vlan: 7 });
    cluster.addPool("tiny", { start: "10.4.0.9", end: "10.4.0.9", gateway: "10.4.0.1", prefixLength: 24 });
    cluster.addPod("web", { nodeName: "a" });
    cluster.addPod("web-1", { nodeName: "a", set: { name: "web", uid: "uid-set" } });
    agent = cluster.agent("a", { confirmMs: 0 });
    allocations = networkAllocations(agent.pools);
    await agent.pools.synced(limit());
});
afterEach(() => cluster[Symbol.asyncDispose]());

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

function asked(ifName: string, pools: readonly string[], change: Partial<NetworkAddresses> = {}): NetworkAddresses {
    const { podName = "web" } = change;
    return {
        containerId: "c1",
        ifName,
        podNamespace: "default",
        podName,
        podUid: `uid-${podName}`,
        network: "default/net1",
        demands: pools.map((text) => {
            const [pool = "", fixed] = text.split(" ");
            return { pool, fixed: fixed === undefined ? undefined : parseIp(fixed) };
        }),
        ...change,
    };
}

describe("an interface that this agent makes", () => {
    it("gets one address of each IPPool with its settings, and its allocations name the network", async () => {
        const claimed = await allocations.claimForNetwork(asked("eth1", ["pool2", "pool1 10.2.0.77"]), limit());
        expect(
            claimed.map(({ pool, vlan, prefixLength, gateway }) => [pool, vlan, prefixLength, formatIp(gateway)]),
        ).toEqual([
            ["pool2", 7, 24, "10.3.0.1"],
            ["pool1", 0, 24, "10.2.0.1"],
        ]);
        expect(claimed[1]?.ip).toEqual(parseIp("10.2.0.77"));
        for (const { spec } of cluster.allocations()) {
            expect(spec.pod).toMatchObject({
                name: "web",
                uid: "uid-web",
                containerID: "c1",
                interface: "eth1",
                network: "default/net1",
            });
        }
        expect(cluster.allocations()).toHaveLength(2);
    });

    it("of a StatefulSet's Pod gets them for the ordinal and the interface", async () => {
        await allocations.claimForNetwork(asked("eth1", ["pool1"], { podName: "web-1" }), limit());
        expect(cluster.allocations().map(({ spec }) => spec.owner)).toMatchObject([
            { kind: "StatefulSet", name: "web", index: 1, interface: "eth1" },
        ]);
        await allocations.release({ containerId: "c1", ifName: "eth1" });
        expect(cluster.allocations().map(({ spec }) => spec.state)).toEqual(["Reserved"]);
    });

    it("gets all or nothing, and the Pod has one event that names the network", async () => {
        await allocations.claimForNetwork(asked("eth1", ["tiny"]), limit());
        await expect(
            allocations.claimForNetwork(asked("eth2", ["pool1", "tiny"], { network: "default/net2" }), limit()),
        ).rejects.toMatchObject({
            code: "EXHAUSTED",
            message: expect.stringMatching(/^network default\/net2, interface eth2: /),
        });
        expect(cluster.holders()).toEqual(["10.4.0.9 web"]);
        expect(agent.events.map(({ reason, note }) => [reason, note.split(":")[0]])).toEqual([
            ["IPAllocationFailed", "network default/net2, interface eth2"],
        ]);
    });

    it("gives up what is its own, and nothing of other interfaces and containers", async () => {
        const first = await allocations.claimForNetwork(asked("eth1", ["pool1", "pool2"]), limit());
        const second = await allocations.claimForNetwork(asked("eth2", ["pool1"]), limit());
        await allocations.release({ containerId: "c1", ifName: "eth1" });
        await allocations.release({ containerId: "c2", ifName: "eth2" });
        expect(cluster.holders()).toEqual(second.map(({ ip }) => `${formatIp(ip)} web`));
        expect(first.some(({ ip }) => ip.value === second[0]?.ip.value)).toBe(false);
    });
});

describe("the known allocations", () => {
    const eth1 = { containerId: "c1", ifName: "eth1" };

    it("report which interfaces a container has on networks, without its own and those of other plugins", async () => {
        await agent.claim("web", { pools: ["pool1"], containerId: "c1" });
        await allocations.claimForNetwork(asked("eth1", ["pool1", "pool2"]), limit());
        await allocations.claimForNetwork(asked("eth2", ["pool1"], { network: "default/net2" }), limit());
        await allocations.claimForNetwork(asked("net1", ["pool1"], { network: "macnet" }), limit());
        await allocations.claimForNetwork(asked("eth9", ["pool1"], { containerId: "c2", podName: "web-1" }), limit());
        expect(allocations.networkInterfacesOf("c1")).toEqual([eth1, { containerId: "c1", ifName: "eth2" }]);
        expect(allocations.networkInterfacesOf("c2")).toEqual([{ containerId: "c2", ifName: "eth9" }]);
        expect(allocations.networkInterfacesOf("c3")).toEqual([]);
        await allocations.release(eth1);
        expect(allocations.networkInterfacesOf("c1")).toEqual([{ containerId: "c1", ifName: "eth2" }]);
    });

    it("report the network of an interface, and its addresses with the settings of their IPPools", async () => {
        const claimed = await allocations.claimForNetwork(asked("eth1", ["pool2", "pool1"]), limit());
        await allocations.claimForNetwork(asked("eth2", ["pool1"], { network: "default/net2" }), limit());
        expect(allocations.networkOf(eth1)).toBe("default/net1");
        expect(allocations.networkOf({ containerId: "c1", ifName: "eth2" })).toBe("default/net2");
        const known = allocations.addressesFor(eth1);
        expect(known).toHaveLength(2);
        for (const { ip, prefixLength, gateway, pool } of claimed) {
            expect(known).toContainEqual(expect.objectContaining({ ip, prefixLength, gateway, pool }));
        }
    });

    it("report nothing of an interface without any", async () => {
        await allocations.claimForNetwork(asked("eth1", ["pool1"]), limit());
        for (const other of [
            { containerId: "c1", ifName: "eth2" },
            { containerId: "c2", ifName: "eth1" },
        ]) {
            expect([allocations.networkOf(other), allocations.addressesFor(other)]).toEqual(["", []]);
        }
    });
});

describe("the allocations of a running Pod's interface", () => {
    /** The holders after three passes of the reconcile, for a record with these of the claimed addresses. */
    async function heldWith(
        addressesOf: (claimed: readonly NetworkAddress[]) => readonly NetworkRecordAddress[],
    ): Promise<readonly string[]> {
        const claimed = await allocations.claimForNetwork(asked("eth1", ["pool1"]), limit());
        const { demands: _, ...attachment } = asked("eth1", []);
        const networks = new NetworkInterfaces();
        networks.put(networkRecord({ ...attachment, addresses: addressesOf(claimed) }));
        const wiring = poolWiring({
            podInterfaces: new PodInterfaces(),
            networks,
            control: { exclusively: (_id: string, work: () => unknown) => work(), isAdding: () => false } as never,
            netlink: { link: () => Promise.resolve({} as never) },
        });
        for (let passes = 0; passes < 3; passes += 1) await agent.pools.reconcile(wiring, limit());
        return cluster.holders();
    }

    it.each<[string, Parameters<typeof heldWith>[0]]>([
        ["with its addresses", (claimed) => claimed],
        [
            "whose network gives the address no gateway",
            ([one]) => (one === undefined ? [] : [{ ...one, gateway: undefined }]),
        ],
        ["rebuilt before the IPPools were known", () => []],
    ])("stay: %s", async (_, addressesOf) => {
        expect(await heldWith(addressesOf)).toEqual([expect.stringMatching(/^10\.2\.0\.\d+ web$/)]);
    });

    it("go if the interface has others, without a second owner", async () => {
        expect(
            await heldWith(([one]) =>
                one === undefined ? [] : [{ ...one, ip: parseIp("10.9.0.9"), pool: undefined }],
            ),
        ).toEqual([]);
    });
});
