import { beforeEach, expect, it } from "@jest/globals";
import { pods, type ApiClient, type EventInput, type Pod } from "@antrea/kube";
import { MemoryLog } from "@antrea/runtime/testing";
import { LostBandwidth } from "../../../src/features/pod-network/lost-bandwidth.ts";

const signal = new AbortController().signal;
const ingress = { "kubernetes.io/ingress-bandwidth": "10M" };
const egress = { "kubernetes.io/egress-bandwidth": "5M" };

let podsOfNode: Pod[];
let qdiscs: object[];
let recorded: EventInput[];
let asked: string[];
/** Ends the names of the interfaces. */
let sandbox: number;
let lost: LostBandwidth;

beforeEach(() => {
    podsOfNode = [];
    qdiscs = [];
    recorded = [];
    asked = [];
    sandbox = 1;
    const api = {
        list: (resource: unknown, options: unknown) => {
            expect(resource).toBe(pods);
            expect(options).toMatchObject({ fieldSelector: "spec.nodeName=worker" });
            asked.push("list");
            return Promise.resolve({ items: podsOfNode, resourceVersion: "1" });
        },
    } as unknown as Pick<ApiClient, "list">;
    lost = new LostBandwidth(
        {
            api,
            events: { record: (event) => void recorded.push(event) },
            interfaces: () =>
                ["a", "b", "c"].map((name) => ({ podUid: `uid-${name}`, hostIfName: `${name}-${sandbox}` })),
            qdiscs: () => {
                asked.push("tc");
                return Promise.resolve(JSON.stringify(qdiscs));
            },
            logger: new MemoryLog().logger,
        },
        { nodeName: "worker" },
    );
});

function podOf(name: string, annotations: Readonly<Record<string, string>>, changes: object = {}): Pod {
    const status = { podIPs: [{ ip: "10.1.0.5" }], phase: "Running", ...changes };
    return {
        metadata: { namespace: "default", name, uid: `uid-${name}`, annotations },
        spec: { containers: [] },
        status,
    } as unknown as Pod;
}

const limitsOf = (name: string): object[] => [
    { kind: "tbf", dev: `${name}-1`, root: true },
    { kind: "ingress", dev: `${name}-1`, parent: "ffff:fff1" },
];

it("a Pod whose limits are gone after OVS was started gets one event, one whose limits are there none", async () => {
    podsOfNode = [podOf("a", { ...ingress, ...egress }), podOf("b", { ...ingress, ...egress }), podOf("c", {})];
    qdiscs = [...limitsOf("b"), { kind: "noqueue", dev: "a-1", root: true }];
    for (let round = 0; round < 3; round += 1) {
        lost.ovsConnected();
        await lost.check(signal);
    }
    expect(recorded).toEqual([
        {
            type: "Warning",
            reason: "BandwidthLimitLost",
            action: "LimitBandwidth",
            regarding: expect.objectContaining({ kind: "Pod", name: "a", uid: "uid-a" }),
            note: expect.stringMatching(/ingress-bandwidth and kubernetes\.io\/egress-bandwidth.*create the Pod again/),
        },
    ]);
});

it("a static Pod gets it on its mirror Pod; its interface has the hash of the manifest as UID", async () => {
    const mirrors = { "kubernetes.io/config.hash": "uid-a", "kubernetes.io/config.mirror": "uid-a" };
    podsOfNode = [podOf("static", { ...ingress, ...mirrors })];
    for (let round = 0; round < 2; round += 1) {
        lost.ovsConnected();
        await lost.check(signal);
    }
    expect(recorded).toEqual([
        expect.objectContaining({
            regarding: expect.objectContaining({ name: "static", uid: "uid-static" }),
            // Deleting the mirror Pod restarts nothing.
            note: expect.stringMatching(
                /; move the manifest of this static Pod out of its directory and back to limit it$/,
            ),
        }),
    ]);
});

it("a static Pod gets no second event when its mirror Pod is created again, but when its sandbox is and loses the limit", async () => {
    const mirrors = { "kubernetes.io/config.hash": "uid-a", "kubernetes.io/config.mirror": "uid-a" };
    const mirror = podOf("static", { ...ingress, ...mirrors });
    const mirrorOf = (uid: string): Pod => ({ ...mirror, metadata: { ...mirror.metadata, uid } });
    for (const mirrorsNow of [[mirrorOf("uid-first")], [], [mirrorOf("uid-second")]]) {
        podsOfNode = mirrorsNow;
        lost.ovsConnected();
        await lost.check(signal);
    }
    expect(recorded.map(({ regarding }) => regarding.uid)).toEqual(["uid-first"]);
    // The manifest was moved out of its directory and back.
    sandbox = 2;
    lost.ovsConnected();
    await lost.check(signal);
    expect(recorded.map(({ regarding }) => regarding.uid)).toEqual(["uid-first", "uid-second"]);
});

it("a mirror Pod that someone created under another name does not take the event of the Pod whose UID it has", async () => {
    const mirrors = { "kubernetes.io/config.hash": "uid-a", "kubernetes.io/config.mirror": "uid-a" };
    podsOfNode = [podOf("other", { ...ingress, ...mirrors }), podOf("a", ingress)];
    lost.ovsConnected();
    await lost.check(signal);
    expect(recorded.map(({ regarding }) => regarding.name)).toContain("a");
});

it.each([
    ["ingress", ingress, "ingress", "kubernetes.io/ingress-bandwidth"],
    ["egress", egress, "tbf", "kubernetes.io/egress-bandwidth"],
])("names the limit for %s alone, which the other's does not replace", async (_, annotations, other, named) => {
    podsOfNode = [podOf("a", annotations)];
    qdiscs = [{ kind: other, dev: "a-1" }];
    lost.ovsConnected();
    await lost.check(signal);
    expect(recorded.map(({ note }) => note)).toEqual([expect.stringContaining(`in force for ${named}: `)]);
});

it("checks twice after OVS has connected, and not again", async () => {
    await lost.check(signal);
    expect(asked).toEqual([]);
    podsOfNode = [podOf("a", ingress)];
    qdiscs = limitsOf("a");
    lost.ovsConnected();
    await lost.check(signal);
    expect(recorded).toEqual([]);
    // OVS has come to this port only now
    qdiscs = [];
    await lost.check(signal);
    await lost.check(signal);
    expect(asked).toEqual(["list", "tc", "list", "tc"]);
    expect(recorded).toHaveLength(1);
});

it.each<[string, Pod]>([
    ["without the annotations", podOf("a", {})],
    ["with an empty annotation", podOf("a", { "kubernetes.io/ingress-bandwidth": "" })],
    ["that is being wired", podOf("a", ingress, { podIPs: [] })],
    ["that has ended", podOf("a", ingress, { phase: "Succeeded" })],
    ["that has failed", podOf("a", ingress, { phase: "Failed" })],
    ["without an interface of ours", podOf("other", ingress)],
])("no event for a Pod %s", async (_, pod) => {
    podsOfNode = [pod];
    lost.ovsConnected();
    await lost.check(signal);
    expect(recorded).toEqual([]);
});

it("does not start tc where no Pod is limited", async () => {
    podsOfNode = [podOf("a", {})];
    lost.ovsConnected();
    await lost.check(signal);
    expect(asked).toEqual(["list"]);
});

it("checks again after a check that failed", async () => {
    podsOfNode = [podOf("a", ingress)];
    const failing = new LostBandwidth(
        {
            api: { list: () => Promise.resolve({ items: podsOfNode }) } as unknown as Pick<ApiClient, "list">,
            events: { record: (event) => void recorded.push(event) },
            interfaces: () => [{ podUid: "uid-a", hostIfName: "a-1" }],
            qdiscs: () => Promise.resolve(asked.push("tc") < 3 ? "no list" : "[]"),
            logger: new MemoryLog().logger,
        },
        { nodeName: "worker" },
    );
    failing.ovsConnected();
    for (let round = 0; round < 2; round += 1) {
        await expect(failing.check(signal)).rejects.toMatchObject({ code: "BAD_OUTPUT" });
    }
    await failing.check(signal);
    expect(recorded).toHaveLength(1);
});
