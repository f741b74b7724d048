import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp, type IpAddress } from "@antrea/ip";
import { KubeError, pods, type EventInput, type Pod } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
import { IsolatedPods } from "../../../src/features/ip-pools/isolated-pods.ts";
import { FakeApi } from "./support/fake-api.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { type SubnetWired } from "../../../src/features/ip-pools/subnet-allocations.ts";

const { signal } = new AbortController();

describe("isolated Pods while IPPools are switched off", () => {
    let api: FakeApi;
    let events: EventInput[];
    let log: LogEntry[];
    let interfaces: SubnetWired[];
    let held: { readonly ip: IpAddress; readonly node: string }[];
    let requests: number;
    let metrics: Metrics;
    let isolated: IsolatedPods;

    function wired(podName: string, o: Partial<SubnetWired> = {}): SubnetWired {
        const names = { containerId: `c-${podName}`, ifName: "eth0", podNamespace: "default", podName };
        return { ...names, podUid: `uid-${podName}`, addresses: [parseIp("10.2.0.9")], ...o };
    }

    /** As it is rebuilt from its link alone. */
    function unnamed(podUid: string): SubnetWired {
        return wired("", { containerId: `c-${podUid}`, podNamespace: "", podUid });
    }

    function put(pod: Pod): void {
        api.put(pods, pod);
    }

    function addPod(name: string, uid = `uid-${name}`, hash?: string): void {
        const annotations = { "kubernetes.io/config.hash": hash ?? "", "kubernetes.io/config.mirror": hash ?? "" };
        const metadata = { namespace: "default", name, uid, ...(hash !== undefined && { annotations }) };
        put({ metadata, spec: { nodeName: "a", containers: [] } });
    }

    beforeEach(() => {
        [api, events, log, interfaces, held, requests] = [new FakeApi(), [], [], [], [], 0];
        metrics = new Metrics({ processMetrics: false });
        const heldElsewhere = (): typeof held => {
            requests += 1;
            return held;
        };
        isolated = new IsolatedPods(
            {
                api,
                metrics,
                holders: { heldElsewhere },
                logger: listLogger(log),
                events: { record: (event: EventInput) => void events.push(event) },
                interfaces: () => interfaces,
            },
            { nodeName: "a" },
        );
    });

    it("are reported once, with the reason and the next step, on the Pod and in the log", async () => {
        addPod("p1");
        interfaces = [wired("p1", { addresses: [parseIp("10.2.0.9"), parseIp("fd02::9")] })];
        await isolated.check(signal);
        await isolated.check(signal);
        const note = expect.stringMatching(
            /has no traffic.*addresses 10\.2\.0\.9 and fd02::9.*AntreaIPAM is off.*Delete the Pod/,
        ) as unknown;
        expect(events).toEqual([
            {
                regarding: expect.objectContaining({ kind: "Pod", name: "p1", uid: "uid-p1" }),
                type: "Warning",
                reason: "PodIsolated",
                action: "ReportIsolation",
                note,
            },
        ]);
        expect(log).toMatchObject([
            { level: "warn", fields: { pod: "default/p1", container: "c-p1", interface: "eth0", reason: note } },
        ]);
    });

    it("cost nothing while there are none", async () => {
        await isolated.check(signal);
        expect([api.requests, log]).toEqual([[], []]);
    });

    it("cost one check through the Nodes for each of them", async () => {
        interfaces = [wired("p1"), wired("p2")];
        held = [{ ip: parseIp("10.2.0.9"), node: "b" }];
        for (const name of ["p1", "p2"]) addPod(name);
        await isolated.check(signal);
        expect([events.length, log.length, requests]).toEqual([2, 2, 2]);
    });

    it("are in the log although the API server does not answer, and get their event later", async () => {
        addPod("p1");
        interfaces = [wired("p1")];
        api.fault = () => ({ refuse: new KubeError("TIMEOUT", "no answer") });
        await expect(isolated.check(signal)).rejects.toMatchObject({ code: "TIMEOUT" });
        expect([log.length, events.length]).toEqual([1, 0]);
        api.fault = () => undefined;
        await isolated.check(signal);
        expect([log.length, events.length]).toEqual([1, 1]);
    });

    it("are reported with the Node that has the podCIDR of their address, and anew when it is another Node", async () => {
        addPod("p1");
        interfaces = [wired("p1")];
        held = [{ ip: parseIp("10.2.0.9"), node: "b" }];
        await isolated.check(signal);
        await isolated.check(signal);
        held = [{ ip: parseIp("10.2.0.9"), node: "c" }];
        await isolated.check(signal);
        expect(events.map(({ reason, action }) => [reason, action])).toEqual([
            ["AddressHeldElsewhere", "Isolate"],
            ["AddressHeldElsewhere", "Isolate"],
        ]);
        expect(events.map(({ note }) => note)).toEqual([
            expect.stringMatching(/^address 10\.2\.0\.9 of this Pod .* Node b has it now/),
            expect.stringMatching(/^address 10\.2\.0\.9 of this Pod .* Node c has it now/),
        ]);
        expect(log).toHaveLength(2);
    });

    it("are found by their UID among the Pods of the Node when no name is known, also static ones, by one list a check", async () => {
        addPod("p1");
        addPod("static-a", "uid-mirror", "hash");
        put({ metadata: { namespace: "default", name: "p3", uid: "uid-p3" }, spec: { nodeName: "b", containers: [] } });
        interfaces = ["uid-p1", "hash", "uid-p3", ""].map(unnamed);
        await isolated.check(signal);
        await isolated.check(signal);
        expect(events.map(({ reason, regarding }) => [reason, regarding.name, regarding.uid])).toEqual([
            ["PodIsolated", "p1", "uid-p1"],
            ["PodIsolated", "static-a", "uid-mirror"],
        ]);
        expect(events.map(({ note }) => note)).toEqual([
            expect.stringContaining("Delete the Pod to give it another address, or install"),
            expect.stringContaining("Move the manifest of this static Pod out of its directory and back to give it"),
        ]);
        expect(api.requests).toHaveLength(2);
        interfaces = [unnamed("uid-p1"), unnamed("")];
        await isolated.check(signal);
        expect(api.requests).toHaveLength(2);
    });

    it("have an event that names the manifest when they are static, also when another Node has their address", async () => {
        addPod("static-a", "uid-mirror", "hash");
        interfaces = [wired("static-a", { podUid: "hash" })];
        held = [{ ip: parseIp("10.2.0.9"), node: "b" }];
        await isolated.check(signal);
        const note: unknown = expect.stringMatching(/has it now.* Move the manifest of this static Pod .* address$/);
        expect([events, log]).toMatchObject([[{ note }], [{ fields: { reason: note } }]]);
    });

    it("are in the log by their UID when no name is known, and get their event once their Pod is found", async () => {
        interfaces = [unnamed("uid-p1")];
        api.fault = () => ({ refuse: new KubeError("TIMEOUT", "no answer") });
        await expect(isolated.check(signal)).rejects.toMatchObject({ code: "TIMEOUT" });
        api.fault = () => undefined;
        await isolated.check(signal);
        expect(events).toEqual([]);
        addPod("p1");
        await isolated.check(signal);
        expect(events).toMatchObject([{ reason: "PodIsolated", regarding: { namespace: "default", name: "p1" } }]);
        expect(log).toMatchObject([{ level: "warn", fields: { podUid: "uid-p1", container: "c-uid-p1" } }]);
        expect(log[0]?.fields).not.toHaveProperty("pod");
    });

    it("are counted in the metric that counts them while IPPools are switched on", async () => {
        interfaces = [wired("p1"), unnamed("")];
        expect(await metrics.text()).toContain("\nantrea_agent_ipam_isolated_interfaces 2\n");
    });

    it("give no event to another Pod of the name, nor without a name, and are reported anew when they come again", async () => {
        addPod("p1", "uid-next");
        interfaces = [wired("p1"), unnamed("")];
        await isolated.check(signal);
        expect([log.length, events]).toEqual([2, []]);
        addPod("p2");
        interfaces = [wired("p2")];
        await isolated.check(signal);
        interfaces = [];
        await isolated.check(signal);
        interfaces = [wired("p2")];
        await isolated.check(signal);
        expect([log.length, events.length]).toEqual([4, 2]);
    });
});
