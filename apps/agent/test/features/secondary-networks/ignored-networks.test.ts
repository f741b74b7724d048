import { beforeEach, expect, it } from "@jest/globals";
import { pods, type ApiClient, type EventInput, type Pod } from "@antrea/kube";
import { ManualClock, settle } from "@antrea/async/testing";
import { Jobs } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { secondaryNetworks } from "../../../src/features/secondary-networks/feature.ts";
import { IgnoredNetworks } from "../../../src/features/secondary-networks/ignored-networks.ts";
import { PodInterfaces } from "../../../src/platform/pod-interfaces/index.ts";
import { podRecord } from "../../support/records.ts";

const signal = new AbortController().signal;
const networks = "k8s.v1.cni.cncf.io/networks";
const networkStatus = "k8s.v1.cni.cncf.io/network-status";

let podsOfNode: Pod[];
let recorded: EventInput[];
let log: MemoryLog;
let lists: number;
let ignored: IgnoredNetworks;
let api: Pick<ApiClient, "list">;

beforeEach(() => {
    podsOfNode = [];
    recorded = [];
    log = new MemoryLog();
    lists = 0;
    api = {
        list: (resource: unknown, options: unknown) => {
            expect(resource).toBe(pods);
            expect(options).toMatchObject({ fieldSelector: "spec.nodeName=worker" });
            lists += 1;
            return Promise.resolve({ items: podsOfNode, resourceVersion: "1" });
        },
    } as unknown as Pick<ApiClient, "list">;
    ignored = new IgnoredNetworks(
        { api, events: { record: (event) => void recorded.push(event) }, logger: log.logger },
        { nodeName: "worker" },
    );
});

interface Parts {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly hostNetwork?: boolean;
    readonly podIPs?: readonly { readonly ip: string }[];
    readonly phase?: string;
}

function podOf(name: string, parts: Parts = {}): Pod {
    const { annotations = { [networks]: "vlan100" }, hostNetwork = false, podIPs = [{ ip: "10.1.0.5" }] } = parts;
    return {
        metadata: { namespace: "default", name, uid: `uid-${name}`, annotations },
        spec: { containers: [], hostNetwork },
        status: { podIPs, phase: parts.phase ?? "Running" },
    } as unknown as Pod;
}

async function add(...added: readonly Pod[]): Promise<void> {
    podsOfNode = [...podsOfNode, ...added];
    ignored.podAdded();
    await ignored.check(signal);
}

const eventsOn = (): (string | undefined)[] => recorded.map(({ regarding }) => regarding.name);

it("each Pod with the annotation gets one event, however often it checks", async () => {
    await add(podOf("a"), podOf("b", { annotations: {} }));
    await add(podOf("c", { annotations: { [networks]: '[{"name": "vlan100"}]' } }));
    await add(podOf("d", { annotations: {} }));
    expect(eventsOn()).toEqual(["a", "c"]);
    expect(recorded[0]).toMatchObject({ type: "Warning", reason: "SecondaryNetworksIgnored" });
    expect(recorded[0]?.note).toMatch(/Antrea does not read the annotation k8s\.v1\.cni\.cncf\.io\/networks/);
    expect(recorded[0]?.note).toMatch(/If no other plugin does either .* such as Multus/);
    expect(recorded[0]?.note.length).toBeLessThan(1024);
    expect(log.records.filter(({ level }) => level === "warn")).toHaveLength(2);
});

it("a static Pod's reports what to do with its manifest, as kubelet makes a deleted mirror Pod again", async () => {
    const mirrors = { "kubernetes.io/config.hash": "hash", "kubernetes.io/config.mirror": "hash" };
    await add(podOf("a"), podOf("static", { annotations: { [networks]: "vlan100", ...mirrors } }));
    const [ordinary, ofStatic] = recorded.map(({ note }) => note);
    expect(ordinary).toMatch(/, and create the Pod again, or remove the annotation$/);
    expect(ofStatic).toMatch(
        /, and move the manifest of this static Pod out of its directory and back, or remove the annotation in the manifest$/,
    );
});

it("a Pod of the same name that comes later gets its own", async () => {
    await add(podOf("a"));
    podsOfNode = [];
    await add({ ...podOf("a"), metadata: { ...podOf("a").metadata, uid: "uid-later" } });
    expect(eventsOn()).toEqual(["a", "a"]);
});

it.each<[string, Pod]>([
    ["without the annotation", podOf("a", { annotations: {} })],
    ["that another plugin has answered", podOf("a", { annotations: { [networks]: "n", [networkStatus]: "[]" } })],
    ["that asks for nothing", podOf("a", { annotations: { [networks]: "" } })],
    ["that asks for an empty list", podOf("a", { annotations: { [networks]: " [] " } })],
    ["of the Node's network", podOf("a", { hostNetwork: true })],
    ["that has ended", podOf("a", { phase: "Succeeded" })],
    ["that has failed", podOf("a", { phase: "Failed" })],
])("no event for a Pod %s", async (_, pod) => {
    await add(pod);
    await add();
    expect([recorded, log.records]).toEqual([[], []]);
});

it("waits until the Pod has addresses: a plugin that reads the annotation has answered by then", async () => {
    await add(podOf("a", { podIPs: [] }), podOf("b", { podIPs: [] }));
    expect(recorded).toEqual([]);
    podsOfNode = [podOf("a"), podOf("b", { annotations: { [networks]: "n", [networkStatus]: "[{}]" } })];
    await ignored.check(signal);
    expect(eventsOn()).toEqual(["a"]);
    expect(lists).toBe(2);
    await ignored.check(signal);
    expect(lists).toBe(2);
});

it("checks again after a list that failed", async () => {
    const failing = new IgnoredNetworks(
        {
            api: {
                list: () => {
                    lists += 1;
                    return lists === 1 ? Promise.reject(new Error("away")) : Promise.resolve({ items: [podOf("a")] });
                },
            } as unknown as Pick<ApiClient, "list">,
            events: { record: (event) => void recorded.push(event) },
            logger: log.logger,
        },
        { nodeName: "worker" },
    );
    await expect(failing.check(signal)).rejects.toThrow("away");
    await failing.check(signal);
    expect(eventsOn()).toEqual(["a"]);
});

it("checks again the Pods that are added while it reads them", async () => {
    podsOfNode = [podOf("a")];
    const checking = ignored.check(signal);
    podsOfNode = [...podsOfNode, podOf("b")];
    ignored.podAdded();
    await checking;
    expect(eventsOn()).toEqual(["a"]);
    await ignored.check(signal);
    expect(eventsOn()).toEqual(["a", "b"]);
});

it("the job reads the Pods at its start and after an ADD has completed, not while one is in progress or a Pod ends", async () => {
    const clock = new ManualClock();
    const jobs = new Jobs({ logger: log.logger, clock });
    const podInterfaces = new PodInterfaces();
    const feature = secondaryNetworks({
        jobs,
        podInterfaces,
        logger: log.logger,
        kube: { api },
        events: { record: () => undefined },
        environment: { nodeName: "worker" },
    } as unknown as Parameters<typeof secondaryNetworks>[0]);
    await feature.start?.(signal);
    jobs.start();
    const listsAfter = async (change: () => void): Promise<number> => {
        change();
        await clock.advance(60_000);
        await settle();
        return lists;
    };
    const wired = { record: podRecord(), ofPort: 7 };
    expect([
        await listsAfter(() => undefined),
        await listsAfter(() => podInterfaces.put({ ...wired, addedAt: Infinity })),
        await listsAfter(() => podInterfaces.put({ ...wired, addedAt: 5 })),
        await listsAfter(() => podInterfaces.remove(wired.record)),
    ]).toEqual([1, 1, 2, 2]);
    await jobs.stop();
});
