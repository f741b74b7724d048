import { describe, expect, it } from "@jest/globals";
import { KubeError } from "@antrea/kube";
import { type Allocation, type EventInfo, type PodInfo } from "../../src/cluster/index.ts";
import { allocationsOfPod, type Facts } from "../../src/explain/facts.ts";
import { gateIn } from "../../src/cluster/index.ts";
import { readController } from "../../src/explain/controller.ts";
import { renderExplain } from "../../src/explain/render.ts";
import { explain } from "../../src/explain/report.ts";
import {
    allocation,
    node,
    node1,
    now,
    ofSet,
    plain,
    pod,
    poolObject,
    poolSet,
    tiny,
    web,
    web6,
} from "../support/objects.ts";

const pools = "ipam.antrea.io/ippools";
const podIps = "ipam.antrea.io/pod-ips";

function facts(about: PodInfo, o: Partial<Facts> = {}): Facts {
    return {
        pod: about,
        unscheduled: undefined,
        namespaceAnnotations: {},
        gate: { state: "on" },
        controller: "runs",
        pools: poolSet(),
        networks: undefined,
        allocations: [],
        agent: pod("antrea-agent-node1", { namespace: "kube-system" }),
        events: [],
        setEvents: [],
        ...o,
    };
}

const pending = (annotations: Record<string, string>, o: Partial<PodInfo> = {}): PodInfo =>
    pod("web-0", { phase: "Pending", annotations, ...o });
const ofDb = [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web", uid: "uid-web", controller: true }];
const full: readonly Allocation[] = [
    allocation("10.3.0.8", { pool: "tiny", pod: "a" }),
    allocation("10.3.0.9", { pool: "tiny", pod: "b" }),
];

describe("the allocations of a Pod", () => {
    it.each<[string, PodInfo, readonly string[]]>([
        ["are those of its name and UID", pod("a"), ["10.3.0.8"]],
        ["of a static Pod have the hash of its manifest", pod("a", { uids: ["mirror", "uid-a"] }), ["10.3.0.8"]],
        ["are none of an earlier Pod of its name", pod("a", { uids: ["again"] }), []],
        ["are none of another Pod whose UID a mirror Pod has", pod("fake", { uids: ["mirror", "uid-a"] }), []],
        ["may have no name", pod("c", { uids: ["mirror", "uid-"] }), ["10.2.0.12"]],
    ])("%s", (_, about, addresses) => {
        const found = allocationsOfPod({ pod: about, allocations: [...full, allocation("10.2.0.12", { pod: "" })] });
        expect(found.map(({ address }) => address)).toEqual(addresses);
    });
});

describe("where addresses come from", () => {
    it.each<[string, Facts, string, RegExp]>([
        ["the Pod's annotation", facts(pending({ [pools]: "web" })), "Pools", /of the Pod counts\.$/],
        [
            "the Pod's before the Namespace's",
            facts(pending({ [pools]: "web" }), { namespaceAnnotations: { [pools]: "tiny" } }),
            "Pools",
            /of the Pod counts; that of its Namespace does not\.$/,
        ],
        [
            "the Namespace's",
            facts(pending({}), { namespaceAnnotations: { [pools]: "tiny" } }),
            "Pools",
            /of its Namespace counts; the Pod has none\.$/,
        ],
        ["none", facts(pending({})), "NodeSubnet", /Neither the Pod nor its Namespace/],
        [
            "hostNetwork",
            facts(pending({ [pools]: "web" }, { hostNetwork: true })),
            "HostNetwork",
            /uses the network of its Node/,
        ],
        [
            "the gate off",
            facts(pending({ [pools]: "web" }), { gate: { state: "off" } }),
            "NodeSubnet",
            /It has no effect: the feature gate AntreaIPAM of antrea-agent is off/,
        ],
        [
            "the gate unseen",
            facts(pending({ [pools]: "web" }), { gate: { state: "unknown", reason: "you may not read it" } }),
            "Pools",
            /could not be seen: you may not read it\.$/,
        ],
    ])("%s", (_name, about, source, why) => {
        const report = explain(about);
        expect(report.source).toBe(source);
        expect(report.why).toMatch(why);
        expect(report.pools.length > 0).toBe(source === "Pools");
    });
});

describe("which pools are tried", () => {
    it.each<[string, Facts, readonly string[]]>([
        [
            "the first of each family with a free address",
            facts(pending({ [pools]: "tiny, web6, web, nope" }), { allocations: full }),
            [
                "tiny exhausted exhausted: 2 used and 0 reserved of 2",
                "web6 next >9e15 of >9e15 free",
                "web next 9 of 9 free",
                "nope unknown does not exist",
            ],
        ],
        [
            "those behind one that serves are not needed",
            facts(pending({ [pools]: "web,tiny" }), { allocations: full }),
            ["web next 9 of 9 free", "tiny spare not needed: a pool before it has IPv4 addresses (0 of 2 free)"],
        ],
        [
            "the one that gave, wherever it stands",
            facts(pod("web-0", { annotations: { [pools]: "tiny,web" }, ips: ["10.2.0.12"] }), {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
            }),
            ["tiny spare not needed: IPPool web gave 10.2.0.12 (2 of 2 free)", "web gave gave 10.2.0.12"],
        ],
        [
            "a free fixed address",
            facts(pending({ [pools]: "tiny", [podIps]: "10.3.0.9" })),
            ["tiny next hands out 10.3.0.9, which is free"],
        ],
        [
            "a held fixed address",
            facts(pending({ [pools]: "tiny", [podIps]: "10.3.0.9" }), { allocations: full }),
            ["tiny exhausted hands out 10.3.0.9, which is held by Pod shop/b on Node node1"],
        ],
        [
            "a fixed address of elsewhere",
            facts(pending({ [pools]: "tiny", [podIps]: "10.3.0.99" })),
            ["tiny unusable does not hand out 10.3.0.99: it is not in its ranges"],
        ],
        [
            "the reservation of the ordinal, in whichever pool",
            facts(pending({ [pools]: "web,tiny" }, { ownerReferences: ofDb }), {
                allocations: [allocation("10.3.0.8", { pool: "tiny", owner: ofSet("web", 0) })],
            }),
            [
                "web spare not needed: IPPool tiny keeps 10.3.0.8 for ordinal 0",
                "tiny reserved keeps 10.3.0.8 for ordinal 0 of StatefulSet web",
            ],
        ],
        [
            "no reservation yet",
            facts(pending({ [pools]: "tiny,web" }, { ownerReferences: ofDb }), { allocations: full }),
            [
                "tiny exhausted keeps no address for ordinal 0 yet; none is free",
                "web next keeps no address for ordinal 0 yet; 9 are free",
            ],
        ],
        [
            "a pool that cannot be read",
            facts(pending({ [pools]: "bad" }), {
                pools: poolSet([poolObject("bad", { cidr: "10.7.0.0/24", gateway: "10.8.0.1", prefixLength: 24 })]),
            }),
            [expect.stringMatching(/^bad unusable cannot be used: spec\.ipRanges\[0\]\.cidr/) as unknown as string],
        ],
    ])("%s", (_name, about, trials) => {
        expect(explain(about).pools.map(({ pool, outcome, text }) => `${pool} ${outcome} ${text}`)).toEqual(trials);
    });
});

describe("what blocks", () => {
    it.each<[string, Facts]>([
        [
            "a Pod that has its address",
            facts(pod("web-0", { annotations: { [pools]: "web" }, ips: ["10.2.0.12"] }), {
                allocations: [allocation("10.2.0.12", { pod: "web-0" })],
            }),
        ],
        ["a Pod that is starting", facts(pending({ [pools]: "web" }))],
        ["a Pod that has ended", facts(pending({ [pools]: "tiny" }, { phase: "Failed" }), { allocations: full })],
        ["a Pod that is going", facts(pending({ [pools]: "tiny" }, { deleting: true }), { allocations: full })],
        ["a Pod without pools", facts(pending({}))],
        ["a hostNetwork Pod", facts(pending({ [pools]: "nope" }, { hostNetwork: true }))],
        ["a Pod where the gate is off", facts(pending({ [pools]: "nope" }), { gate: { state: "off" } })],
        [
            "a Pod whose ordinal is reserved",
            facts(pending({ [pools]: "web" }, { ownerReferences: ofDb }), {
                allocations: [allocation("10.2.0.12", { owner: ofSet("web", 0) })],
            }),
        ],
    ])("nothing for %s", (_name, about) => {
        const { blocks, verdict } = explain(about);
        expect(blocks).toEqual([]);
        expect(verdict).toMatch(/^(Nothing|The Pod has ended)/);
    });

    const sticky = (held: Allocation, nodes = [node1]): Facts =>
        facts(pending({ [pools]: "web" }, { ownerReferences: ofDb }), {
            allocations: [held],
            pools: poolSet([web], nodes),
        });
    const onOld = allocation("10.2.0.12", { pod: "web-0", uid: "old", node: "node9", owner: ofSet("web", 0) });

    it.each<[string, Facts, RegExp, RegExp]>([
        [
            "no Node",
            facts(pending({ [pools]: "web" }, { nodeName: undefined }), { unscheduled: "0/3 nodes fit" }),
            /no Node yet: 0\/3 nodes fit/,
            /^change what the scheduler names, .*; an address is claimed when the Pod has a Node$/,
        ],
        [
            "no Node, and nothing of the scheduler",
            facts(pending({ [pools]: "web" }, { nodeName: undefined })),
            /no Node yet$/,
            /^see whether kube-scheduler runs .*; an address is claimed when the Pod has a Node$/,
        ],
        ["an unknown pool", facts(pending({ [pools]: "nope" })), /IPPool nope does not exist/, /create/],
        [
            "full pools",
            facts(pending({ [pools]: "tiny" }), { allocations: full }),
            /no IPv4 address is free: IPPool tiny is exhausted/,
            /add a range/,
        ],
        [
            "one full family of two",
            facts(pending({ [pools]: "web6,tiny" }), { allocations: full }),
            /no IPv4 address is free/,
            /add a range/,
        ],
        [
            "a fixed address that a Pod holds",
            facts(pending({ [pools]: "tiny", [podIps]: "10.3.0.9" }), { allocations: full }),
            /the fixed address 10\.3\.0\.9 is held by Pod shop\/b on Node node1/,
            /Recreate/,
        ],
        [
            "a fixed address that is reserved",
            facts(pending({ [pools]: "web", [podIps]: "10.2.0.12" }), {
                allocations: [allocation("10.2.0.12", { owner: ofSet("db", 1) })],
            }),
            /held by StatefulSet shop\/db ordinal 1 \(reserved\)/,
            /choose another address/,
        ],
        [
            "an empty list",
            facts(pending({ [pools]: " , " })),
            /must name at least one IPPool/,
            /correct the annotation/,
        ],
        [
            "a fixed address of no pool",
            facts(pending({ [pools]: "web", [podIps]: "10.9.9.9" })),
            /10\.9\.9\.9.*does not hand it out/,
            /correct|create/,
        ],
        [
            "a missing reservation",
            facts(pending({ [pools]: "web" }, { ownerReferences: ofDb })),
            /no IPv4 address is reserved for ordinal 0 of StatefulSet shop\/web$/,
            /antrea-controller/,
        ],
        [
            "a missing reservation of full pools",
            facts(pending({ [pools]: "tiny" }, { ownerReferences: ofDb }), { allocations: full }),
            /is reserved for ordinal 0 .*: the pools have no free address/,
            /add a range/,
        ],
        [
            "the earlier Pod on a Node that is not ready",
            sticky(onOld, [node("node9", { ready: false })]),
            /still held by the earlier Pod \(UID old\) on Node node9, which is not ready/,
            /kubectl taint node node9 node\.kubernetes\.io\/out-of-service/,
        ],
        [
            "the earlier Pod on a Node that is ready",
            sticky(onOld, [node("node9")]),
            /on Node node9$/,
            /the agent of Node node9 frees it/,
        ],
        ["the earlier Pod on a Node that is gone", sticky(onOld), /which is gone/, /5 minutes/],
        [
            "the earlier Pod on a Node out of service",
            sticky(onOld, [node("node9", { outOfService: true })]),
            /out of service/,
            /hands it over/,
        ],
        [
            "no agent",
            facts(pending({ [pools]: "web" }), { agent: undefined }),
            /no antrea-agent runs on Node node1/,
            /DaemonSet/,
        ],
        [
            "an agent that does not run",
            facts(pending({ [pools]: "web" }), {
                agent: pod("agent-1", { namespace: "kube-system", phase: "Pending" }),
            }),
            /the antrea-agent of Node node1, Pod kube-system\/agent-1, is Pending/,
            /kubectl -n kube-system describe pod agent-1/,
        ],
    ])("%s", (_name, about, what, next) => {
        const { blocks, verdict } = explain(about);
        expect(blocks.length).toBeGreaterThan(0);
        expect(blocks[0]?.what).toMatch(what);
        expect(blocks[0]?.next).toMatch(next);
        expect(verdict).toBe("What blocks now:");
    });

    it("is reported even if the Pod has the address of the other family", () => {
        const about = facts(pending({ [pools]: "web6,tiny" }), {
            allocations: [...full, allocation("fd00:2::5", { pool: "web6", pod: "web-0" })],
        });
        const report = explain(about);
        expect(report.has.map(({ address }) => address)).toEqual(["fd00:2::5"]);
        expect(report.blocks.map(({ what }) => what)).toEqual(["no IPv4 address is free: IPPool tiny is exhausted"]);
    });
});

describe("gateIn", () => {
    it("reads another gate", () => {
        const text = "featureGates: {SecondaryNetwork: true}";
        expect([gateIn(text, "SecondaryNetwork").state, gateIn(text).state]).toEqual(["on", "off"]);
    });

    it.each([
        ["", "off"],
        ["featureGates:\n", "off"],
        ["featureGates:\n  AntreaIPAM: true\n", "on"],
        ["featureGates: {AllAlpha: true}\n", "on"],
        ["featureGates: {AllAlpha: true, AntreaIPAM: false}\nother: 1\n", "off"],
        ["featureGates: [", "unknown"],
    ])("%j is %s", (text, state) => {
        expect(gateIn(text).state).toBe(state);
    });
});

describe("renderExplain", () => {
    it("shows the pools in order, what is had, what blocks and the latest events", () => {
        const event = (time: string, reason: string): EventInfo => ({
            time,
            type: "Warning",
            reason,
            from: "antrea-agent",
            note: `${reason}\nnote`,
            count: 1,
        });
        const report = explain(
            facts(pending({ [pools]: "web6,tiny", [podIps]: "10.3.0.9" }, { ownerReferences: [] }), {
                allocations: [...full, allocation("fd00:2::5", { pool: "web6", pod: "web-0" })],
                pools: poolSet([web, web6, tiny]),
                events: [event("2026-11-20T11:59:00Z", "IPAllocationFailed")],
                setEvents: [event("2026-11-20T11:59:30Z", "ReservationFailed")],
            }),
        );
        const text = renderExplain(report, plain, now);
        expect(text).toMatch(
            /^Pod: +shop\/web-0\nPhase: +Pending\nNode: +node1\nPod IPs: +none\nPools: +web6,tiny \(annotation of the Pod\)\nFixed: +10\.3\.0\.9\n/,
        );
        expect(text).toMatch(/\n1 +web6 +IPv6 +gave fd00:2::5\n2 +tiny +IPv4 +hands out 10\.3\.0\.9, which is held/);
        expect(text).toMatch(/\nfd00:2::5 +web6 +eth0 +2h\n/);
        expect(text).toMatch(/What blocks now:\n {2}- the fixed address .*\n {4}next: delete that Pod/);
        expect(text).toMatch(
            /\n30s +Warning +ReservationFailed +StatefulSet +ReservationFailed note\n1m +Warning +IPAllocationFailed +Pod /,
        );
        expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    });
});

describe("a Pod that asks for pools and runs on its Node's subnet", () => {
    const running = pod("a9", { phase: "Running", ips: ["10.10.1.59"] });
    const inherits = { namespaceAnnotations: { [pools]: "nosuch" } };

    it("is informed what is true now: where it got its address, and how it gets another", () => {
        const report = explain(facts(running, inherits));
        expect(report).toMatchObject({ source: "NodeSubnet", pools: [], blocks: [] });
        expect(report.why).toMatch(
            /of its Namespace counts.* But the Pod runs on 10\.10\.1\.59 of its Node's subnet, which it got before its Namespace had the annotation, or while its agent did not heed IPPools\. Delete it, and the next one gets an address of IPPool nosuch\.$/,
        );
        expect(report.verdict).toBe("Nothing blocks: the Pod has its addresses.");
        const own = explain(facts({ ...running, annotations: { [pools]: "web" } }));
        expect(own.why).toMatch(/which it got while its agent did not heed IPPools\./);
    });

    it("is another that waits, or that has an address of a pool without an allocation", () => {
        expect(explain(facts(pending({}), inherits)).blocks).toHaveLength(1);
        const inPool = pod("a9", { phase: "Running", ips: ["10.2.0.12"] });
        expect(explain(facts(inPool, { namespaceAnnotations: { [pools]: "web" } })).source).toBe("Pools");
        const unreadable = pod("a9", { phase: "Running", ips: ["010.10.1.59"] });
        expect(explain(facts(unreadable, inherits)).source).toBe("Pools");
    });
});

describe("antrea-controller away", () => {
    it("is what keeps an ordinal from its reservation", () => {
        const about = pending({ [pools]: "web" }, { ownerReferences: ofDb });
        const [away] = explain(facts(about, { controller: "away" })).blocks;
        expect(away?.what).toMatch(
            /is reserved for ordinal 0 .*: antrea-controller does not run: its lease is not renewed$/,
        );
        const [runs] = explain(facts(about)).blocks;
        expect(runs?.what).not.toMatch(/does not run/);
    });

    it.each([
        ["runs", { holderIdentity: "a", renewTime: "2026-01-01T00:00:00.000000Z", leaseDurationSeconds: 15 }],
        ["away", { holderIdentity: "a", renewTime: "2025-12-31T23:59:00.000000Z", leaseDurationSeconds: 15 }],
        ["away", { holderIdentity: "", renewTime: "2026-01-01T00:00:00.000000Z" }],
        ["away", undefined],
    ] as const)("is identified by the lease: %s %j", async (state, spec) => {
        const cluster = { find: async () => (spec === undefined ? undefined : { spec }) as never };
        expect(await readController(cluster, "kube-system", Date.parse("2026-01-01T00:00:05Z"))).toBe(state);
    });

    it("is not known to who may not read the lease", async () => {
        const cluster = { find: async () => Promise.reject(new KubeError("FORBIDDEN", "no")) };
        expect(await readController(cluster, "kube-system", 0)).toBe("unknown");
    });
});

describe("events", () => {
    it("that repeat themselves are one, with the latest words", () => {
        const event = (minute: number, id: string): EventInfo => ({
            time: `2026-01-01T00:0${minute}:00Z`,
            type: "Warning",
            reason: "FailedCreatePodSandBox",
            from: "kubelet",
            note: `failed to set up sandbox "${id.repeat(16)}": no free address`,
            count: 2,
        });
        const events = [event(1, "abcd"), event(3, "0123"), event(2, "beef"), { ...event(0, "a"), reason: "Other" }];
        const report = explain(facts(pending({ [pools]: "web" }), { events }));
        expect(report.events.map(({ reason, count }) => [reason, count])).toEqual([
            ["FailedCreatePodSandBox", 6],
            ["Other", 2],
        ]);
        expect(report.events[0]?.note).toContain("0123");
    });
});
