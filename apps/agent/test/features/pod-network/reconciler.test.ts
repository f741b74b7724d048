import { nodeTables, Pipeline } from "@antrea/flows";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock, settle } from "@antrea/async/testing";
import { AntreaError } from "@antrea/errors";
import { formatIp, parseIp, parsePrefix } from "@antrea/ip";
import type { Link, Netlink } from "@antrea/netlink";
import { HostRoutes } from "../../../src/features/pod-network/host-routes.ts";
import {
    NodeSubnet,
    PodNetwork,
    PodReconciler,
    type KnownPod,
    type StoredPort,
} from "../../../src/features/pod-network/index.ts";
import { timeoutsBy } from "../../support/timeouts.ts";
import { silentLogger } from "../../support/logger.ts";
import { addressOf, podRecord, testBootId } from "../../support/records.ts";
import { PodInterfaces, toAlias, toExternalIds } from "../../../src/platform/pod-interfaces/index.ts";

const record = podRecord();
const podPrefixes = [parsePrefix("10.10.1.0/24")];
const { signal } = new AbortController();

/** The bridge's ports in a database that may be away. */
class FakePorts {
    readonly stored = new Map<string, StoredPort>();
    away = false;

    ports(): readonly StoredPort[] {
        return [...this.stored.values()];
    }

    ensurePort(spec: { name: string; ofPortRequest: number; externalIds: Readonly<Record<string, string>> }) {
        const { name, ofPortRequest: ofPort, externalIds } = spec;
        this.stored.set(name, { name, ofPort, externalIds: new Map(Object.entries(externalIds)) });
        return Promise.resolve();
    }

    deletePort(name: string): Promise<void> {
        if (this.away) return Promise.reject(new AntreaError("DISCONNECTED", "environment", "no connection"));
        this.stored.delete(name);
        return Promise.resolve();
    }

    ofPort(name: string): Promise<number> {
        return Promise.resolve(this.stored.get(name)?.ofPort ?? -1);
    }
}

class FakeLinks {
    readonly all = new Map<string, { index: number; name: string; kind: string; alias: string }>();

    links() {
        return Promise.resolve([...this.all.values()]);
    }

    link(name: string) {
        return Promise.resolve(this.all.get(name));
    }

    setLink(index: number, { alias }: { alias: string }): Promise<void> {
        for (const link of this.all.values()) if (link.index === index) link.alias = alias;
        return Promise.resolve();
    }

    deleteLink(index: number): Promise<boolean> {
        for (const link of this.all.values()) if (link.index === index) this.all.delete(link.name);
        return Promise.resolve(true);
    }

    add(name: string, alias: string): void {
        this.all.set(name, { index: 100 + this.all.size, name, kind: "veth", alias } satisfies Partial<Link>);
    }
}

/** Rejects when the signal aborts. */
function until(limit: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
        limit.addEventListener("abort", () =>
            reject(new AntreaError("ABORTED", "aborted", "the allocations are not known")),
        );
    });
}

let ports: FakePorts;
let links: FakeLinks;
let flows: Map<string, unknown>;
let pods: KnownPod[];
let subnet: NodeSubnet;
let network: PodNetwork;
let reconciler: PodReconciler;
let unwired: string[];

beforeEach(() => {
    unwired = [];
    ports = new FakePorts();
    links = new FakeLinks();
    flows = new Map();
    pods = [];
    subnet = new NodeSubnet(podPrefixes, () => 0n);
    const set = (owner: string, wanted: unknown): Promise<void> => {
        flows.set(owner, wanted);
        return Promise.resolve();
    };
    const netlink = links as unknown as Netlink;
    const hostRoutes = new HostRoutes({ netlink, logger: silentLogger }, { gatewayName: "antrea-gw0", bridged: false });
    const poolOf = (): undefined => undefined;
    network = new PodNetwork(
        {
            podInterfaces: new PodInterfaces(),
            ports,
            netlink,
            subnet,
            hostRoutes,
            pools: undefined,
            bridging: undefined,
            logger: silentLogger,
            next: new Pipeline(nodeTables),
            flowTable: {
                set,
                stage: (owner, wanted) => void set(owner, wanted),
                remove: (owner) => Promise.resolve(void flows.delete(owner)),
            },
        },
        {
            mtu: 1500,
            disableTxChecksumOffload: false,
            gatewayMac: () => Uint8Array.of(2, 0, 0, 0, 0, 1),
            bootId: testBootId,
            now: () => 1,
        },
    );
    reconciler = new PodReconciler(
        {
            network,
            netlink,
            subnet,
            hostRoutes,
            poolOf,
            ports,
            allocations: undefined,
            logger: silentLogger,
            pods: () => Promise.resolve(pods),
            reportUnwired: ({ pod, ips }) => void unwired.push(`${pod.name} ${ips.map(formatIp).join()}`),
        },
        { bootId: testBootId, podPrefixes },
    );
    links.add(record.hostIfName, toAlias(record));
    ports.stored.set(record.hostIfName, {
        name: record.hostIfName,
        ofPort: 32784,
        externalIds: new Map(Object.entries(toExternalIds(record))),
    });
});

describe("DEL while the database is away", () => {
    it("succeeds, keeps the address, and is made good by the reconcile although the namespace lives on", async () => {
        await reconciler.rebuild(signal);
        ports.away = true;
        await network.delete(record.containerId, record.ifName);
        expect(subnet.ownerOf(parseIp("10.10.1.5"))).toBeDefined();
        await reconciler.reconcile(signal);
        expect(network.interfaces()).toHaveLength(1);
        ports.away = false;
        await reconciler.reconcile(signal);
        expect(network.interfaces()).toHaveLength(0);
        expect([...ports.stored.keys(), ...flows.keys()]).toEqual([]);
        expect(subnet.ownerOf(parseIp("10.10.1.5"))).toBeUndefined();
        expect(links.all.get(record.hostIfName)?.alias).toBe("antrea1 released");
    });
});

describe("a link of ours without a record", () => {
    it("goes after two rounds, but not while an ADD of its container is under way", async () => {
        const other = podRecord({ containerId: "cd34".repeat(16), hostIfName: "web-1-fedcba" });
        await reconciler.rebuild(signal);
        links.add(other.hostIfName, toAlias(other));
        const adding = Promise.withResolvers<void>();
        const add = network.exclusively(other.containerId, () => adding.promise);
        await reconciler.reconcile(signal);
        const second = reconciler.reconcile(signal);
        await new Promise((resolve) => setImmediate(resolve));
        expect(links.all.has(other.hostIfName)).toBe(true);
        network.adopt(other, 32785);
        adding.resolve();
        await Promise.all([add, second]);
        expect(links.all.has(other.hostIfName)).toBe(true);
        await network.delete(other.containerId, other.ifName);
        await reconciler.reconcile(signal);
        await reconciler.reconcile(signal);
        expect(links.all.has(other.hostIfName)).toBe(false);
    });
});

describe("an address that only the API server knows", () => {
    const ip = parseIp("10.10.1.77");
    const pod: KnownPod = {
        uid: "uid-77",
        namespace: "default",
        name: "lost",
        hostNetwork: false,
        ended: false,
        hasSandbox: true,
        podIps: [ip],
    };

    it.each([
        ["gone", []],
        ["ended", [{ ...pod, ended: true }]],
        ["wired anew with another address", [{ ...pod, podIps: [parseIp("10.10.1.78")] }]],
    ])("is held until its Pod is %s", async (_, later) => {
        pods = [pod];
        await reconciler.rebuild(signal);
        await reconciler.reconcile(signal);
        expect(subnet.ownerOf(ip)).toBe("pod/uid-77");
        pods = later;
        await reconciler.reconcile(signal);
        expect(subnet.ownerOf(ip)).toBeUndefined();
    });

    it("is reported once of a Pod that runs without an interface, as another network plugin leaves it", async () => {
        pods = [pod];
        await reconciler.rebuild(signal);
        await reconciler.reconcile(signal);
        // an ADD may be under way
        expect(unwired).toEqual([]);
        await reconciler.reconcile(signal);
        await reconciler.reconcile(signal);
        expect(unwired).toEqual(["lost 10.10.1.77"]);
        pods = [{ ...pod, uid: "uid-78" }];
        for (let round = 0; round < 3; round += 1) await reconciler.reconcile(signal);
        expect(unwired).toEqual(["lost 10.10.1.77"]);
    });

    it.each([
        // after a restart of the Node kubelet makes another one, and asks for its interface
        ["has no sandbox", { hasSandbox: false }],
        ["has an interface by now", { namespace: record.podNamespace, name: record.podName }],
        ["uses the network of the Node", { hostNetwork: true }],
    ])("is not reported of a Pod that %s", async (_, change) => {
        pods = [{ ...pod, ...change }];
        await reconciler.rebuild(signal);
        for (let round = 0; round < 3; round += 1) await reconciler.reconcile(signal);
        expect(unwired).toEqual([]);
    });

    it("of an ended Pod is not held at all", async () => {
        pods = [{ ...pod, ended: true }];
        await reconciler.rebuild(signal);
        expect(subnet.ownerOf(ip)).toBeUndefined();
    });
});

describe("an interface whose record OVSDB has without the name of its Pod", () => {
    const { podNamespace: namespace, podName: name, podUid: uid } = record;
    const pod: KnownPod = {
        uid,
        namespace,
        name,
        hostNetwork: false,
        ended: false,
        hasSandbox: true,
        podIps: record.addresses.map(({ ip }) => ip),
    };

    it.each([false, true])("has it from the next start on, also there (isolated: %s)", async (isIsolated) => {
        const unnamed = { ...record, podNamespace: "", podName: "", isolated: isIsolated };
        const port = { name: record.hostIfName, ofPort: 32784 };
        ports.stored.set(port.name, { ...port, externalIds: new Map(Object.entries(toExternalIds(unnamed))) });
        pods = [pod];
        await reconciler.rebuild(signal);
        await reconciler.restoreAll(signal);
        const ids = ports.stored.get(port.name)?.externalIds;
        expect([ids?.get("pod-namespace"), ids?.get("pod-name"), ids?.get("pod-uid")]).toEqual([namespace, name, uid]);
        expect(ids?.get("isolated")).toBe(isIsolated ? "true" : undefined);
        for (let round = 0; round < 3; round += 1) await reconciler.reconcile(signal);
        expect(unwired).toEqual([]);
    });
});

describe("an interface of a pool that OVS has lost", () => {
    const ofPool = podRecord({ addresses: [{ ...addressOf("10.20.0.7/24"), pool: "pool1" }] });
    const port: StoredPort = {
        name: ofPool.hostIfName,
        ofPort: 32784,
        externalIds: new Map(Object.entries(toExternalIds(ofPool))),
    };

    async function rebuilt(o: {
        readonly isClaimed?: boolean;
        readonly allocationsKnown?: boolean | "never";
        readonly of?: typeof ofPool;
        readonly podsKnown?: boolean;
        readonly hasPort?: boolean;
    }): Promise<{ readonly hasFlows: boolean; readonly isIsolated: boolean; readonly allocationsAsked: number }> {
        ports.stored.clear();
        if (o.hasPort === true) ports.stored.set(port.name, port);
        links.all.clear();
        links.add(ofPool.hostIfName, toAlias(o.of ?? ofPool));
        let allocationsAsked = 0;
        const netlink = links as unknown as Netlink;
        const begun = new PodReconciler(
            {
                network,
                netlink,
                subnet,
                ports,
                logger: silentLogger,
                hostRoutes: new HostRoutes(
                    { netlink, logger: silentLogger },
                    { gatewayName: "antrea-gw0", bridged: false },
                ),
                poolOf: () => undefined,
                allocations: {
                    synced: (limit) => {
                        allocationsAsked += 1;
                        if (o.allocationsKnown === "never") return until(limit);
                        return o.allocationsKnown === false ? Promise.reject(new TypeError("away")) : Promise.resolve();
                    },
                    cover: () => o.isClaimed === true,
                },
                pods: () => (o.podsKnown === false ? Promise.reject(new TypeError("away")) : Promise.resolve([])),
            },
            { bootId: testBootId, podPrefixes },
        );
        await begun.rebuild(signal);
        const [known] = network.interfaces();
        return { hasFlows: flows.size > 0, isIsolated: known?.record.isolated === true, allocationsAsked };
    }

    it("gets no flows when its address is not claimed for it", async () => {
        expect(await rebuilt({})).toEqual({ hasFlows: false, isIsolated: true, allocationsAsked: 1 });
    });

    it("gets them when it is", async () => {
        expect(await rebuilt({ isClaimed: true })).toEqual({ hasFlows: true, isIsolated: false, allocationsAsked: 1 });
    });

    it("gets them when the allocations are not known after 3 s", async () => {
        const clock = new ManualClock();
        using _ = timeoutsBy(clock);
        const begun = rebuilt({ allocationsKnown: "never" });
        await settle();
        await clock.advance(2_999);
        expect(flows.size).toBe(0);
        await clock.advance(1);
        expect(await begun).toEqual({ hasFlows: true, isIsolated: false, allocationsAsked: 1 });
    });

    it("has an address of a pool: one of the podCIDR is claimed by nobody, and gets them", async () => {
        const of = podRecord();
        expect(await rebuilt({ of })).toEqual({ hasFlows: true, isIsolated: false, allocationsAsked: 0 });
    });

    it("gets them while the allocations are not known", async () => {
        expect(await rebuilt({ allocationsKnown: false })).toEqual({
            hasFlows: true,
            isIsolated: false,
            allocationsAsked: 1,
        });
    });

    it("waits for no allocations of an API server that is away", async () => {
        expect(await rebuilt({ podsKnown: false })).toEqual({ hasFlows: true, isIsolated: false, allocationsAsked: 0 });
    });

    it("is not one that OVS has: that keeps its traffic until the reconcile of allocations", async () => {
        expect(await rebuilt({ hasPort: true })).toEqual({ hasFlows: true, isIsolated: false, allocationsAsked: 0 });
    });
});

describe("an interface that is rebuilt without the name of its Pod while the API server is away", () => {
    const { podNamespace: namespace, podName: name, podUid: uid } = record;
    const pod: KnownPod = {
        uid,
        namespace,
        name,
        hostNetwork: false,
        ended: false,
        hasSandbox: true,
        // Its status still has the address of an earlier sandbox.
        podIps: [parseIp("10.10.1.77")],
    };
    const nameKnown = (): string => {
        const [known] = network.interfaces();
        return `${known?.record.podNamespace}/${known?.record.podName}`;
    };
    let isAway: boolean;

    beforeEach(async () => {
        ports.stored.clear();
        isAway = true;
        const netlink = links as unknown as Netlink;
        reconciler = new PodReconciler(
            {
                network,
                netlink,
                subnet,
                ports,
                allocations: undefined,
                logger: silentLogger,
                hostRoutes: new HostRoutes(
                    { netlink, logger: silentLogger },
                    { gatewayName: "antrea-gw0", bridged: false },
                ),
                poolOf: () => undefined,
                pods: () => (isAway ? Promise.reject(new TypeError("away")) : Promise.resolve(pods)),
                reportUnwired: (one) => void unwired.push(one.pod.name),
            },
            { bootId: testBootId, podPrefixes },
        );
        await reconciler.rebuild(signal);
        isAway = false;
    });

    it.each([
        ["its UID", pod],
        ["the hash of its file", { ...pod, uid: "uid-of-the-mirror", staticUid: uid }],
    ])("has it as soon as the API server answers, by %s", async (_, answered) => {
        expect(nameKnown()).toBe("/");
        pods = [answered];
        await reconciler.holdKnownAddresses(signal);
        expect(nameKnown()).toBe(`${namespace}/${name}`);
    });

    it("has it by a later round when the mirror of its static Pod comes later", async () => {
        const other = { ...pod, uid: "uid-77", name: "other", hasSandbox: false };
        pods = [other];
        await reconciler.holdKnownAddresses(signal);
        expect(nameKnown()).toBe("/");
        pods = [other, { ...pod, podIps: [] }];
        await reconciler.reconcile(signal);
        expect(nameKnown()).toBe(`${namespace}/${name}`);
    });

    it("keeps what other work on its container has made of it meanwhile", async () => {
        pods = [pod];
        const isolated = Promise.withResolvers<void>();
        const work = network.exclusively(record.containerId, async () => {
            await isolated.promise;
            for (const known of network.interfaces()) network.adopt({ ...known.record, isolated: true }, known.ofPort);
        });
        const held = reconciler.holdKnownAddresses(signal);
        await settle();
        isolated.resolve();
        await Promise.all([work, held]);
        expect([nameKnown(), network.interfaces()[0]?.record.isolated]).toEqual([`${namespace}/${name}`, true]);
    });

    it.each([
        ["its UID", pod],
        ["the hash of its file", { ...pod, uid: "uid-of-the-mirror", staticUid: uid }],
    ])("is not reported as a Pod without an interface, by %s", async (_, answered) => {
        pods = [answered];
        await reconciler.holdKnownAddresses(signal);
        for (let round = 0; round < 3; round += 1) await reconciler.reconcile(signal);
        expect(unwired).toEqual([]);
    });
});

describe("an API server that is away at the start", () => {
    it("keeps no wired Pod waiting, and its addresses are held once it answers", async () => {
        const lost: KnownPod = {
            uid: "uid-77",
            namespace: "default",
            name: "lost",
            hostNetwork: false,
            ended: false,
            hasSandbox: true,
            podIps: [parseIp("10.10.1.77"), parseIp("10.10.1.5")],
        };
        let answers = 0;
        const netlink = links as unknown as Netlink;
        const patient = new PodReconciler(
            {
                network,
                netlink,
                subnet,
                ports,
                allocations: undefined,
                logger: silentLogger,
                hostRoutes: new HostRoutes(
                    { netlink, logger: silentLogger },
                    { gatewayName: "antrea-gw0", bridged: false },
                ),
                poolOf: () => undefined,
                pods: () => (answers++ === 0 ? Promise.reject(new TypeError("away")) : Promise.resolve([lost])),
            },
            { bootId: testBootId, podPrefixes },
        );
        await patient.rebuild(signal);
        expect(network.interfaces()).toHaveLength(1);
        const owner = subnet.ownerOf(parseIp("10.10.1.5"));
        await patient.holdKnownAddresses(signal);
        expect(subnet.ownerOf(parseIp("10.10.1.77"))).toBe("pod/uid-77");
        expect(subnet.ownerOf(parseIp("10.10.1.5"))).toBe(owner);
    });
});
