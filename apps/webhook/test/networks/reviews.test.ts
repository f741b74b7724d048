import { afterEach, describe, expect, it } from "@jest/globals";
import { ipPools, type IpPool } from "@antrea/crd";
import { networkAttachmentDefinitions, type ApiClient } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { MemoryLog } from "@antrea/runtime/testing";
import { decodeReview, type Decision } from "../../src/review/index.ts";
import { composeReviews, type Reviews } from "../../src/reviews.ts";
import { FakeApi } from "../support/fake-api.ts";
import { annotated, networkOf, podOf, poolOf, requesting, workloadOf, type RangeFields } from "../support/objects.ts";
import { reviewOf } from "../support/review.ts";

const stop = new AbortController();
const started: Reviews[] = [];
afterEach(async () => {
    for (const { cluster } of started.splice(0)) await cluster.part.stop?.();
});

class Webhook {
    readonly fake = new FakeApi();
    readonly #reviews: Reviews;

    constructor(gates: { readonly poolsOn: boolean; readonly networksOn: boolean }) {
        const api = this.fake.api as ApiClient;
        this.#reviews = composeReviews({ api, logger: new MemoryLog().logger, clusterCidrs: [], ...gates });
    }

    async start(): Promise<this> {
        started.push(this.#reviews);
        await this.#reviews.cluster.part.start?.(stop.signal);
        await eventually(() => this.#reviews.cluster.hasSynced);
        return this;
    }

    async ask(webhook: string, kind: string, object: object, oldObject?: object): Promise<Decision> {
        const body = reviewOf({
            kind: { group: "", version: "v1", kind },
            resource: { group: "", version: "v1", resource: `${kind.toLowerCase()}s` },
            operation: oldObject === undefined ? "CREATE" : "UPDATE",
            namespace: "default",
            name: "one",
            object,
            oldObject,
        });
        const route = this.#reviews.routes.find((one) => one.webhook === webhook)!;
        return route.review(decodeReview(body), stop.signal);
    }
}

const wrong = requesting("net1@eth0");
const template = { metadata: { annotations: wrong }, spec: { containers: [] } };
const text = (path: string): unknown => ({
    reason: "Invalid",
    message: expect.stringMatching(
        new RegExp(`^${path}: annotation k8s\\.v1\\.cni\\.cncf\\.io/networks, item 1\\.interface: "eth0" .*; next: `),
    ),
});

describe("with the gate SecondaryNetwork, wrong requests for networks are refused", () => {
    it.each<[string, object, string]>([
        ["Pod", podOf("p", wrong), "metadata"],
        ["Deployment", workloadOf("Deployment", "d", wrong), "spec.template.metadata"],
        ["StatefulSet", workloadOf("StatefulSet", "d", wrong), "spec.template.metadata"],
        ["DaemonSet", { spec: { template } }, "spec.template.metadata"],
        ["ReplicaSet", { spec: { template } }, "spec.template.metadata"],
        ["Job", { spec: { template } }, "spec.template.metadata"],
        ["CronJob", { spec: { jobTemplate: { spec: { template } } } }, "spec.jobTemplate.spec.template.metadata"],
    ])("of a %s, without IPPools and before anything is known", async (kind, object, path) => {
        const webhook = new Webhook({ poolsOn: false, networksOn: true });
        expect(await webhook.ask("workloads", kind, object)).toEqual({ refused: text(path), warnings: [] });
    });

    it("of a template that changes, not of one that was there", async () => {
        const webhook = new Webhook({ poolsOn: false, networksOn: true });
        const before = workloadOf("Deployment", "d", requesting("net1"));
        const after = workloadOf("Deployment", "d", wrong);
        expect((await webhook.ask("workloads", "Deployment", after, before)).refused).toBeDefined();
        const scaled = workloadOf("Deployment", "d", wrong, { replicas: 5 });
        expect(await webhook.ask("workloads", "Deployment", scaled, after)).toEqual({ warnings: [] });
    });

    it("together with wrong annotations of IPPools", async () => {
        const webhook = await new Webhook({ poolsOn: true, networksOn: true }).start();
        const both = podOf("p", { ...annotated("nowhere"), ...wrong });
        const { refused } = await webhook.ask("workloads", "Pod", both);
        expect(refused?.message).toMatch(/"nowhere": there is no IPPool.*; metadata: annotation .*"eth0"/);
        const good = podOf("p", requesting("net1"));
        expect(await webhook.ask("workloads", "Pod", good)).toEqual({ warnings: [] });
    });

    it("and nothing else has them", async () => {
        const webhook = new Webhook({ poolsOn: false, networksOn: true });
        for (const kind of ["Namespace", "Scale", "Service"]) {
            expect(await webhook.ask("workloads", kind, podOf("p", wrong))).toEqual({ warnings: [] });
        }
    });
});

describe("without the gate SecondaryNetwork", () => {
    it("requests for networks are left to other plugins, whatever they are", async () => {
        const webhook = await new Webhook({ poolsOn: true, networksOn: false }).start();
        expect(await webhook.ask("workloads", "Pod", podOf("p", wrong))).toEqual({ warnings: [] });
        const off = new Webhook({ poolsOn: false, networksOn: false });
        expect(await off.ask("workloads", "Pod", podOf("p", wrong))).toEqual({ warnings: [] });
    });

    it("networks are reviewed all the same, once the pools are known", async () => {
        const webhook = new Webhook({ poolsOn: false, networksOn: false });
        const config = { cniVersion: "0.3.0", type: "antrea", networkType: "vlan", vlan: 5000 };
        const ask = async (): Promise<Decision> =>
            webhook.ask("networks", "NetworkAttachmentDefinition", networkOf("net1", config));
        await expect(ask()).rejects.toMatchObject({ code: "NOT_READY" });
        await webhook.start();
        expect(await ask()).toEqual({
            refused: { reason: "Invalid", message: expect.stringContaining("network default/net1: vlan: 5000") },
            warnings: [],
        });
        expect(await webhook.ask("networks", "Pod", networkOf("net1", config))).toEqual({ warnings: [] });
    });
});

describe("a pool that a network names", () => {
    const range = { start: "10.1.0.10", end: "10.1.0.20", gateway: "10.1.0.1", prefixLength: 24, vlan: 5 };
    const pool = poolOf("pool1", range) as IpPool;
    const withNetwork = async (): Promise<Webhook> => {
        const webhook = new Webhook({ poolsOn: true, networksOn: false });
        webhook.fake.put(ipPools, pool);
        const config = { type: "macvlan", ipam: { type: "antrea", ippools: ["pool1"] } };
        webhook.fake.put(networkAttachmentDefinitions, networkOf("net1", config));
        return webhook.start();
    };

    it.each<[string, RangeFields, RegExp]>([
        [
            "lose addresses",
            { ...range, end: "10.1.0.19" },
            /"10\.1\.0\.20": cannot be taken out of a pool that is in use/,
        ],
        ["change its VLAN", { ...range, vlan: 6 }, /vlan "6": .*while the pool is in use/],
    ])("cannot %s", async (_name, changed, message) => {
        const webhook = await withNetwork();
        const { refused } = await webhook.ask("ippools", "IPPool", poolOf("pool1", changed), pool);
        expect(refused?.message).toMatch(message);
        expect(refused?.message).toContain("named by NetworkAttachmentDefinition default/net1");
    });

    it("can grow, for which networks are listed once, and not for what adds no address", async () => {
        const webhook = await withNetwork();
        webhook.fake.requests.length = 0;
        const grown = poolOf("pool1", { ...range, end: "10.1.0.30" });
        const relabelled = { ...pool, metadata: { ...pool.metadata, labels: { a: "b" } } };
        expect(await webhook.ask("ippools", "IPPool", relabelled, pool)).toEqual({ warnings: [] });
        expect(await webhook.ask("ippools", "IPPool", grown, pool)).toEqual({ warnings: [] });
        expect(webhook.fake.requests.filter((request) => request.includes("network"))).toHaveLength(1);
    });
});
