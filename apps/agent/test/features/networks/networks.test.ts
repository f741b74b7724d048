import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { settle } from "@antrea/async/testing";
import { parseNetworkConfig } from "@antrea/cni";
import { AntreaError, messageOf } from "@antrea/errors";
import { parseIp, sameIp } from "@antrea/ip";
import { KubeError, type EventInput, type Pod } from "@antrea/kube";
import { networkOfCall, networksAnnotation } from "@antrea/networks";
import { Jobs, Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { annotationHash } from "../../../src/features/networks/annotation-hash.ts";
import { NetworksError } from "../../../src/features/networks/errors.ts";
import { podNetworks, type NetworksNeeds } from "../../../src/features/networks/feature.ts";
import { nodeCniFiles, type Networks } from "../../../src/features/networks/index.ts";
import {
    NetworkInterfaces,
    PodInterfaces,
    type AddRequest,
    type NetworkCall,
    type PlannedNetwork,
} from "../../../src/platform/pod-interfaces/index.ts";
import type { NodePlatform } from "../../../src/platform/node-platform.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeKube, vlanConfig } from "./fake-kube.ts";

const request: AddRequest = {
    containerId: "ab12".repeat(16),
    ifName: "eth0",
    podNamespace: "default",
    podName: "web",
    podUid: "uid",
    netns: "/var/run/netns/web",
    network: "antrea",
    receivedAt: 0,
};
const pooled = { ipam: { type: "antrea", ippools: ["pool1"] } };

let folder: string;
let kube: FakeKube;
let recorded: EventInput[];
let log: MemoryLog;
let metrics: Metrics;
let bridge: { mtu: number; problem: string | undefined };
let synced: () => Promise<void>;
/** Of `pool1` is one address. */
const pools: NonNullable<NetworksNeeds["pools"]> = {
    synced: () => synced(),
    poolOf: (ip, named) => (named.includes("pool1") && sameIp(ip, parseIp("10.2.0.7")) ? "pool1" : undefined),
};

beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "net.d-"));
    writeFileSync(join(folder, "10-antrea.conflist"), JSON.stringify({ plugins: [{ type: "antrea" }] }));
    kube = new FakeKube();
    kube.addNetwork("default/net1", vlanConfig({ vlan: 100, ...pooled }));
    kube.addNetwork("default/net2", vlanConfig({ vlan: 200 }));
    kube.addNetwork("other/net3", vlanConfig({ vlan: 300 }));
    kube.addNetwork("default/macnet", { cniVersion: "1.0.0", type: "macvlan" });
    kube.addNetwork("default/chain", { cniVersion: "1.0.0", plugins: [{ type: "bridge" }, { type: "tuning" }] });
    recorded = [];
    log = new MemoryLog();
    bridge = { mtu: 1500, problem: undefined };
    synced = () => Promise.resolve();
});
afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
});

function make(needs: Partial<NetworksNeeds> = {}): Networks {
    metrics = new Metrics({ processMetrics: false });
    const platform = {
        environment: { cniConfFolder: folder, nodeName: "worker" },
        events: { record: (event: EventInput) => void recorded.push(event) },
        jobs: new Jobs({ logger: silentLogger }),
        kube: { api: kube },
        logger: log.logger,
        metrics,
        podInterfaces: new PodInterfaces(),
    } as unknown as NodePlatform;
    const watched = { onChange: () => ({ [Symbol.dispose]: () => undefined }), get: () => undefined };
    const interfaces = new NetworkInterfaces();
    const findDevices: NetworksNeeds["findDevices"] = () => Promise.resolve([]);
    const all = { bridge, pools, findDevices, interfaces, pods: watched, ...needs };
    return podNetworks(platform, all, { cniFiles: nodeCniFiles }).networks;
}

async function failures(reason: string): Promise<number> {
    const lines = (await metrics.text()).split("\n");
    const line = lines.find((one) => one.startsWith(`antrea_agent_network_failures_total{reason="${reason}"}`));
    return Number(line?.split(" ")[1] ?? 0);
}

function plan(
    change: Partial<AddRequest> = {},
    signal: AbortSignal = new AbortController().signal,
): Promise<readonly PlannedNetwork[]> {
    return make().plan({ ...request, ...change }, signal);
}

const shown = (planned: readonly PlannedNetwork[]): readonly string[] =>
    planned.map(({ ifName, network, vlan }) => `${ifName} ${network} ${vlan}`);
const eventTexts = (): readonly string[] => recorded.map(({ type, reason, note }) => `${type} ${reason} ${note}`);

it("the fingerprint of the annotation that was read is known for the planned request, also where it requests nothing", async () => {
    kube.addPod(" net2\n");
    const networks = make();
    const [read, failed] = [{ ...request }, { ...request }];
    await networks.plan(read, new AbortController().signal);
    const pod = (text: string): Pod =>
        ({ metadata: { annotations: { [networksAnnotation]: text } } }) as unknown as Pod;
    expect(networks.hashOf(read)).toBe(annotationHash(pod("net2")));
    expect(networks.hashOf(failed)).toBeUndefined();
    kube.addPod(undefined);
    await networks.plan(failed, new AbortController().signal);
    expect(networks.hashOf(failed)).toBe(annotationHash(pod("")));
});

describe("a Pod that gets no networks", () => {
    it.each<[string, () => void, Partial<AddRequest>]>([
        ["has no annotation", () => kube.addPod(undefined), {}],
        ["has an empty annotation", () => kube.addPod(""), {}],
        ["has an annotation of white space", () => kube.addPod(" \n"), {}],
        ["has an annotation that lists nothing", () => kube.addPod("[]"), {}],
        ["is in the network of the Node", () => kube.addPod("net1", { hostNetwork: true }), {}],
    ])("%s", async (_, prepare, change) => {
        prepare();
        expect(await plan(change)).toEqual([]);
        expect(kube.requests).toEqual(["pods default/web"]);
        expect(recorded).toEqual([]);
    });

    it.each<[string, () => void, Partial<AddRequest>]>([
        ["is no object yet", () => undefined, {}],
        ["has another UID", () => kube.addPod("net1"), { podUid: "other" }],
    ])("is to be tried again if it %s: nobody knows what it requests", async (_, prepare, change) => {
        prepare();
        const message = expect.stringMatching(/^the networks of Pod default\/web cannot be read: .*; next: wait, /);
        await expect(plan(change)).rejects.toMatchObject({ code: "NO_POD", fault: "timeout", message });
        expect(recorded).toEqual([]);
    });

    it("is attached by a meta plugin, and nothing is asked", async () => {
        writeFileSync(join(folder, "00-multus.conf"), JSON.stringify({ type: "multus-shim" }));
        kube.addPod("net1");
        expect(await plan()).toEqual([]);
        expect([kube.requests, recorded]).toEqual([[], []]);
    });

    it("requests those of other plugins only: then the IPPools need not be known", async () => {
        synced = () => Promise.reject(new Error("not synced"));
        kube.addPod("macnet");
        expect(await plan()).toEqual([]);
        expect(recorded).toHaveLength(1);
    });
});

describe("the networks of a Pod", () => {
    it("are in the order of the annotation, whatever the order of the answers", async () => {
        kube.addPod("other/net3@data0, net2, net1");
        const answers = new Map(["other/net3", "default/net2"].map((key) => [key, Promise.withResolvers<void>()]));
        kube.before = async (_plural, key) => {
            await answers.get(key)?.promise;
            if (key === "default/net1") answers.get("default/net2")?.resolve();
            if (key === "default/net2") answers.get("other/net3")?.resolve();
        };
        expect(shown(await plan())).toEqual(["data0 other/net3 300", "eth1 default/net2 200", "eth2 default/net1 100"]);
        expect(recorded).toEqual([]);
    });

    it("may be one network several times, which is read once", async () => {
        kube.addPod("net2,net2@b,net2");
        expect(shown(await plan())).toEqual(["eth1 default/net2 200", "b default/net2 200", "eth2 default/net2 200"]);
        expect(kube.requests).toEqual(["pods default/web", "network-attachment-definitions default/net2"]);
    });

    it("are found without a UID too, which not every runtime sends", async () => {
        kube.addPod("net2");
        expect(shown(await plan({ podUid: "" }))).toEqual(["eth1 default/net2 200"]);
    });

    it("are ours, after one event that names those of other plugins with their types", async () => {
        kube.addPod("macnet,net2,chain");
        expect(shown(await plan())).toEqual(["eth2 default/net2 200"]);
        expect(eventTexts()).toEqual([
            expect.stringMatching(
                /^Warning NetworksOfOthers .* default\/macnet \(type "macvlan"\), default\/chain \(type "bridge"\); install a meta plugin such as Multus/,
            ),
        ]);
        expect(recorded[0]?.regarding).toEqual({
            apiVersion: "v1",
            kind: "Pod",
            namespace: "default",
            name: "web",
            uid: "uid",
        });
        expect(log.records).toMatchObject([{ level: "warn", pod: "default/web", reason: "NetworksOfOthers" }]);
    });

    it("are attached also if keys of the annotation have no effect, which one event names", async () => {
        kube.addPod(
            JSON.stringify([
                { name: "net1", bandwidth: {}, portMappings: [] },
                { name: "net2", gateway: "x" },
            ]),
        );
        expect(shown(await plan())).toEqual(["eth1 default/net1 100", "eth2 default/net2 200"]);
        expect(eventTexts()).toEqual([
            "Warning NetworkKeysIgnored keys in the annotation k8s.v1.cni.cncf.io/networks have no effect: net1: bandwidth, net1: portMappings, net2: gateway",
        ]);
    });

    it("are attached also if keys of their configurations have no effect, which one event names", async () => {
        const ipam = { ...pooled.ipam, range: "10.2.0.0/24" };
        kube.addNetwork("default/odd", vlanConfig({ vlanId: 7, disableCheck: true, ipam }));
        kube.addPod("odd,net2,odd");
        expect(await plan()).toHaveLength(3);
        expect(eventTexts()).toEqual([
            "Warning NetworkKeysIgnored keys without effect in spec.config of NetworkAttachmentDefinitions: network default/odd: vlanId, ipam.range; next: correct or remove them",
        ]);
    });

    it("may have routes whose destinations have host bits", async () => {
        const routes = [{ dst: "10.20.0.5/16" }, { dst: "3ffe:ffff:0:01ff::1/64" }, { dst: "10.0.0.1/0" }];
        kube.addNetwork("default/routed", vlanConfig({ ipam: { ...pooled.ipam, routes } }));
        kube.addPod("routed");
        expect((await plan())[0]?.routes).toEqual(routes);
        expect(recorded).toEqual([]);
    });

    it("may have a default route of each family, also in several networks", async () => {
        const routed = (dst: string) => vlanConfig({ ipam: { ...pooled.ipam, routes: [{ dst }] } });
        kube.addNetwork("default/four", routed("0.0.0.0/0"));
        kube.addNetwork("default/six", routed("::/0"));
        kube.addPod("four,six");
        expect(await plan()).toHaveLength(2);
    });

    it("claim from the IPPools what these contain, once they are known", async () => {
        let isKnown = false;
        synced = async () => {
            await settle();
            isKnown = true;
        };
        const poolOf: typeof pools.poolOf = (...args) => (isKnown ? pools.poolOf(...args) : undefined);
        kube.addPod(JSON.stringify([{ name: "net1", ips: ["10.2.0.7"] }]));
        const networks = make({ pools: { ...pools, poolOf } });
        const [planned] = await networks.plan(request, new AbortController().signal);
        expect(planned?.addresses?.demands).toEqual([{ pool: "pool1", fixed: parseIp("10.2.0.7") }]);
    });

    it("need no IPPools without IPAM, nor that these are known", async () => {
        kube.addPod("net2");
        synced = () => Promise.reject(new Error("not synced"));
        expect(await plan()).toHaveLength(1);
        const [planned] = await make({ pools: undefined }).plan(request, new AbortController().signal);
        expect(planned).toMatchObject({ network: "default/net2", mtu: 1500, addresses: undefined });
    });

    it("are judged against the bridge as it is at the time", async () => {
        kube.addPod("net2");
        const networks = make();
        const signal = new AbortController().signal;
        expect((await networks.plan(request, signal))[0]?.mtu).toBe(1500);
        bridge.mtu = 1300;
        expect((await networks.plan(request, signal))[0]?.mtu).toBe(1300);
        bridge.problem = "the bridge br1 is not made yet";
        await expect(networks.plan(request, signal)).rejects.toMatchObject({ code: "NO_BRIDGE" });
    });
});

describe("networks of kind sriov", () => {
    it("get a device each, in the order of the annotation, beside those that need none", async () => {
        for (const [name, resource] of [
            ["sriov1", "intel.com/a"],
            ["sriov2", "intel.com/b"],
        ] as const) {
            const annotations = { "k8s.v1.cni.cncf.io/resourceName": resource };
            kube.addNetwork(`default/${name}`, vlanConfig({ networkType: "sriov" }), annotations);
        }
        kube.addPod("sriov2@x,net2,sriov1");
        const asked: unknown[] = [];
        const findDevices: NetworksNeeds["findDevices"] = (pod, demands) => {
            asked.push([pod.podName, ...demands]);
            const found = demands.map(({ resourceName }) => ({
                bus: "auxiliary" as const,
                id: resourceName ?? "",
                linkName: "sf",
                linkMtu: 1400,
                mac: "02:00:00:00:00:01",
            }));
            return Promise.resolve(found);
        };
        const planned = await make({ findDevices }).plan(request, new AbortController().signal);
        expect(asked).toEqual([
            [
                "web",
                { network: "default/sriov2", ifName: "x", resourceName: "intel.com/b", deviceId: undefined },
                { network: "default/sriov1", ifName: "eth2", resourceName: "intel.com/a", deviceId: undefined },
            ],
        ]);
        expect(planned.map(({ ifName, device, mtu }) => [ifName, device?.id, mtu])).toEqual([
            ["x", "intel.com/b", 1400],
            ["eth1", undefined, 1500],
            ["eth2", "intel.com/a", 1400],
        ]);
    });

    it("are asked for by a meta plugin with the device that it names", async () => {
        const raw = { cniVersion: "1.0.0", name: "n", type: "antrea", networkType: "sriov", deviceID: "0000:af:06.0" };
        const asked = networkOfCall(parseNetworkConfig(new TextEncoder().encode(JSON.stringify(raw))), "default");
        const call: NetworkCall = { ...request, ifName: "net1", asked, mac: undefined, wanted: undefined };
        const findDevices: NetworksNeeds["findDevices"] = (_, demands) =>
            Promise.resolve(
                demands.map(({ deviceId = "" }) => ({
                    bus: "pci",
                    id: deviceId,
                    linkName: "vf",
                    linkMtu: 1500,
                    mac: "02:00:00:00:00:01",
                })),
            );
        const planned = await make({ findDevices, bridge: undefined }).planCall(call, new AbortController().signal);
        expect(planned).toMatchObject({ ifName: "net1", device: { bus: "pci", id: "0000:af:06.0" } });
    });
});

describe("a refusal is the error of the ADD and one event with the same text", () => {
    it.each<[string, string, Partial<NetworksNeeds>, string, RegExp]>([
        [
            "of the annotation",
            "net1@eth0",
            {},
            "INVALID_SELECTION",
            /^annotation k8s\.v1\.cni\.cncf\.io\/networks, item 1/,
        ],
        ["of a network that is not there", "net1,none", {}, "NO_NETWORK", /^network default\/none: .*; next: /],
        [
            "of a network that breaks a rule",
            "bad",
            {},
            "INVALID_NETWORK",
            /^network default\/bad: vlan: 5000 .*; next: /,
        ],
        [
            "of a network of kind sriov without devices",
            "sriov",
            {
                findDevices: () =>
                    Promise.reject(new NetworksError("NO_DEVICE", "network default/sriov: none; next: one")),
            },
            "NO_DEVICE",
            /^network default\/sriov: none; next: one/,
        ],
        ["of an MTU", "big", {}, "BAD_MTU", /^network default\/big: mtu: 9000 .*; next: /],
        [
            "without a bridge",
            "net1",
            { bridge: undefined },
            "NO_BRIDGE",
            /^network default\/net1: .*ovsBridges.*; next: /,
        ],
        [
            "without IPPools",
            "net1",
            { pools: undefined },
            "NO_POOLS",
            /^network default\/net1: ipam\.ippools: .*; next: /,
        ],
        [
            "of a requested address",
            '[{"name": "net1", "ips": ["10.9.0.7"]}]',
            {},
            "INVALID_NETWORK",
            /^network default\/net1: ips: 10\.9\.0\.7 has no prefix length, .*; next: /,
        ],
        [
            "of requested addresses without IPAM",
            '[{"name": "net2", "ips": ["10.9.0.7/24"]}]',
            {},
            "BAD_REQUEST",
            /^network default\/net2: ips: 10\.9\.0\.7 .*; next: /,
        ],
        [
            "of a default route where another network has one",
            "def,net2,six,again",
            {},
            "BAD_REQUEST",
            /^network default\/again: a second default route of IPv4, after that of network default\/def; next: keep one /,
        ],
        [
            "of a default route where the annotation has one",
            '[{"name": "net1", "default-route": ["10.2.0.1"]}, {"name": "def"}]',
            {},
            "BAD_REQUEST",
            /^network default\/def: a second default route of IPv4, after that of network default\/net1; next: /,
        ],
        [
            "of two default routes of one network",
            "two",
            {},
            "INVALID_NETWORK",
            /^network default\/two: ipam\.routes\[1\]\.dst: "0\.0\.0\.0\/0" is a second default route of IPv4, after ipam\.routes\[0\]; next: /,
        ],
    ])("%s", async (_, annotation, needs, code, text) => {
        const routed = (...routes: readonly object[]) => vlanConfig({ ipam: { ...pooled.ipam, routes } });
        kube.addNetwork("default/def", routed({ dst: "0.0.0.0/0" }));
        kube.addNetwork("default/six", routed({ dst: "::/0", gw: "fd00::1" }));
        kube.addNetwork("default/again", routed({ dst: "10.0.0.1/0" }));
        kube.addNetwork("default/two", routed({ dst: "0.0.0.0/0" }, { dst: "0.0.0.0/0", gw: "10.2.0.9" }));
        kube.addNetwork("default/bad", vlanConfig({ vlan: 5000 }));
        kube.addNetwork("default/big", vlanConfig({ mtu: 9000 }));
        kube.addNetwork("default/sriov", vlanConfig({ networkType: "sriov" }), {
            "k8s.v1.cni.cncf.io/resourceName": "intel.com/sriov",
        });
        kube.addPod(annotation);
        const error: unknown = await make(needs)
            .plan(request, new AbortController().signal)
            .catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code, message: expect.stringMatching(text) });
        expect(recorded.map(({ type, reason, note }) => [type, reason, note])).toEqual([
            ["Warning", "NetworksNotAttached", messageOf(error)],
        ]);
        expect(messageOf(error).match(/next: /g)).toHaveLength(1);
        expect(await failures(code)).toBe(1);
    });

    it("when a network cannot be read", async () => {
        kube.addPod("net1");
        kube.before = (plural) =>
            plural === "pods" ? Promise.resolve() : Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
        await expect(plan()).rejects.toMatchObject({ code: "API_AWAY" });
        expect(eventTexts()).toEqual([
            expect.stringMatching(/NetworksNotAttached network default\/net1 .*no connection/),
        ]);
    });

    it("when the IPPools are not known in time", async () => {
        kube.addPod("net1,net2,net1");
        const cause = new KubeError("CONNECTION_FAILED", "no connection");
        const text = "reading the IPPools did not end in time; is the API server up? no connection";
        synced = () => Promise.reject(new AntreaError("API_AWAY", "timeout", text, { cause }));
        const message = `network default/net1: the IPPools are not known yet (${text}); next: wait, as the kubelet tries again; if it stays so, see whether the API server is up`;
        await expect(plan()).rejects.toMatchObject({ code: "API_AWAY", fault: "timeout", message });
        expect(eventTexts()).toEqual([`Warning NetworksNotAttached ${message}`]);
        expect(await failures("API_AWAY")).toBe(1);
    });

    it("but after what is reported of other plugins", async () => {
        bridge.problem = "none";
        kube.addPod("macnet,net2");
        await expect(plan()).rejects.toMatchObject({ code: "NO_BRIDGE" });
        expect(recorded.map(({ reason }) => reason)).toEqual(["NetworksOfOthers", "NetworksNotAttached"]);
    });

    it("but an error only when the Pod itself cannot be read: then nobody knows whether it requests networks", async () => {
        kube.addPod("net1");
        kube.before = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
        const error: unknown = await plan().catch((cause: unknown) => cause);
        expect(error).toMatchObject({ code: "API_AWAY" });
        expect(messageOf(error)).toMatch(
            /^the networks of Pod default\/web cannot be read \(no connection\); next: wait, /,
        );
        expect(recorded).toEqual([]);
    });

    it.each(["pods", "network-attachment-definitions"])(
        "but only the signal's reason when the caller leaves while %s are read",
        async (plural) => {
            kube.addPod("net1");
            const stop = new AbortController();
            const reason = new DOMException("the caller left", "AbortError");
            kube.before = (asked) => {
                if (asked !== plural) return Promise.resolve();
                stop.abort(reason);
                return plural === "pods" ? Promise.reject(new KubeError("ABORTED", "aborted")) : Promise.resolve();
            };
            await expect(plan({}, stop.signal)).rejects.toBe(reason);
            expect(recorded).toEqual([]);
        },
    );

    it("but only the signal's reason when the caller leaves while the IPPools are not known", async () => {
        kube.addPod("net1");
        const stop = new AbortController();
        synced = () => {
            queueMicrotask(() => stop.abort(new DOMException("the caller left", "AbortError")));
            return new Promise(() => undefined);
        };
        await expect(plan({}, stop.signal)).rejects.toMatchObject({ message: expect.stringMatching(/left|abort/i) });
        expect(recorded).toEqual([]);
    });
});

describe("a network that a meta plugin asks for", () => {
    function callOf(keys: Readonly<Record<string, unknown>>, change: Partial<NetworkCall> = {}): NetworkCall {
        const asked = networkOfCall(
            parseNetworkConfig(JSON.stringify(vlanConfig({ name: "net1", ...keys }))),
            "default",
        );
        return { ...request, ifName: "net1", asked, mac: undefined, wanted: undefined, ...change };
    }
    const planCall = (call: NetworkCall, signal = new AbortController().signal): Promise<PlannedNetwork> =>
        make().planCall(call, signal);

    it("is judged as the call carries it, whoever is called first and whatever is in the annotation", async () => {
        writeFileSync(join(folder, "00-multus.conf"), JSON.stringify({ type: "multus-shim" }));
        const planned = await planCall(callOf({ vlan: 7, mtu: 1400, ...pooled }, { mac: "02:00:00:00:00:07" }));
        expect(planned).toMatchObject({
            ifName: "net1",
            network: "default/net1",
            vlan: 7,
            mtu: 1400,
            mac: "02:00:00:00:00:07",
        });
        expect(planned.addresses?.demands).toEqual([{ pool: "pool1", fixed: undefined }]);
        expect([kube.requests, recorded]).toEqual([[], []]);
    });

    it("is made also if keys of its configuration have no effect, which one event names", async () => {
        kube.addPod(undefined);
        expect(await planCall(callOf({ vlanId: 7 }))).toMatchObject({ ifName: "net1" });
        await settle();
        expect(eventTexts()).toEqual([
            expect.stringMatching(/NetworkKeysIgnored .* network default\/net1: vlanId; next: /),
        ]);
        kube.before = () => Promise.reject(new Error("no connection"));
        expect(await planCall(callOf({ vlanId: 7 }))).toMatchObject({ ifName: "net1" });
        await settle();
        expect(recorded).toHaveLength(1);
    });

    it("gets the requested addresses in place of those of the network", async () => {
        const ip = parseIp("10.9.0.7");
        const wanted = {
            addresses: [{ ip, prefixLength: 24, gateway: undefined }],
            source: "runtimeConfig.ips",
        } as const;
        const ipam = { type: "antrea", addresses: [{ address: "10.9.0.5/24" }] };
        const planned = await planCall(callOf({ ipam }, { wanted }));
        expect(planned.addresses?.order).toEqual([{ ip, prefixLength: 24, gateway: undefined }]);
    });

    it("that is refused is an event on the Pod with the text of the error, if the Pod can be read", async () => {
        kube.addPod(undefined);
        const error: unknown = await planCall(callOf({ mtu: 9000 })).catch((cause: unknown) => cause);
        expect(error).toMatchObject({
            code: "BAD_MTU",
            message: expect.stringMatching(/^network default\/net1: mtu: 9000 /),
        });
        expect(eventTexts()).toEqual([`Warning NetworksNotAttached ${messageOf(error)}`]);
        expect(await failures("BAD_MTU")).toBe(1);
    });

    it.each<[string, () => void, Partial<NetworkCall>]>([
        ["is gone", () => undefined, {}],
        ["has another UID", () => kube.addPod(undefined), { podUid: "other" }],
        ["cannot be read", () => (kube.before = () => Promise.reject(new Error("no connection"))), {}],
    ])("that is refused is the error of the call alone if the Pod %s", async (_, prepare, change) => {
        prepare();
        await expect(planCall(callOf({ mtu: 9000 }, change))).rejects.toMatchObject({ code: "BAD_MTU" });
        expect(recorded).toEqual([]);
    });

    it("that could not be made is counted, and an event unless the error has one of its own", async () => {
        kube.addPod(undefined);
        const networks = make();
        const error = new AntreaError("PORT_REFUSED", "environment", "OVS could not add the port");
        await networks.failed(request, error);
        await networks.failed(request, error, { hasEvent: true });
        expect(eventTexts()).toEqual(["Warning NetworksNotAttached OVS could not add the port"]);
        expect(await failures("PORT_REFUSED")).toBe(2);
    });

    it("that could not be made is the same event for each sandbox of the Pod, which the runtime makes for each attempt", async () => {
        kube.addPod(undefined);
        const networks = make();
        for (const part of ["ab12", "cd34"]) {
            const sandbox = { ...request, containerId: part.repeat(16), netns: `/var/run/netns/${part}` };
            const text = `interface net1 of container ${sandbox.containerId} vanished from ${sandbox.netns}`;
            await networks.failed(sandbox, new AntreaError("LINK_VANISHED", "environment", text));
        }
        expect(recorded[0]?.note).toBe(
            "interface net1 of the container vanished from the network namespace of the Pod",
        );
        expect(recorded[1]).toEqual(recorded[0]);
    });

    it("is no event when the caller leaves", async () => {
        kube.addPod(undefined);
        const stop = new AbortController();
        synced = () => {
            queueMicrotask(() => stop.abort());
            return new Promise(() => undefined);
        };
        await expect(planCall(callOf(pooled), stop.signal)).rejects.toThrow();
        expect([kube.requests, recorded]).toEqual([[], []]);
    });
});
