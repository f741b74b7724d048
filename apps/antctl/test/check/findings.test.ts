import { describe, expect, it } from "@jest/globals";
import { type Allocation, type NamespaceInfo, type PodInfo, type WorkloadInfo } from "../../src/cluster/index.ts";
import { checkReport, findingsOf, inBoth } from "../../src/check/report.ts";
import { renderCheck } from "../../src/check/render.ts";
import { Snapshot } from "../../src/check/snapshot.ts";
import { type NodeRead, type PortRecord } from "../../src/ovs-records/index.ts";
import { type PoolSet } from "../../src/pools/index.ts";
import {
    allocation,
    node,
    node1,
    node2,
    ofSet,
    plain,
    pod,
    poolObject,
    poolSet,
    record,
    set,
    tiny,
    web,
    web6,
} from "../support/objects.ts";

interface Seen {
    readonly allocations?: readonly Allocation[];
    readonly pods?: readonly PodInfo[];
    readonly pools?: PoolSet;
    readonly statefulSets?: readonly WorkloadInfo[];
    readonly namespaces?: readonly NamespaceInfo[];
    /** Of node1 and node2; a text is why the Node could not be read. */
    readonly node1?: readonly PortRecord[] | string;
    readonly node2?: readonly PortRecord[] | string;
    /** Default on. */
    readonly gate?: "on" | "off" | "unknown";
}

function snapshot(seen: Seen): Snapshot {
    const read = (name: string, of: readonly PortRecord[] | string = []): NodeRead =>
        typeof of === "string" ? { kind: "unread", node: name, reason: of } : { kind: "read", node: name, records: of };
    return new Snapshot({
        allocations: seen.allocations ?? [],
        pods: seen.pods ?? [],
        pools: seen.pools ?? poolSet(),
        statefulSets: seen.statefulSets ?? [],
        namespaces: seen.namespaces ?? [],
        gate: seen.gate ?? "on",
        reads: [read("node1", seen.node1), read("node2", seen.node2)],
    });
}

const web0 = pod("web-0", { ips: ["10.2.0.12"] });

describe("findingsOf", () => {
    it.each<[string, Seen]>([
        [
            "a Pod with its allocation and its port",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [web0],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
        ],
        [
            "an interface of another plugin with two allocations of a family, which no port has",
            {
                allocations: [
                    allocation("10.2.0.13", { pod: "web-0", interface: "net1", network: "macnet" }),
                    allocation("10.2.0.14", { pod: "web-0", interface: "net1", network: "macnet" }),
                ],
                pods: [pod("web-0", { ips: ["10.10.1.7"] })],
                node1: [record("web-0", { "10.10.1.7": undefined })],
            },
        ],
        [
            "an interface of the agent on another network with its allocation and its port",
            {
                allocations: [allocation("10.2.0.13", { pod: "web-0", interface: "eth1", network: "shop/vlan100" })],
                pods: [pod("web-0", { ips: ["10.10.1.7"] })],
                node1: [
                    record("web-0", { "10.10.1.7": undefined }),
                    record("web-0", { "10.2.0.13": "web" }, { ifName: "eth1", network: "shop/vlan100" }),
                ],
            },
        ],
        [
            "a reservation for an interface that the template requests",
            {
                allocations: [allocation("10.2.0.12", { owner: { ...ofSet("db", 0), interface: "net1" } })],
                statefulSets: [set("db", { annotations: { "k8s.v1.cni.cncf.io/networks": "macnet" } })],
            },
        ],
        [
            "a Pod that is starting and has its allocation only",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })], pods: [pod("web-0", { phase: "Pending" })] },
        ],
        [
            "a Pod with addresses of the Node's subnet",
            { pods: [pod("plain", { ips: ["10.10.1.7"] })], node1: [record("plain", { "10.10.1.7": undefined })] },
        ],
        [
            "a static Pod, whose mirror has another UID",
            {
                allocations: [allocation("10.2.0.12", { pod: "static", uid: "hash" })],
                pods: [pod("static", { uids: ["uid-mirror", "hash"], ips: ["10.2.0.12"] })],
                node1: [record("static", { "10.2.0.12": "web" }, { podUid: "hash" })],
            },
        ],
        [
            "a static Pod whose record and allocation were rebuilt and have no name",
            {
                allocations: [allocation("10.2.0.12", { pod: "", uid: "hash" })],
                pods: [pod("static", { uids: ["uid-mirror", "hash"], ips: ["10.2.0.12"] })],
                node1: [record("", { "10.2.0.12": "web" }, { podNamespace: "", podUid: "hash" })],
            },
        ],
        [
            "a record that was rebuilt and has no UID",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [web0],
                node1: [record("web-0", { "10.2.0.12": "" }, { podUid: "" })],
            },
        ],
        [
            "a secondary interface, which the Pod does not report",
            {
                allocations: [
                    allocation("10.2.0.12", { pod: "web-0" }),
                    allocation("10.3.0.8", { pod: "web-0", pool: "tiny", interface: "net1" }),
                ],
                pods: [web0],
                node1: [
                    record("web-0", { "10.2.0.12": "web" }),
                    record("web-0", { "10.3.0.8": "tiny" }, { ifName: "net1" }),
                ],
            },
        ],
        [
            "an address whose last Pod is still going",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [
                    web0,
                    pod("before", { ips: ["10.2.0.12"], deleting: true }),
                    pod("job", { ips: ["10.2.0.12"], phase: "Succeeded" }),
                ],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
        ],
        [
            "reservations that are asked for",
            {
                allocations: [
                    allocation("10.2.0.12", { owner: ofSet("db", 2) }),
                    allocation("10.2.0.13", { owner: { kind: "Node", name: "node9" } }),
                ],
                statefulSets: [set("db")],
                pools: poolSet([web], [node("node9", { addresses: [allocation("10.2.0.13").ip] }), node1, node2]),
            },
        ],
        [
            "a Pod that has the edge of a subnet from an earlier version",
            {
                allocations: [allocation("10.4.0.255", { pod: "web-0", pool: "whole" })],
                pods: [pod("web-0", { ips: ["10.4.0.255"] })],
                node1: [record("web-0", { "10.4.0.255": "whole" })],
                pools: poolSet([
                    web,
                    poolObject("whole", {
                        start: "10.4.0.0",
                        end: "10.4.0.255",
                        gateway: "10.4.0.1",
                        prefixLength: 24,
                    }),
                ]),
            },
        ],
        [
            "gateways that are held, whichever pool was the first to have them",
            {
                allocations: [
                    allocation("10.2.0.1", { owner: { kind: "Gateway", name: "10.2.0.1" } }),
                    allocation("10.3.0.1", { pool: "gone", owner: { kind: "Gateway", name: "10.3.0.1" } }),
                ],
            },
        ],
        [
            "allocations of a kind of owner that only a later version knows, wherever they are",
            {
                allocations: [
                    allocation("10.2.0.1", { owner: { kind: "Lease", name: "10.2.0.1" } as never }),
                    allocation("10.9.9.9", { owner: { kind: "Lease", name: "x" } as never }),
                    allocation("10.2.0.14", { pod: "gone", owner: { kind: "Lease", name: "x" } as never }),
                ],
            },
        ],
        [
            "a reservation of a set whose Namespace names the pool",
            {
                allocations: [allocation("10.2.0.12", { owner: ofSet("db", 0) })],
                statefulSets: [set("db", { annotations: {} })],
                namespaces: [{ name: "shop", annotations: { "ipam.antrea.io/ippools": "web" } }],
            },
        ],
        [
            "the address of an ordinal in use after its set was deleted with its Pods left",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0", owner: ofSet("web", 0) })],
                pods: [web0],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
        ],
    ])("finds nothing wrong with %s", (_name, seen) => {
        expect(findingsOf(snapshot(seen))).toEqual([]);
    });

    it.each<[string, Seen, string, RegExp]>([
        [
            "a Pod that is gone",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })] },
            "leak 10.2.0.12",
            /held for Pod shop\/web-0, which is gone; the agent of Node node1 frees it/,
        ],
        [
            "a Pod that is gone, while IPPools are switched off",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })], gate: "off" },
            "leak 10.2.0.12",
            /which is gone; the feature gate AntreaIPAM is off: it is freed when the gate is on again/,
        ],
        [
            "a Pod that is gone, when the configuration may not be read",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })], gate: "unknown" },
            "leak 10.2.0.12",
            /which is gone; the agent of Node node1 frees it within/,
        ],
        [
            "a Pod of the same name with another UID",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0", uid: "older" })],
                pods: [pod("web-0", { phase: "Pending" })],
            },
            "leak 10.2.0.12",
            /is gone/,
        ],
        [
            "a Pod that is gone, whose UID a mirror Pod of another Namespace has, which anyone can create",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [pod("web-0", { namespace: "other", uids: ["uid-mirror", "uid-web-0"], phase: "Pending" })],
            },
            "leak 10.2.0.12",
            /is gone/,
        ],
        [
            "an address that a mirror Pod reports too, which has the UID of the other Pod",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [web0, pod("fake", { uids: ["uid-mirror", "uid-web-0"], ips: ["10.2.0.12"] })],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
            "duplicate 10.2.0.12",
            /has 2 users/,
        ],
        [
            "a Pod that has ended",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })], pods: [pod("web-0", { phase: "Failed" })] },
            "leak 10.2.0.12",
            /which has ended/,
        ],
        [
            "a Pod that is gone and whose port is there",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
            "leak 10.2.0.12",
            /port web-0-port of Node node1 still has it/,
        ],
        [
            "a Pod of a Node that is gone",
            { allocations: [allocation("10.2.0.12", { pod: "web-0", node: "node7" })] },
            "leak 10.2.0.12",
            /Node node7 is gone too/,
        ],
        [
            "a Pod of a Node that is not ready",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pools: poolSet([web], [node("node1", { ready: false })]),
            },
            "leak 10.2.0.12",
            /out-of-service/,
        ],
        [
            "a Pod that is gone from a Node that was not seen",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })], node1: "refused" },
            "leak 10.2.0.12",
            /was not seen/,
        ],
        [
            "a Pod that runs with another address",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" }), allocation("10.2.0.13", { pod: "web-0" })],
                pods: [web0],
                node1: "refused",
            },
            "leak 10.2.0.13",
            /which runs with 10.2.0.12/,
        ],
        [
            "a second allocation of an interface",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" }), allocation("10.2.0.13", { pod: "web-0" })],
                pods: [pod("web-0", { phase: "Pending" })],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
            "leak 10.2.0.13",
            /which uses 10.2.0.12/,
        ],
        [
            "a Pod that runs without a port",
            { allocations: [allocation("10.2.0.12", { pod: "web-0" })], pods: [web0] },
            "leak 10.2.0.12",
            /OVS of Node node1 has no port/,
        ],
        [
            "a port without allocation",
            { pods: [web0], node1: [record("web-0", { "10.2.0.12": "web" })] },
            "orphan 10.2.0.12",
            /port web-0-port of Pod shop\/web-0, and not claimed/,
        ],
        [
            "a port with an address of an older agent, without pool or podCIDR",
            { node1: [record("web-0", { "10.2.0.12": undefined })] },
            "orphan 10.2.0.12",
            /not claimed/,
        ],
        [
            "a port outside of podCIDRs and pools",
            { node1: [record("web-0", { "10.99.0.1": undefined })] },
            "orphan 10.99.0.1",
            /lies in no podCIDR of Node node1/,
        ],
        [
            "a Pod without allocation on a Node that was not seen",
            { pods: [web0], node1: "refused" },
            "orphan 10.2.0.12",
            /reports it and it is not claimed/,
        ],
        [
            "an allocation outside of its pool",
            {
                allocations: [allocation("10.2.0.99", { pod: "web-0" })],
                pods: [pod("web-0", { ips: ["10.2.0.99"] })],
                node1: [record("web-0", { "10.2.0.99": "web" })],
            },
            "orphan 10.2.0.99",
            /outside the present ranges of IPPool web/,
        ],
        [
            "an allocation of an unknown pool",
            {
                allocations: [allocation("10.2.0.12", { pool: "gone", owner: ofSet("db", 0) })],
                statefulSets: [set("db", { annotations: { "ipam.antrea.io/ippools": "gone" } })],
            },
            "orphan 10.2.0.12",
            /IPPool gone, which does not exist/,
        ],
        [
            "two Pods with one address",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [web0, pod("other", { ips: ["10.2.0.12"], nodeName: "node2" })],
                node1: [record("web-0", { "10.2.0.12": "web" })],
            },
            "duplicate 10.2.0.12",
            /has 2 users: claimed for Pod shop\/web-0 on Node node1; port .*; Pod shop\/web-0 on Node node1 reports it; Pod shop\/other on Node node2 reports it/,
        ],
        [
            "two ports with one address of the Nodes' subnets",
            {
                pools: poolSet([], [node1, node("node2", { podCidrs: ["10.10.1.0/24"] })]),
                node1: [record("a", { "10.10.1.7": undefined })],
                node2: [record("b", { "10.10.1.7": undefined }, { podUid: "" })],
            },
            "duplicate 10.10.1.7",
            /port a-port .* port b-port/,
        ],
        [
            "a port of another Pod than the allocation's",
            {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
                pods: [web0, pod("b", { ips: [] })],
                node1: [record("web-0", { "10.2.0.12": "web" }), record("b", { "10.2.0.12": "web" })],
            },
            "duplicate 10.2.0.12",
            /Delete those Pods that the allocation does not name/,
        ],
        [
            "an allocation of an interface whose container is gone",
            {
                allocations: [allocation("10.2.0.13", { pod: "web-0", interface: "net1", network: "macnet" })],
                pods: [pod("web-0", { ips: ["10.10.1.7"] })],
                node1: [record("web-0", { "10.10.1.7": undefined }, { containerId: "later" })],
            },
            "leak 10.2.0.13",
            /held for interface net1 \(network macnet\) of Pod shop\/web-0, of a container that is gone; its next container takes it/,
        ],
        [
            "an allocation of an interface of the agent on another network that no port has",
            {
                allocations: [allocation("10.2.0.13", { pod: "web-0", interface: "eth1", network: "shop/vlan100" })],
                pods: [pod("web-0", { ips: ["10.10.1.7"] })],
                node1: [record("web-0", { "10.10.1.7": undefined })],
            },
            "leak 10.2.0.13",
            /held for Pod shop\/web-0, which runs, but OVS of Node node1 has no port with it: restart the Pod/,
        ],
        [
            "an address of an interface on another network without its allocation",
            {
                pods: [pod("web-0", { ips: ["10.10.1.7"] })],
                node1: [
                    record("web-0", { "10.10.1.7": undefined }),
                    record("web-0", { "10.2.0.13": "web" }, { ifName: "eth1", network: "shop/vlan100" }),
                ],
            },
            "orphan 10.2.0.13",
            /not claimed; the agent of Node node1 claims it again/,
        ],
        [
            "a reservation for an interface that the template does not request",
            {
                allocations: [allocation("10.2.0.12", { owner: { ...ofSet("db", 0), interface: "net1" } })],
                statefulSets: [set("db")],
            },
            "reservation 10.2.0.12",
            /kept for StatefulSet shop\/db ordinal 0 interface net1: its template requests no network on net1/,
        ],
        [
            "a reservation of a set that is gone",
            { allocations: [allocation("10.2.0.12", { owner: ofSet("db", 0) })] },
            "reservation 10.2.0.12",
            /no such StatefulSet/,
        ],
        [
            "a reservation above the ordinals",
            { allocations: [allocation("10.2.0.12", { owner: ofSet("db", 3) })], statefulSets: [set("db")] },
            "reservation 10.2.0.12",
            /ordinals 0 to 2/,
        ],
        [
            "a gateway that no pool has",
            { allocations: [allocation("10.2.0.99", { owner: { kind: "Gateway", name: "10.2.0.99" } })] },
            "reservation 10.2.0.99",
            /no IPPool has this gateway; antrea-controller frees it/,
        ],
        [
            "a reservation below the ordinals",
            {
                allocations: [allocation("10.2.0.12", { owner: ofSet("db", 4) })],
                statefulSets: [set("db", { start: 5, replicas: 1 })],
            },
            "reservation 10.2.0.12",
            /ordinals 5 to 5/,
        ],
        [
            "a reservation of a set of nothing",
            {
                allocations: [allocation("10.2.0.12", { owner: ofSet("db", 0) })],
                statefulSets: [set("db", { replicas: 0 })],
            },
            "reservation 10.2.0.12",
            /no Pods/,
        ],
        [
            "a reservation from a pool that the set does not name",
            {
                allocations: [allocation("10.3.0.8", { pool: "tiny", owner: ofSet("db", 0) })],
                statefulSets: [set("db")],
            },
            "reservation 10.3.0.8",
            /does not name IPPool tiny/,
        ],
        [
            "a reservation for a Node that is gone",
            { allocations: [allocation("10.2.0.12", { owner: { kind: "Node", name: "node7" } })] },
            "reservation 10.2.0.12",
            /no such Node/,
        ],
        [
            "a reservation for another address of a Node",
            { allocations: [allocation("10.2.0.12", { owner: { kind: "Node", name: "node1" } })] },
            "reservation 10.2.0.12",
            /does not have this address/,
        ],
        [
            "a reservation for a Pod",
            { allocations: [allocation("10.2.0.12", { owner: { kind: "Pod", namespace: "shop", name: "x" } })] },
            "reservation 10.2.0.12",
            /never reserved/,
        ],
    ])("finds %s", (_name, seen, what, text) => {
        const findings = findingsOf(snapshot(seen));
        expect(findings.map(({ kind, address }) => `${kind} ${address}`)).toEqual([what]);
        expect(findings[0]?.text).toMatch(text);
    });
});

describe("inBoth", () => {
    it("keeps what both passes found, as the second one saw it", () => {
        const first = findingsOf(
            snapshot({ allocations: [allocation("10.2.0.12", { pod: "a" }), allocation("10.2.0.13", { pod: "b" })] }),
        );
        const second = findingsOf(
            snapshot({
                allocations: [allocation("10.2.0.13", { pod: "b" }), allocation("10.2.0.14", { pod: "c" })],
                node1: "away",
            }),
        );
        const both = inBoth(first, second);
        expect(both.map(({ address }) => address)).toEqual(["10.2.0.13"]);
        expect(both[0]?.text).toMatch(/was not seen/);
    });

    it("does not take an address that went to another Pod for the same finding", () => {
        const first = findingsOf(snapshot({ allocations: [allocation("10.2.0.12", { pod: "a" })] }));
        const second = findingsOf(snapshot({ allocations: [allocation("10.2.0.12", { pod: "b" })] }));
        expect(inBoth(first, second)).toEqual([]);
    });
});

describe("unread Nodes", () => {
    it("are those that could not be read, and those without an agent where something is", () => {
        const seen = snapshot({
            allocations: [allocation("10.2.0.12", { pod: "x", node: "node8" })],
            pods: [
                pod("y", { nodeName: "node9", ips: ["10.10.9.1"] }),
                pod("host", { nodeName: "node10", hostNetwork: true, ips: ["1.1.1.1"] }),
            ],
            node2: "refused",
        });
        expect([...seen.unread]).toEqual([
            ["node2", "refused"],
            ["node8", "no agent Pod is there"],
            ["node9", "no agent Pod is there"],
        ]);
    });
});

describe("renderCheck", () => {
    it("lists what was found by kind, and what could not be seen", () => {
        const seen = snapshot({
            allocations: [
                allocation("10.2.0.12", { pod: "web-0" }),
                allocation("10.3.0.8", { pool: "tiny", owner: ofSet("db", 0) }),
            ],
            node2: "refused",
            pools: poolSet([web, web6, tiny]),
        });
        const text = renderCheck(checkReport(seen, findingsOf(seen)), plain);
        expect(text).toMatch(
            /^Leaks: [^]*10\.2\.0\.12 +web +node1 +held[^]*Unneeded reservations[^]*10\.3\.0\.8[^]*node2: refused/,
        );
        expect(text).toMatch(
            /\nChecked 2 allocations, 0 Pods and 0 ports on 2 Nodes: 2 findings \(1 Node not readable\)\.$/,
        );
        expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    });

    it("reports that nothing is wrong", () => {
        expect(renderCheck(checkReport(snapshot({}), []), plain)).toBe(
            "Checked 0 allocations, 0 Pods and 0 ports on 2 Nodes: nothing is wrong.",
        );
    });
});
