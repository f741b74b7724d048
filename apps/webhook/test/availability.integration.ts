import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipPools } from "@antrea/crd";
import { secrets, validatingWebhookConfigurations } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { type KubeAnswer } from "./support/kube-request.ts";
import { annotated, paths, podOf, poolOf, workloadOf } from "./support/objects.ts";
import { quickTimes, WebhookCluster } from "./support/webhook-cluster.ts";

let cluster: WebhookCluster;
beforeAll(async () => {
    // no call is lost if the API server has the new bundle by then: on a slow machine that takes more than a moment
    cluster = await WebhookCluster.start(2, { times: { ...quickTimes, settleMs: 4_000, overlapMs: 20_000 } });
});
afterAll(async () => {
    const complaints = cluster.complaints();
    await cluster[Symbol.asyncDispose]();
    expect(complaints).toEqual([]);
});

const range = { start: "10.1.0.10", end: "10.1.0.20", gateway: "10.1.0.1", prefixLength: 24 };
const createPool = async (name: string, dryRun = true): Promise<KubeAnswer> =>
    cluster.requests.send("POST", paths.pools, poolOf(name, range), { dryRun });

/** On a slow machine too. */
const leastCalls = 50;

/**
 * Creates pools, several at once, until the work is done and there were more than the least of calls: the webhook fails
 * closed, so each lost call is seen.
 */
async function underLoad(
    work: Promise<unknown>,
): Promise<{ readonly calls: number; readonly failed: readonly string[] }> {
    let [over, calls] = [false, 0];
    const failed: string[] = [];
    const caller = async (): Promise<void> => {
        while (!over || calls <= leastCalls) {
            const { status, message } = await createPool(`load-${calls}`);
            calls += 1;
            if (status !== 201) failed.push(`${status} ${message}`);
        }
    };
    const callers = Array.from({ length: 6 }, caller);
    try {
        await work;
    } finally {
        over = true;
    }
    await Promise.all(callers);
    return { calls, failed };
}

/** The bundle of every webhook, as a list of certificates. */
async function bundles(): Promise<readonly (readonly string[])[]> {
    const { webhooks = [] } = await cluster.api.get(validatingWebhookConfigurations, { name: "antrea" });
    return webhooks.map(({ clientConfig }) => {
        const bundle = Buffer.from(clientConfig.caBundle ?? "", "base64").toString();
        return bundle.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
    });
}

describe("the webhook under load", () => {
    it("changes its authority without one lost call", async () => {
        const [[old] = []] = await bundles();
        const rotated = (async () => {
            await cluster.api.delete(secrets, { namespace: "kube-system", name: "antrea-webhook-ca" });
            await eventually(async () => (await bundles()).every((certs) => certs.length === 2 && certs[1] === old));
            await eventually(async () => (await bundles()).every((certs) => certs.length === 1 && certs[0] !== old), {
                timeoutMs: 60_000,
            });
        })();
        const { calls, failed } = await underLoad(rotated);
        expect(failed).toEqual([]);
        expect(calls).toBeGreaterThan(leastCalls);
        for (const { log } of cluster.replicas) {
            expect(log.messages().filter((text) => text === "serving certificate rotated")).toHaveLength(2);
        }
    });

    it("replaces its replicas one by one without one lost call", async () => {
        const replaced = (async () => {
            for (const replica of cluster.replicas) {
                await cluster.add();
                await cluster.ready(3);
                await cluster.stop(replica);
            }
        })();
        const { calls, failed } = await underLoad(replaced);
        expect(failed).toEqual([]);
        expect(calls).toBeGreaterThan(leastCalls);
        expect(cluster.replicas).toHaveLength(2);
    });
});

describe("the webhook configuration", () => {
    it("gets its bundle back when an upgrade takes it away", async () => {
        const before = await bundles();
        const found = await cluster.api.get(validatingWebhookConfigurations, { name: "antrea" });
        const webhooks = (found.webhooks ?? []).map(({ clientConfig: { caBundle: _, ...rest }, ...webhook }) => ({
            ...webhook,
            clientConfig: rest,
        }));
        await cluster.api.update(validatingWebhookConfigurations, { ...found, webhooks });
        await eventually(async () => JSON.stringify(await bundles()) === JSON.stringify(before));
        await eventually(async () => (await createPool("after")).status === 201);
    });
});

describe("without any replica", () => {
    it("pools are refused, but their labels and their status are not; workloads are admitted", async () => {
        expect(await createPool("kept", false)).toMatchObject({ status: 201 });
        await Promise.all(cluster.replicas.map((replica) => cluster.stop(replica)));
        const refused = await createPool("refused");
        expect(refused.status).toBe(500);
        expect(refused.message).toContain('failed calling webhook "ippools.antrea.io"');
        expect(await cluster.requests.send("DELETE", `${paths.pools}/kept`)).toMatchObject({ status: 500 });
        const merge = { contentType: "application/merge-patch+json" };
        const patches = [
            ["", { metadata: { labels: { a: "b" } } }],
            ["/status", { status: { usage: { total: 11, used: 0, reserved: 0, free: 11 } } }],
        ] as const;
        for (const [subresource, patch] of patches) {
            const path = `${paths.pools}/kept${subresource}`;
            expect(await cluster.requests.send("PATCH", path, patch, merge)).toMatchObject({ status: 200 });
        }
        const wrong = annotated("nowhere", "nothing");
        expect(await cluster.requests.send("POST", paths.pods("default"), podOf("p", wrong))).toMatchObject({
            status: 201,
        });
        const deployment = workloadOf("Deployment", "d", wrong);
        expect(await cluster.requests.send("POST", paths.deployments("default"), deployment)).toMatchObject({
            status: 201,
        });
    });

    it("all is as before when one is back", async () => {
        await cluster.add();
        await cluster.ready(1);
        expect(await createPool("b")).toMatchObject({ status: 422 });
        expect(await cluster.requests.send("DELETE", `${paths.pools}/kept`)).toMatchObject({ status: 200 });
        expect(await cluster.api.find(ipPools, { name: "kept" })).toBeUndefined();
    });
});
