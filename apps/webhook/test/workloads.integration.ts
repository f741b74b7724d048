import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, podIpsAnnotation, poolsAnnotation, type IpAllocation } from "@antrea/crd";
import { type KubeObject, namespaces, pods } from "@antrea/kube";
import { eventually } from "@antrea/kube/testing";
import { type KubeAnswer } from "./support/kube-request.ts";
import { annotated, allocationOf, namespaceOf, paths, podOf, poolOf, workloadOf } from "./support/objects.ts";
import { WebhookCluster } from "./support/webhook-cluster.ts";

let cluster: WebhookCluster;

beforeAll(async () => {
    cluster = await WebhookCluster.start(2);
    const subnet = { gateway: "10.1.0.1", prefixLength: 24 };
    const pools = [
        poolOf("four", { ...subnet, cidr: "10.1.0.0/28" }),
        poolOf("more", { ...subnet, cidr: "10.1.0.16/28" }),
        poolOf("six", { cidr: "fd00:1::/120", gateway: "fd00:1::1", prefixLength: 64 }),
    ];
    for (const pool of pools)
        expect(await cluster.requests.send("POST", paths.pools, pool)).toMatchObject({ status: 201 });
    for (const name of ["plain", "pooled"]) {
        const namespace = namespaceOf(name, name === "pooled" ? annotated("four,six") : {});
        expect(await cluster.requests.send("POST", paths.namespaces, namespace)).toMatchObject({ status: 201 });
    }
});
afterAll(async () => {
    const complaints = cluster.complaints();
    await cluster[Symbol.asyncDispose]();
    expect(complaints).toEqual([]);
});

type Kind = "Pod" | "Deployment" | "StatefulSet";

function pathFor(kind: Kind, namespace: string): string {
    if (kind === "Pod") return paths.pods(namespace);
    return kind === "Deployment" ? paths.deployments(namespace) : paths.statefulSets(namespace);
}

/** An object whose Pods have these annotations; by dry run, unless it is to stay. */
async function create(
    kind: Kind,
    annotations: Readonly<Record<string, string>>,
    o: { readonly namespace?: string; readonly name?: string; readonly stays?: boolean; readonly spec?: object } = {},
): Promise<KubeAnswer> {
    const { namespace = "plain", name = "one", stays = false, spec } = o;
    const object = kind === "Pod" ? podOf(name, annotations, spec) : workloadOf(kind, name, annotations, spec);
    return cluster.requests.send("POST", pathFor(kind, namespace), object, { dryRun: !stays });
}

const merge = { contentType: "application/merge-patch+json" };
const kinds = ["Pod", "Deployment", "StatefulSet"] as const;
const templated = ["Deployment", "StatefulSet"] as const;

describe.each(kinds)("a %s", (kind) => {
    const prefix = kind === "Pod" ? "metadata" : "spec.template.metadata";
    const [poolsPath, ipsPath] = [poolsAnnotation, podIpsAnnotation].map((name) => `${prefix}.annotations[${name}]`);

    it.each<[string, Readonly<Record<string, string>>, string, RegExp, ...(readonly string[])]>([
        ["an empty list of pools", annotated(" , "), "pools", /at least one IPPool/],
        ["a repeated pool", annotated("four, six,four"), "pools", /"four.* more than once/],
        ["addresses that are none", annotated("four", "10.1.0.x"), "ips", /10.1.0.x/],
        ["an address with leading zeros", annotated("four", "10.1.0.05"), "ips", /10.1.0.05/],
        ["two addresses of one family", annotated("four", "10.1.0.5,10.1.0.6"), "ips", /at most one IPv4/],
        [
            "an address of another pool",
            annotated("four", "10.1.0.20"),
            "ips",
            /"10.1.0.20".*"four" does not hand it out/,
        ],
        ["a gateway", annotated("four", "10.1.0.1"), "ips", /"10.1.0.1".*gateway/],
        ["the edge of a CIDR", annotated("four", "10.1.0.15"), "ips", /"10.1.0.15".*first or last/],
        ["an address without any pool", annotated(undefined, "10.1.0.5"), "ips", /needs an IPPool/],
        [
            "an address that two pools are of",
            annotated("four,more", "10.1.0.5"),
            "ips",
            /exactly one IPPool.*"four" and "more"/,
        ],
        ["an address of a family without pool", annotated("four", "fd00:1::5"), "ips", /no IPPool of four is of IPv6/],
        [
            "an address that the Namespace's pool has not",
            annotated(undefined, "10.1.0.20"),
            "ips",
            /"four" does not/,
            "pooled",
        ],
    ])("is refused for %s", async (_name, annotations, where, text, ...[namespace]) => {
        const answer = await create(kind, annotations, namespace === undefined ? {} : { namespace });
        expect(answer.status).toBe(422);
        expect(answer.message).toContain(where === "pools" ? poolsPath : ipsPath);
        expect(answer.message).toMatch(text);
    });

    it.each<[string, Readonly<Record<string, string>>, ...(readonly string[])]>([
        ["pools", annotated("four, six")],
        ["a pool and its address", annotated("four", " 10.1.0.5 ")],
        ["addresses of both families", annotated("six,four", "10.1.0.5,fd00:1::5")],
        ["addresses of the Namespace's pools", annotated(undefined, "fd00:1::5,10.1.0.5"), "pooled"],
        ["its own pool in place of the Namespace's", annotated("more", "10.1.0.20"), "pooled"],
        ["blank addresses", annotated("four", " , ")],
        ["blank addresses without a pool", annotated(undefined, "")],
    ])("is allowed with %s", async (_name, annotations, ...[namespace]) => {
        const answer = await create(kind, annotations, {
            spec: kind === "Deployment" ? { strategy: { type: "Recreate" } } : {},
            ...(namespace !== undefined && { namespace }),
        });
        expect(answer).toMatchObject({ status: 201, warnings: [] });
    });

    it("cannot have its annotations changed, and anything else", async () => {
        const path = pathFor(kind, "plain");
        expect(await create(kind, annotated("four", "10.1.0.5"), { name: "fixed", stays: true })).toMatchObject({
            status: 201,
        });
        const patched = async (annotations: object, labels: object = {}): Promise<KubeAnswer> => {
            const metadata = { annotations, labels };
            const body = kind === "Pod" ? { metadata } : { spec: { template: { metadata } } };
            return cluster.requests.send("PATCH", `${path}/fixed`, body, { ...merge, dryRun: true });
        };
        for (const annotations of [
            { [poolsAnnotation]: "more" },
            { [poolsAnnotation]: null },
            { [podIpsAnnotation]: "10.1.0.6" },
            { [podIpsAnnotation]: null },
        ]) {
            const answer = await patched(annotations);
            expect(answer.status).toBe(422);
            expect(answer.message).toContain(Object.keys(annotations)[0]);
        }
        expect(await patched({ other: "x" }, { tier: "back" })).toMatchObject({ status: 200 });
        await cluster.remove(path, "fixed");
    });
});

describe("a pool that does not exist", () => {
    it("is refused on a Pod, a warning on templates", async () => {
        expect(await create("Pod", annotated("nowhere"))).toMatchObject({
            status: 422,
            message: expect.stringMatching(
                /metadata.annotations\[ipam.antrea.io\/ippools\] "nowhere": there is no IPPool/,
            ),
        });
        for (const kind of templated) {
            expect(await create(kind, annotated("nowhere"))).toMatchObject({
                status: 201,
                warnings: [expect.stringMatching(/"nowhere": there is no IPPool/)],
            });
        }
    });

    it("exists as soon as it was made, through any replica", async () => {
        for (let round = 0; round < 10; round += 1) {
            const pool = poolOf("late", { cidr: "10.9.0.0/28", gateway: "10.9.0.1", prefixLength: 24 });
            expect(await cluster.requests.send("POST", paths.pools, pool)).toMatchObject({ status: 201 });
            expect(await create("Pod", annotated("late", "10.9.0.5"))).toMatchObject({ status: 201 });
            await cluster.remove(paths.pools, "late");
        }
    });
});

describe("a template of another kind", () => {
    const labels = { app: "one" };
    const template = (annotations: object): object => ({
        metadata: { labels, annotations },
        spec: { containers: [{ name: "c", image: "registry.example/pause:1" }], restartPolicy: "Never" },
    });
    const always = (annotations: object): object => ({
        metadata: { labels, annotations },
        spec: { containers: [{ name: "c", image: "registry.example/pause:1" }] },
    });
    const selector = { matchLabels: labels };
    const apps = "/apis/apps/v1/namespaces/plain";
    const batch = "/apis/batch/v1/namespaces/plain";

    it.each<[string, string, string, (annotations: object) => object]>([
        ["DaemonSet", `${apps}/daemonsets`, "spec", (own) => ({ selector, template: always(own) })],
        ["ReplicaSet", `${apps}/replicasets`, "spec", (own) => ({ selector, template: always(own) })],
        ["Job", `${batch}/jobs`, "spec", (own) => ({ template: template(own) })],
        [
            "CronJob",
            `${batch}/cronjobs`,
            "spec.jobTemplate.spec",
            (own) => ({ schedule: "@daily", jobTemplate: { spec: { template: template(own) } } }),
        ],
    ])("is judged like that of a Deployment: %s", async (kind, path, at, spec) => {
        const send = async (annotations: object): Promise<KubeAnswer> => {
            const apiVersion = path.startsWith(apps) ? "apps/v1" : "batch/v1";
            const object = { apiVersion, kind, metadata: { name: "one" }, spec: spec(annotations) };
            return cluster.requests.send("POST", path, object, { dryRun: true });
        };
        const refused = await send(annotated("four", "10.1.0.99"));
        expect(refused.message).toContain(`${at}.template.metadata.annotations[${podIpsAnnotation}] "10.1.0.99"`);
        expect(refused.status).toBe(422);
        expect(await send(annotated("four"))).toMatchObject({ status: 201, warnings: [] });
        expect(await send(annotated("nowhere"))).toMatchObject({
            status: 201,
            warnings: [expect.stringMatching(/"nowhere": there is no IPPool/)],
        });
    });
});

describe("a warning", () => {
    it("reports a missing pool of the Namespace to who creates a Pod or a template there", async () => {
        const early = namespaceOf("early", annotated("soon"));
        expect(await cluster.requests.send("POST", paths.namespaces, early)).toMatchObject({ status: 201 });
        // A replica that does not know the Namespace yet reports nothing.
        for (const kind of kinds) {
            const answer = await eventually(async () => {
                const one = await create(kind, {}, { namespace: "early" });
                return one.warnings.length > 0 ? one : undefined;
            });
            expect(answer).toMatchObject({
                status: 201,
                warnings: [expect.stringMatching(/of the Namespace "soon": there is no IPPool of this name yet/)],
            });
        }
        await cluster.remove(paths.namespaces, "early");
    });

    it("reports annotations that are misspelt, or where they have no effect", async () => {
        const meant = [
            expect.stringMatching(/unknown annotation "antrea\.io\/ippools".*did you mean ipam\.antrea\.io/),
        ];
        const wrong = { "antrea.io/ippools": "four" };
        for (const kind of kinds) expect(await create(kind, wrong)).toMatchObject({ status: 201, warnings: meant });
        const namespace = namespaceOf("wrong", wrong);
        const dryRun = { dryRun: true };
        expect(await cluster.requests.send("POST", paths.namespaces, namespace, dryRun)).toMatchObject({
            status: 201,
            warnings: meant,
        });
        const fixed = namespaceOf("wrong", annotated(undefined, "10.1.0.5"));
        expect(await cluster.requests.send("POST", paths.namespaces, fixed, dryRun)).toMatchObject({
            status: 201,
            warnings: [expect.stringMatching(/pod-ips\] has no effect here: set it on the Pod/)],
        });
        const web = workloadOf("Deployment", "web", {});
        const misplaced = { ...web, metadata: { name: "web", annotations: annotated("four") } };
        expect(await cluster.requests.send("POST", paths.deployments("plain"), misplaced, dryRun)).toMatchObject({
            status: 201,
            warnings: [expect.stringMatching(/ippools\] has no effect here: set it in spec\.template\.metadata/)],
        });
    });
});

describe("replicas", () => {
    it.each(templated)("above 1 with fixed addresses are refused for a %s, created or scaled", async (kind) => {
        const fixed = annotated("four", "10.1.0.5");
        expect(await create(kind, fixed, { spec: { replicas: 2 } })).toMatchObject({
            status: 422,
            message: expect.stringMatching(/spec.replicas "2": must not be above 1/),
        });
        expect(await create(kind, fixed, { spec: { replicas: 0 } })).toMatchObject({ status: 201 });
        expect(await create(kind, fixed, { name: "scaled", stays: true })).toMatchObject({ status: 201 });
        const path = `${pathFor(kind, "plain")}/scaled`;
        const replicas = async (count: number, subresource = ""): Promise<KubeAnswer> =>
            cluster.requests.send("PATCH", `${path}${subresource}`, { spec: { replicas: count } }, merge);
        for (const subresource of ["", "/scale"]) {
            const answer = await replicas(2, subresource);
            expect(answer.message).toMatch(/spec.replicas "2": must not be above 1.*pod-ips/);
            expect(answer.status).toBe(422);
            expect(await replicas(0, subresource)).toMatchObject({ status: 200 });
            expect(await replicas(1, subresource)).toMatchObject({ status: 200 });
        }
        await cluster.remove(pathFor(kind, "plain"), "scaled");
    });

    it.each(templated)("beyond the addresses of a pool, and of others, are allowed for a %s", async (kind) => {
        const spec = { replicas: 100 };
        expect(await create(kind, annotated("four"), { spec })).toMatchObject({ status: 201, warnings: [] });
        expect(await create(kind, {}, { name: "free", stays: true })).toMatchObject({ status: 201 });
        const path = `${pathFor(kind, "plain")}/free/scale`;
        expect(await cluster.requests.send("PATCH", path, { spec }, merge)).toMatchObject({ status: 200 });
        await cluster.remove(pathFor(kind, "plain"), "free");
    });

    it("of a Deployment with a fixed address and a rolling update get a warning", async () => {
        const answer = await create("Deployment", annotated("four", "10.1.0.5"));
        expect(answer).toMatchObject({ status: 201, warnings: [expect.stringMatching(/use "Recreate"/)] });
    });
});

describe("what was there before, with bad values", () => {
    const off = { contentType: "application/json-patch+json" };
    const webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/antrea";
    const policy = async (failure: string): Promise<void> => {
        // Out of the way: a rule that fits nothing.
        const body = [{ op: "replace", path: "/webhooks/1/rules/0/operations", value: [failure] }];
        expect(await cluster.requests.send("PATCH", webhooks, body, off)).toMatchObject({ status: 200 });
    };

    it("may be edited, get its status, and be deleted", async () => {
        await policy("DELETE");
        await eventually(async () => {
            const answer = await create("Pod", annotated("nowhere", "nothing"), { name: "bad", stays: true });
            return answer.status === 201;
        });
        await policy("CREATE");
        await eventually(async () => (await create("Pod", annotated("nowhere"))).status === 422);
        const path = `${paths.pods("plain")}/bad`;
        const label = { metadata: { labels: { a: "b" } } };
        expect(await cluster.requests.send("PATCH", path, label, merge)).toMatchObject({ status: 200 });
        const running = { status: { phase: "Running", podIPs: [{ ip: "10.1.0.5" }], podIP: "10.1.0.5" } };
        expect(await cluster.requests.send("PATCH", `${path}/status`, running, merge)).toMatchObject({ status: 200 });
        await cluster.remove(paths.pods("plain"), "bad");
        expect(await cluster.api.find(pods, { namespace: "plain", name: "bad" })).toBeUndefined();
    });
});

describe("a Namespace", () => {
    const claimed = async (allocation: IpAllocation): Promise<void> => {
        await cluster.api.create(ipAllocations, allocation);
    };
    const annotate = async (name: string, pools: string | null): Promise<KubeAnswer> => {
        const body = { metadata: { annotations: { [poolsAnnotation]: pools } } };
        return cluster.requests.send("PATCH", `${paths.namespaces}/${name}`, body, merge);
    };
    const made = async (name: string, pools?: string): Promise<KubeAnswer> =>
        cluster.requests.send("POST", paths.namespaces, namespaceOf(name, annotated(pools)));

    it.each([
        ["two pools of one family", "four,more", /at most one IPPool of a family.*"four" and "more"/],
        ["an empty value", " , ", /at least one/],
        ["a repeated pool", "four,four", /more than once/],
    ])("is refused with %s, created or changed", async (_name, pools, text) => {
        for (const answer of [await made("bad", pools), await annotate("plain", pools)]) {
            expect(answer.message).toMatch(text);
            expect(answer.status).toBe(422);
        }
    });

    it("may name pools of both families, or one that does not exist yet, with a warning", async () => {
        expect(await made("both", "four, six")).toMatchObject({ status: 201, warnings: [] });
        expect(await made("early", "soon")).toMatchObject({
            status: 201,
            warnings: [expect.stringMatching(/"soon": there is no IPPool of this name yet/)],
        });
        for (const name of ["both", "early"]) await cluster.remove(paths.namespaces, name);
    });

    it("keeps its pools while Pods use them, and may be given some, and be deleted, at any time", async () => {
        expect(await made("used")).toMatchObject({ status: 201 });
        const pod = async (
            name: string,
            o: { ip?: string; annotations?: Record<string, string>; spec?: object } = {},
        ): Promise<void> => {
            const { ip, annotations = {}, spec } = o;
            const object = podOf(name, annotations, spec) as KubeObject;
            expect(await cluster.requests.send("POST", paths.pods("used"), object)).toMatchObject({ status: 201 });
            if (ip === undefined) return;
            const status = { phase: "Running", podIP: ip, podIPs: [{ ip }] };
            await cluster.requests.send("PATCH", `${paths.pods("used")}/${name}/status`, { status }, merge);
        };
        // None of these has an address of the pools that the Namespace gets.
        await pod("older", { ip: "10.244.0.9" });
        await pod("own", { annotations: annotated("more") });
        await pod("host", { spec: { hostNetwork: true } });
        expect(await annotate("used", "four")).toMatchObject({ status: 200 });
        expect(await annotate("used", null)).toMatchObject({ status: 200 });
        expect(await annotate("used", "four")).toMatchObject({ status: 200 });
        await pod("waits");
        expect(await annotate("used", "nosuch")).toMatchObject({ status: 200 });
        expect(await annotate("used", "four")).toMatchObject({ status: 200 });
        await pod("web-0", { ip: "10.1.0.5" });
        const uid = (await cluster.api.get(pods, { namespace: "used", name: "web-0" })).metadata?.uid ?? "";
        await claimed(allocationOf("four", "10.1.0.5", { namespace: "used", name: "web-0", uid }));
        const refused = await annotate("used", null);
        expect(refused.message).toMatch(
            /cannot be removed \(it was "four"\).*Pod used\/web-0 \(10\.1\.0\.5\); delete these first/,
        );
        expect(await annotate("used", "more")).toMatchObject({ status: 422 });
        // Re-spelled it means the same.
        expect(await annotate("used", " four, ")).toMatchObject({ status: 200 });
        await cluster.remove(paths.pods("used"), "web-0");
        await eventually(async () => (await annotate("used", "more")).status === 200);
        await cluster.api.delete(ipAllocations, { name: "10.1.0.5" });
        await cluster.remove(paths.namespaces, "used");
        expect(await cluster.api.find(namespaces, { name: "used" })).toBeUndefined();
    });

    it("keeps its pools while a StatefulSet that has none of its own has reservations, without any Pod", async () => {
        expect(await made("sticky", "four")).toMatchObject({ status: 201 });
        for (const [name, pools] of [
            ["web", undefined],
            ["own", "four"],
        ] as const) {
            const set = workloadOf("StatefulSet", name, annotated(pools));
            const answer = await cluster.requests.send("POST", paths.statefulSets("sticky"), set);
            expect(answer).toMatchObject({ status: 201 });
        }
        for (const [address, name] of [
            ["10.1.0.6", "web"],
            ["10.1.0.7", "own"],
        ] as const) {
            const { metadata, spec } = allocationOf("four", address);
            await claimed({
                metadata: metadata ?? {},
                spec: { ...spec, owner: { ...spec.owner, namespace: "sticky", name } },
            });
        }
        const refused = await annotate("sticky", "more");
        expect(refused.message).toMatch(/: StatefulSet sticky\/web \(1 reserved address\); delete these first/);
        expect(refused.status).toBe(422);
        await cluster.remove(paths.statefulSets("sticky"), "web");
        await eventually(async () => (await annotate("sticky", "more")).status === 200);
        for (const name of ["10.1.0.6", "10.1.0.7"]) await cluster.api.delete(ipAllocations, { name });
        await cluster.remove(paths.statefulSets("sticky"), "own");
        await cluster.remove(paths.namespaces, "sticky");
    });
});
