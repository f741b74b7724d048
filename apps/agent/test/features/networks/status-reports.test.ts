import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { parseIp } from "@antrea/ip";
import { KubeError, type Pod } from "@antrea/kube";
import { statusAnnotation } from "@antrea/networks";
import { StatusReports } from "../../../src/features/networks/status-reports.ts";
import type { WiredNetworks } from "../../../src/platform/pod-interfaces/index.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";
import { addressOf, networkRecord, podRecord } from "../../support/records.ts";
import { timeoutsBy } from "../../support/timeouts.ts";

/** The Pod's object, as the API server has it. */
class PodObject {
    text: string | undefined;
    uid = "uid";
    isGone = false;
    version = 1;
    readonly patches: string[] = [];
    /** Runs before a request takes effect. */
    before: (method: "find" | "patch") => Promise<void> = () => Promise.resolve();

    readonly api = {
        find: async () => {
            await this.before("find");
            if (this.isGone) return undefined;
            const annotations = this.text === undefined ? {} : { [statusAnnotation]: this.text };
            const metadata = {
                namespace: "default",
                name: "web",
                uid: this.uid,
                resourceVersion: `${this.version}`,
                annotations,
            };
            return { metadata } as unknown as Pod;
        },
        patch: async (
            _resource: unknown,
            _ref: unknown,
            { type, body }: { readonly type: string; readonly body: Pod },
            { subresource }: { readonly subresource?: string },
        ) => {
            await this.before("patch");
            const { annotations, resourceVersion } = body.metadata ?? {};
            if (resourceVersion !== `${this.version}`) throw new KubeError("CONFLICT", "the object has changed");
            this.put(annotations?.[statusAnnotation]);
            this.patches.push(`${type} ${subresource}`);
            return {};
        },
    };

    put(text: string | undefined): void {
        this.text = text;
        this.version += 1;
    }

    get statuses(): readonly Readonly<Record<string, unknown>>[] {
        return JSON.parse(this.text ?? "[]") as readonly Readonly<Record<string, unknown>>[];
    }
}

const own = podRecord({ podName: "web", podUid: "uid", network: "antrea", addresses: [addressOf("10.10.1.5/24")] });
const eth1 = networkRecord({
    podName: "web",
    podUid: "uid",
    mac: "02:00:00:00:00:01",
    addresses: [
        { ...addressOf("192.168.100.5/24"), pool: "pool1" },
        { ip: parseIp("fd64::5"), prefixLength: 64, gateway: undefined, pool: undefined },
    ],
    vlan: 100,
    mtu: 1300,
});
const wired: WiredNetworks = { own, mtu: 1400, networks: [{ record: eth1, dns: { nameservers: ["192.168.100.53"] } }] };
const ofOwn = {
    name: "antrea",
    interface: "eth0",
    ips: ["10.10.1.5"],
    mac: own.mac,
    mtu: 1400,
    default: true,
    gateway: ["10.10.1.1"],
    dns: {},
};
const ofEth1 = {
    name: "default/net1",
    interface: "eth1",
    ips: ["192.168.100.5", "fd64::5"],
    mac: "02:00:00:00:00:01",
    mtu: 1300,
    gateway: ["192.168.100.1"],
    dns: { nameservers: ["192.168.100.53"] },
};

const { signal } = new AbortController();
let pod: PodObject;
let log: LogEntry[];
let isWired: boolean;
let reports: StatusReports;

beforeEach(() => {
    [pod, log, isWired] = [new PodObject(), [], true];
    reports = new StatusReports({ api: pod.api as never, isWired: () => isWired, logger: listLogger(log) });
});

describe("the interfaces of a Pod", () => {
    it("are written into the status of its object, the own one first and as the default", async () => {
        await reports.report(wired);
        expect(pod.statuses).toEqual([ofOwn, ofEth1]);
        expect(pod.patches).toEqual(["merge status"]);
        expect([reports.isPending, log]).toEqual([false, []]);
    });

    it("are written without gateway and DNS where they have none", async () => {
        await reports.report({ ...wired, networks: [{ record: { ...eth1, addresses: [] }, dns: undefined }] });
        const { gateway: _, ...rest } = ofEth1;
        expect(pod.statuses).toEqual([ofOwn, { ...rest, ips: [], dns: {} }]);
    });

    it.each([
        [
            { bus: "pci", id: "0000:af:06.0" },
            { type: "pci", version: "1.1.0", pci: { "pci-address": "0000:af:06.0" } },
        ],
        [
            { bus: "auxiliary", id: "mlx5_core.sf.4" },
            { type: "auxiliary", version: "1.1.0", auxiliary: { "device-id": "mlx5_core.sf.4" } },
        ],
    ] as const)("are written with their device: %o", async (device, info) => {
        const record = { ...eth1, device: { ...device, linkName: "vf0", linkMtu: 1500 } };
        await reports.report({ ...wired, networks: [{ record, dns: ofEth1.dns }] });
        expect(pod.statuses).toEqual([ofOwn, { ...ofEth1, "device-info": info }]);
    });

    it("are not written again when they are there", async () => {
        await reports.report(wired);
        await reports.report(wired);
        expect([pod.patches.length, reports.isPending]).toEqual([1, false]);
    });

    it("are written beside those of others, also when these write at the same time", async () => {
        const ofOther = { name: "macnet", interface: "net7", dns: {} };
        let writes = 0;
        pod.before = (method) => {
            if (method === "patch" && (writes += 1) <= 2) pod.put(JSON.stringify([{ ...ofOther, mtu: writes }]));
            return Promise.resolve();
        };
        await reports.report(wired);
        expect(pod.statuses).toEqual([ofOwn, ofEth1, { ...ofOther, mtu: 2 }]);
        expect([reports.isPending, log]).toEqual([false, []]);
    });

    it.each<[string, () => void]>([
        ["is gone", () => (pod.isGone = true)],
        ["is another Pod of the name", () => (pod.uid = "other")],
    ])("are not written when the object %s, and not later either", async (_, prepare) => {
        prepare();
        await reports.report(wired);
        expect([pod.text, reports.isPending, log]).toEqual([undefined, false, []]);
    });
});

describe("interfaces that an earlier sandbox of the Pod had", () => {
    const eth2 = networkRecord({ ...eth1, ifName: "eth2", network: "default/net2" });
    const next = { ...own, containerId: "cd34".repeat(16), addresses: [addressOf("10.10.1.6/24")] };
    const ofNext = { ...ofOwn, ips: ["10.10.1.6"] };
    const ofOther = { name: "macnet", interface: "net7", dns: {} };

    beforeEach(async () => {
        pod.put(JSON.stringify([ofOther]));
        await reports.report({ ...wired, networks: [...wired.networks, { record: eth2, dns: undefined }] });
        expect(pod.statuses.map((one) => one["interface"])).toEqual(["eth0", "eth1", "eth2", "net7"]);
    });

    it("are not reported of one that has others, or none", async () => {
        await reports.report({ ...wired, own: next });
        expect(pod.statuses).toEqual([ofNext, ofEth1, ofOther]);
        await reports.report({ ...wired, own, networks: [] });
        expect(pod.statuses).toEqual([ofOwn, ofOther]);
        // From now on it is a Pod without networks.
        const { patches } = pod;
        await reports.report({ ...wired, own: next, networks: [] });
        expect([pod.statuses, patches.length]).toEqual([[ofOwn, ofOther], 3]);
    });

    it("are dropped by a later report too if one between could not be written", async () => {
        pod.before = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
        await reports.report({ ...wired, own: next });
        pod.before = () => Promise.resolve();
        await reports.report({ ...wired, networks: [] });
        expect(pod.statuses).toEqual([ofOwn, ofOther]);
    });

    it("stay if another has changed them, and in a Pod whose UID is not known", async () => {
        const changed = { ...ofEth1, mtu: 1200 };
        pod.put(JSON.stringify([ofOwn, changed]));
        await reports.report({ ...wired, own: next, networks: [] });
        expect(pod.statuses).toEqual([ofNext, changed]);
        await reports.report({ ...wired, own: { ...own, podUid: "" } });
        const before = pod.text;
        await reports.report({ ...wired, own: { ...own, podUid: "" }, networks: [] });
        expect(pod.text).toBe(before);
    });

    it("are not remembered of more Pods than a Node has", async () => {
        for (let at = 0; at < 1_000; at += 1) {
            pod.uid = `uid-${at}`;
            await reports.report({ ...wired, own: { ...own, podUid: pod.uid, containerId: `${at}` } });
        }
        pod.uid = "uid";
        const before = pod.text;
        await reports.report({ ...wired, own: next, networks: [] });
        expect(pod.text).toBe(before);
    });
});

describe("interfaces that an earlier start of the agent made", () => {
    const eth2 = networkRecord({ ...eth1, ifName: "eth2", network: "default/net2" });
    const unread = [eth2, eth1].map((record) => ({ record, dns: undefined }));

    it("are written if the annotation lacks them, beside what it has", async () => {
        reports.reportLater({ ...wired, networks: unread });
        expect([reports.isPending, pod.patches]).toEqual([true, []]);
        const ofOther = { name: "macnet", interface: "net7", dns: {} };
        pod.put(JSON.stringify([ofOther, { ...ofOwn, ips: ["10.10.1.9"] }, ofEth1]));
        await reports.retry(signal);
        const ofEth2 = { ...ofEth1, name: "default/net2", interface: "eth2", dns: {} };
        // With DNS settings where they are known.
        expect(pod.statuses).toEqual([ofOwn, ofEth2, ofEth1, ofOther]);
        expect(reports.isPending).toBe(false);
    });

    it("are not written again, in whatever order they are, and go with the next sandbox", async () => {
        await reports.report({ ...wired, networks: [...wired.networks, { record: eth2, dns: undefined }] });
        const later = new StatusReports({ api: pod.api as never, isWired: () => true, logger: listLogger(log) });
        later.reportLater({ ...wired, networks: unread });
        await later.retry(signal);
        expect([later.isPending, pod.patches.length]).toEqual([false, 1]);
        await later.report({ ...wired, own: { ...own, containerId: "cd34".repeat(16) }, networks: [] });
        expect(pod.statuses).toEqual([ofOwn]);
    });

    it("give way to the report of an ADD", async () => {
        pod.before = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection"));
        await reports.report(wired);
        reports.reportLater({ ...wired, mtu: 1300, networks: unread });
        pod.before = () => Promise.resolve();
        await reports.retry(signal);
        expect(pod.statuses).toEqual([ofOwn, ofEth1]);
    });
});

describe("what cannot be written in time", () => {
    const refuse = (): void =>
        void (pod.before = () => Promise.reject(new KubeError("CONNECTION_FAILED", "no connection")));

    it("delays no answer, is logged, and is written by a later try", async () => {
        refuse();
        await reports.report(wired);
        expect(reports.isPending).toBe(true);
        expect(log).toMatchObject([{ level: "warn", fields: { pod: "default/web", reason: "no connection" } }]);
        await expect(reports.retry(signal)).rejects.toThrow("no connection");
        pod.before = () => Promise.resolve();
        await reports.retry(signal);
        expect([pod.statuses, reports.isPending]).toEqual([[ofOwn, ofEth1], false]);
        const before = pod.patches.length;
        await reports.retry(signal);
        expect(pod.patches).toHaveLength(before);
    });

    it("delays the answer by one second at most", async () => {
        const clock = new ManualClock();
        using _ = timeoutsBy(clock);
        pod.api.find = ((_resource: unknown, _ref: unknown, { signal: limit }: { readonly signal: AbortSignal }) =>
            new Promise((_resolve, reject) =>
                limit.addEventListener("abort", () => reject(limit.reason as Error)),
            )) as never;
        let isOver = false;
        const report = reports.report(wired).then(() => (isOver = true));
        await clock.advance(999);
        expect(isOver).toBe(false);
        await clock.advance(1);
        await report;
        expect(reports.isPending).toBe(true);
    });

    it("is given up after five conflicts for now", async () => {
        let writes = 0;
        pod.before = (method) => {
            if (method === "patch") pod.put(JSON.stringify([{ name: "other", interface: "x", mtu: (writes += 1) }]));
            return Promise.resolve();
        };
        await reports.report(wired);
        expect([writes, reports.isPending, log.length]).toEqual([5, true, 1]);
    });

    it("is forgotten when the interface is gone", async () => {
        refuse();
        await reports.report(wired);
        isWired = false;
        await reports.retry(signal);
        expect([reports.isPending, pod.text]).toEqual([false, undefined]);
    });

    it("is replaced by what a later ADD of the container reports", async () => {
        refuse();
        await reports.report({ ...wired, mtu: 1300 });
        await reports.report(wired);
        pod.before = () => Promise.resolve();
        await reports.retry(signal);
        expect([pod.statuses, pod.patches.length]).toEqual([[ofOwn, ofEth1], 1]);
    });

    it("is not forgotten because an earlier report is written after it", async () => {
        const answer = Promise.withResolvers<void>();
        pod.before = () => answer.promise;
        const earlier = reports.report({ ...wired, mtu: 1300 });
        refuse();
        await reports.report(wired);
        pod.before = () => Promise.resolve();
        answer.resolve();
        await earlier;
        expect([pod.statuses, reports.isPending]).toEqual([[{ ...ofOwn, mtu: 1300 }, ofEth1], true]);
        await reports.retry(signal);
        expect(pod.statuses).toEqual([ofOwn, ofEth1]);
    });

    it("does not keep others from being written", async () => {
        refuse();
        const other = { ...wired, own: { ...own, containerId: "cd34".repeat(16) } };
        await reports.report(wired);
        await reports.report(other);
        let finds = 0;
        pod.before = (method) => {
            const isFirst = method === "find" && (finds += 1) === 1;
            return isFirst ? Promise.reject(new KubeError("CONNECTION_FAILED", "no connection")) : Promise.resolve();
        };
        await expect(reports.retry(signal)).rejects.toThrow("no connection");
        expect(pod.patches).toHaveLength(1);
        await reports.retry(signal);
        expect(reports.isPending).toBe(false);
    });

    it("stays for later when the try is aborted", async () => {
        refuse();
        await reports.report(wired);
        await expect(reports.retry(AbortSignal.abort(new Error("the end")))).rejects.toThrow("the end");
        expect(reports.isPending).toBe(true);
    });
});
