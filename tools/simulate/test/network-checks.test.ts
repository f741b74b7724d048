import { beforeEach, describe, expect, it } from "@jest/globals";
import { allocationName } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { type KubeObject } from "@antrea/kube";
import { networksAnnotation, parseSelections } from "@antrea/networks";
import { kindOf } from "../api/server.ts";
import { Store } from "../api/store.ts";
import { Networks } from "../check/networks.ts";
import { Truth, type Container } from "../check/truth.ts";
import { Wirings } from "../check/wiring.ts";
import { selectionsOf } from "../cluster/network-objects.ts";
import { newNetns } from "../machine/netns.ts";

const podKind = kindOf("v1", "pods");
const setKind = kindOf("apps/v1", "statefulsets");
const allocationKind = kindOf("crd.antrea.io/v1alpha1", "ipallocations");
const poolKind = kindOf("crd.antrea.io/v1alpha2", "ippools");
const networkKind = kindOf("k8s.cni.cncf.io/v1", "network-attachment-definitions");
const namespace = "default";
const address = "10.20.0.16";
const name = allocationName(parseIp(address));
const annotations = { [networksAnnotation]: JSON.stringify([{ name: "net", namespace }]) };

let store: Store;
let truth: Truth;
let networks: Networks;
let container: Container;

const found = (): readonly string[] => truth.violations.map(({ invariant }) => invariant);
const put = (kind: typeof podKind, metadata: KubeObject["metadata"], spec: unknown): void =>
    void store.put(kind, { metadata, spec } as KubeObject);
const putNetwork = (pools: readonly string[], more: object = {}): void => {
    const config = JSON.stringify({ type: "antrea", networkType: "vlan", ipam: { ippools: pools }, ...more });
    put(networkKind, { namespace, name: "net" }, { config });
};
const claimFor = (ifName: string, podUid = "uid", of = address): void =>
    put(
        allocationKind,
        { name: allocationName(parseIp(of)) },
        {
            pool: "pool",
            owner: { kind: "StatefulSet", namespace, name: "set", index: 0, interface: ifName },
            pod: { uid: podUid, interface: ifName },
        },
    );

beforeEach(() => {
    store = new Store();
    truth = new Truth({
        isClaimed: () => true,
        isUnheard: () => false,
        isForeign: () => false,
    });
    networks = new Networks(
        { truth, store, wirings: new Wirings(truth, { isBridged: false }) },
        { attacher: "antrea" },
    );
    store.onChange((change) => {
        if (change.kind === allocationKind) truth.changed(change);
        networks.changed(change);
    });
    const owner = { apiVersion: "apps/v1", kind: "StatefulSet", name: "set", uid: "set", controller: true };
    put(setKind, { namespace, name: "set", uid: "set" }, { replicas: 1, template: { metadata: { annotations } } });
    put(podKind, { namespace, name: "set-0", uid: "uid", annotations, ownerReferences: [owner] }, {});
    const ipRanges = [{ start: "10.20.0.16", end: "10.20.0.20", gateway: "10.20.0.1", prefixLength: 24 }];
    put(poolKind, { name: "pool" }, { ipVersion: 4, ipRanges });
    container = { id: "c", node: "a", podNamespace: namespace, podName: "set-0", podUid: "uid", since: store.version };
});

describe("an address in use", () => {
    it("must be allocated to the interface that has it", () => {
        claimFor("eth1");
        truth.connected(container, parseIp(address), "eth1");
        expect(found()).toEqual([]);
        truth.connected({ ...container, id: "d" }, parseIp(address), "eth2");
        expect(found()).toEqual(["no address has two owners", "a running container's address is not free"]);
    });

    it("of an interface that cannot be isolated may have a new owner, until it is allocated to it again", () => {
        claimFor("net1");
        truth.connected(container, parseIp(address), "net1");
        truth.excuse(name, container.id, "cannot be isolated");
        truth.endExcuse(name, container.id);
        claimFor("eth0", "other");
        truth.connected({ ...container, id: "d", podUid: "other" }, parseIp(address));
        expect(found()).toEqual([]);
        truth.disconnected("d", parseIp(address));
        claimFor("net1");
        claimFor("eth0", "other");
        expect(found()).toEqual(["a running container's address is not free"]);
    });

    it("whose allocation is deleted by force is excused until its agent has been able to learn of it", () => {
        claimFor("eth1");
        truth.connected(container, parseIp(address), "eth1");
        truth.excuse(name, container.id, "unheard");
        store.delete(allocationKind, name);
        expect(found()).toEqual([]);
        truth.endExcuse(name, container.id);
        expect(found()).toEqual(["a running container's address is not free"]);
    });
});

describe("a Pod with networks", () => {
    const attached = (added: Parameters<Networks["attached"]>[1], isAttaching = true): void =>
        networks.attached(newNetns(container), added, isAttaching);

    it("runs with an address of every pool that its network had since its container was made, or not at all", () => {
        putNetwork(["pool", "pool-6"]);
        attached([{ ifName: "eth1", addresses: [address] }]);
        expect(found()).toEqual(["a Pod runs with all its networks, or does not start"]);
        putNetwork(["pool"]);
        attached([{ ifName: "eth1", addresses: [address] }]);
        expect(found()).toHaveLength(1);
        attached([]);
        expect(found()).toHaveLength(2);
    });

    it("has no interface on networks of others, and none while nobody attaches them", () => {
        putNetwork(["pool"]);
        attached([], false);
        container = { ...container, since: store.version + 1 };
        putNetwork([], { type: "macvlan" });
        attached([]);
        expect(found()).toEqual([]);
    });

    it("of a StatefulSet keeps the address of its ordinal, unless the network names another pool, or the pool lost it", () => {
        const got = (text: string): void => {
            claimFor("eth1", "uid", text);
            attached([{ ifName: "eth1", addresses: [text] }]);
        };
        putNetwork(["pool"]);
        got("10.20.0.16");
        got("10.20.0.16");
        expect(found()).toEqual([]);
        got("10.20.0.17");
        expect(found()).toEqual(["sticky stays sticky on every interface"]);
        putNetwork(["other"]);
        putNetwork(["pool"]);
        got("10.20.0.18");
        networks.sticky.forced("10.20.0.18");
        got("10.20.0.19");
        const ipRanges = [{ start: "10.20.0.16", end: "10.20.0.17", gateway: "10.20.0.1", prefixLength: 24 }];
        put(poolKind, { name: "pool" }, { ipVersion: 4, ipRanges });
        got("10.20.0.16");
        expect(found()).toHaveLength(1);
        put(setKind, { namespace, name: "set", uid: "set" }, { replicas: 0, template: {} });
        put(setKind, { namespace, name: "set", uid: "set" }, { replicas: 1, template: { metadata: { annotations } } });
        got("10.20.0.17");
        expect(found()).toHaveLength(1);
    });
});

describe("the names of interfaces", () => {
    const elements = [
        { name: "a", namespace },
        { name: "b", namespace, interface: "eth1" },
        { name: "c", namespace, interface: "data" },
        { name: "d", namespace, ips: ["10.20.0.16"] },
    ];
    const text = JSON.stringify(elements);

    it("are those that antrea gives", () => {
        const names = selectionsOf({ [networksAnnotation]: text }, "antrea").map(({ ifName }) => ifName);
        expect(names).toEqual(parseSelections(text, namespace).map(({ interfaceName }) => interfaceName));
    });

    it("are those that Multus gives, by their place, unless they are requested", () => {
        const selections = selectionsOf({ [networksAnnotation]: text }, "meta plugin");
        expect(selections.map(({ ifName }) => ifName)).toEqual(["net1", "eth1", "data", "net4"]);
        expect(selections.map(({ ip }) => ip)).toEqual([undefined, undefined, undefined, "10.20.0.16"]);
        expect(selectionsOf({ [networksAnnotation]: text }, "nobody")).toEqual([]);
    });
});
