import { beforeEach, describe, expect, it } from "@jest/globals";
import { allocationName, poolsAnnotation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { type KubeObject, type Pod } from "@antrea/kube";
import { networksAnnotation } from "@antrea/networks";
import { kindOf } from "../api/server.ts";
import { ClusterObjects } from "../check/cluster-objects.ts";
import { mayWaitForNetworks } from "../check/settled-networks.ts";
import { SimulatedCluster } from "../simulated-cluster.ts";

const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const networkKind = kindOf("k8s.cni.cncf.io/v1", "network-attachment-definitions");
const namespace = "default";

let cluster: SimulatedCluster;

const put = (kind: typeof allocationKind, metadata: KubeObject["metadata"], spec: unknown): void =>
    void cluster.server.store.put(kind, { metadata, spec } as KubeObject);

/** A pool of the addresses 10.20.0.`start` to `end`, its gateway elsewhere. */
const putPool = (name: string, start: number, end: number): void =>
    put(
        poolKind,
        { name },
        {
            ipVersion: 4,
            ipRanges: [{ start: `10.20.0.${start}`, end: `10.20.0.${end}`, gateway: "10.20.0.1", prefixLength: 24 }],
        },
    );

/** A network with a VLAN of its own and an address of each pool. */
const putNetwork = (name: string, ...ippools: readonly string[]): void =>
    put(
        networkKind,
        { namespace, name },
        { config: JSON.stringify({ type: "antrea", networkType: "vlan", vlan: 1, ipam: { ippools } }) },
    );

const reserve = (last: number, owner: object): void => {
    const address = `10.20.0.${last}`;
    put(allocationKind, { name: allocationName(parseIp(address)) }, { address, pool: "a", state: "Reserved", owner });
};

interface Requested {
    readonly pools?: readonly string[];
    readonly networks: readonly string[];
    readonly name?: string;
    readonly ownerReferences?: NonNullable<Pod["metadata"]>["ownerReferences"];
}

const mayWait = ({ pools = [], networks, name = "web", ownerReferences = [] }: Requested): boolean => {
    const annotations = {
        [poolsAnnotation]: pools.join(),
        [networksAnnotation]: JSON.stringify(networks.map((network) => ({ name: network, namespace }))),
    };
    const pod = { metadata: { namespace, name, uid: "uid", annotations, ownerReferences } };
    return mayWaitForNetworks(cluster, new ClusterObjects(cluster), pod);
};

beforeEach(() => {
    // The first seed of whose cluster antrea attaches networks.
    for (let seed = 0; ; seed += 1) {
        cluster = new SimulatedCluster({ seed });
        if (cluster.modes.attacher === "antrea") break;
    }
    putNetwork("net-a", "a");
    putNetwork("net-b", "b");
});

describe("a Pod with networks", () => {
    it("needs two addresses of a pool that its own interface and a network name", () => {
        putPool("a", 16, 17);
        expect(mayWait({ pools: ["a"], networks: ["net-a"] })).toBe(false);
        putPool("a", 16, 16);
        expect(mayWait({ pools: ["a"], networks: ["net-a"] })).toBe(true);
        expect(mayWait({ networks: ["net-a"] })).toBe(false);
    });

    it("may wait if its pools have one free address in common, and none besides", () => {
        putPool("a", 16, 17);
        putPool("b", 16, 17);
        expect(mayWait({ pools: ["b"], networks: ["net-a"] })).toBe(false);
        reserve(16, { kind: "Gateway" });
        expect(mayWait({ pools: ["b"], networks: ["net-a"] })).toBe(true);
        expect(mayWait({ networks: ["net-a", "net-b"] })).toBe(true);
        expect(mayWait({ networks: ["net-b"] })).toBe(false);
    });

    it("must not wait if its interfaces can have different addresses of overlapping pools", () => {
        putPool("a", 16, 17);
        putPool("b", 16, 16);
        expect(mayWait({ pools: ["a"], networks: ["net-b"] })).toBe(false);
        expect(mayWait({ networks: ["net-a", "net-b"] })).toBe(false);
        expect(mayWait({ pools: ["a"], networks: ["net-a", "net-b"] })).toBe(true);
    });

    it("gets one address of its own, from the first of its pools that has any", () => {
        putPool("a", 16, 16);
        putPool("b", 16, 17);
        putPool("c", 18, 18);
        expect(mayWait({ pools: ["c", "a"], networks: ["net-a"] })).toBe(false);
        expect(mayWait({ pools: ["a", "c"], networks: ["net-a"] })).toBe(true);
        reserve(18, { kind: "Gateway" });
        expect(mayWait({ pools: ["c"], networks: ["net-a"] })).toBe(true);
        expect(mayWait({ pools: ["c", "b"], networks: ["net-a"] })).toBe(false);
    });

    it("of a StatefulSet needs addresses for the interfaces that have none kept, and its own is reserved", () => {
        const ownerReferences = [
            { apiVersion: "apps/v1", kind: "StatefulSet", name: "set", uid: "set", controller: true },
        ];
        const ordinal = { pools: ["a"], name: "set-0", ownerReferences };
        const owner = { kind: "StatefulSet", namespace, name: "set", index: 0 };
        putPool("a", 16, 17);
        putPool("b", 17, 17);
        reserve(16, owner);
        expect(mayWait({ ...ordinal, networks: ["net-a"] })).toBe(false);
        expect(mayWait({ ...ordinal, networks: ["net-a", "net-b"] })).toBe(true);
        reserve(16, { ...owner, interface: "eth1" });
        expect(mayWait({ ...ordinal, networks: ["net-a", "net-b"] })).toBe(false);
    });
});
