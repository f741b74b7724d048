import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { networkAttachmentDefinitions } from "@antrea/kube";
import { eventually, networkDefinitionsCrd } from "@antrea/kube/testing";
import { type KubeAnswer } from "./support/kube-request.ts";
import {
    annotated,
    networkOf,
    paths,
    podOf,
    poolOf,
    requesting,
    workloadOf,
    type RangeFields,
} from "./support/objects.ts";
import { WebhookCluster } from "./support/webhook-cluster.ts";

let cluster: WebhookCluster;
beforeAll(async () => {
    cluster = await WebhookCluster.start(2, { networksOn: true });
});
afterAll(async () => {
    const complaints = cluster.complaints();
    await cluster[Symbol.asyncDispose]();
    expect(complaints).toEqual([]);
});

const merge = { contentType: "application/merge-patch+json" };
const vlan = { cniVersion: "0.3.0", type: "antrea", networkType: "vlan" };
const macvlan = { cniVersion: "1.0.0", name: "macnet", type: "macvlan" };
const ipam = (section: object): object => ({ ipam: { type: "antrea", ...section } });
const range = (start: string, more: RangeFields = {}): RangeFields => {
    const subnet = start.replace(/\.\d+$/, "");
    return { start, end: `${subnet}.20`, gateway: `${subnet}.1`, prefixLength: 24, ...more };
};

/** Creates a network; by dry run, unless it is to stay. */
async function create(
    config: unknown,
    o: { readonly name?: string; readonly stays?: boolean } = {},
): Promise<KubeAnswer> {
    const object = networkOf(o.name ?? "net1", config);
    return cluster.requests.send("POST", paths.networks("default"), object, { dryRun: o.stays !== true });
}

const shrunk = { spec: { ipRanges: [range("10.1.0.15")] } };
const shrink = async (name: string): Promise<KubeAnswer> =>
    cluster.requests.send("PATCH", `${paths.pools}/${name}`, shrunk, { ...merge, dryRun: true });

describe("without the CustomResourceDefinition of networks", () => {
    it("pools are used by none, and can shrink", async () => {
        const pool = poolOf("early", range("10.1.0.10"));
        expect(await cluster.requests.send("POST", paths.pools, pool)).toMatchObject({ status: 201 });
        expect(await shrink("early")).toMatchObject({ status: 200 });
        await cluster.remove(paths.pools, "early");
    });
});

describe("with it", () => {
    beforeAll(async () => {
        await cluster.server.apply([networkDefinitionsCrd]);
        const pools = [
            poolOf("pool", range("10.1.0.10")),
            poolOf("vlan100", range("10.2.0.10", { vlan: 100 })),
            poolOf("vlan200", range("10.3.0.10", { vlan: 200 })),
        ];
        for (const pool of pools) {
            expect(await cluster.requests.send("POST", paths.pools, pool)).toMatchObject({ status: 201 });
        }
        await eventually(async () => (await create({ ...vlan, vlan: 5000 })).status === 422);
    });

    describe("a network", () => {
        it.each<[string, unknown, RegExp]>([
            [
                "text that is no JSON",
                '{"type": "antrea",}',
                /network default\/net1: spec\.config: .*is not valid JSON/s,
            ],
            [
                "a VLAN that does not exist",
                { ...vlan, vlan: 5000 },
                /network default\/net1: vlan: 5000 must be .*; next: /,
            ],
            ["IPAM of another plugin", { ...vlan, ipam: { type: "dhcp" } }, /ipam\.type: "dhcp" gives no addresses/],
            [
                "wrong IPAM in a list of other plugins",
                { plugins: [{ ...macvlan, ...ipam({ ippools: ["A"] }) }] },
                /"A"/,
            ],
        ])("is refused for %s, created and changed", async (_name, config, text) => {
            const { spec } = networkOf("net1", config);
            expect(await create(vlan, { name: "changed", stays: true })).toMatchObject({ status: 201, warnings: [] });
            const path = `${paths.networks("default")}/changed`;
            for (const answer of [await create(config), await cluster.requests.send("PATCH", path, { spec }, merge)]) {
                expect(answer.message).toMatch(/^admission webhook "networks.antrea.io" denied the request: network /);
                expect(answer.message).toMatch(new RegExp(text.source.replace("net1", "(net1|changed)"), "s"));
                expect(answer.status).toBe(422);
            }
            await cluster.remove(paths.networks("default"), "changed");
        });

        it.each<[string, unknown, readonly RegExp[]]>([
            ["nothing of Antrea", { ...macvlan, vlan: 5000 }, []],
            ["text that is no JSON, and not ours", "{", []],
            ["IPPools of one VLAN", { ...vlan, ...ipam({ ippools: ["vlan100"] }) }, []],
            ["addresses for another plugin", { ...macvlan, ...ipam({ ippools: ["vlan100", "vlan200"] }) }, []],
            [
                "an IPPool that does not exist",
                { ...vlan, ...ipam({ ippools: ["soon"] }) },
                [/"soon": there is no IPPool/],
            ],
            [
                "keys that have no effect",
                { ...vlan, vlanId: 7 },
                [/keys without effect: vlanId; correct or remove them/],
            ],
            [
                "IPPools of two VLANs",
                { ...vlan, ...ipam({ ippools: ["vlan100", "vlan200"] }) },
                [/IPPools vlan100 and vlan200 have the VLANs 100 and 200/],
            ],
        ])("is accepted with %s", async (_name, config, warnings) => {
            expect(await create(config)).toMatchObject({
                status: 201,
                warnings: warnings.map((warning) => expect.stringMatching(warning)),
            });
        });

        it("of type sriov is accepted with the resource of a device plugin, and refused without", async () => {
            const annotations = { "k8s.v1.cni.cncf.io/resourceName": "intel.com/sriov" };
            const object = networkOf("net1", { ...vlan, networkType: "sriov" }, annotations);
            const answer = await cluster.requests.send("POST", paths.networks("default"), object, { dryRun: true });
            expect(answer).toMatchObject({
                status: 201,
                warnings: [],
            });
            const refused = await create({ ...vlan, networkType: "sriov" });
            expect(refused).toMatchObject({
                status: 422,
                message: expect.stringMatching(/resourceName: "" is missing/),
            });
        });

        it("finds an IPPool that was just made, through any replica", async () => {
            for (let round = 0; round < 10; round += 1) {
                const pool = poolOf("late", range("10.9.0.10"));
                expect(await cluster.requests.send("POST", paths.pools, pool)).toMatchObject({ status: 201 });
                const answer = await create({ ...vlan, ...ipam({ ippools: ["late"] }) });
                expect(answer).toMatchObject({ status: 201, warnings: [] });
                await cluster.remove(paths.pools, "late");
            }
        });
    });

    describe("a pool", () => {
        it.each<[string, unknown]>([
            ["that a network names", { ...vlan, ...ipam({ ippools: ["pool"] }) }],
            ["that a network of another plugin names", { ...macvlan, ...ipam({ ippools: ["pool"] }) }],
            ["with a static address of a network", { ...vlan, ...ipam({ addresses: [{ address: "10.1.0.12/24" }] }) }],
        ])(
            "%s cannot shrink or change its VLAN until the network is gone; it may be deleted",
            async (_name, config) => {
                expect(await create(config, { stays: true })).toMatchObject({ status: 201 });
                const tagged = { spec: { ipRanges: [range("10.1.0.10", { vlan: 7 })] } };
                const path = `${paths.pools}/pool`;
                for (const answer of [
                    await shrink("pool"),
                    await cluster.requests.send("PATCH", path, tagged, merge),
                ]) {
                    expect(answer.message).toMatch(
                        /in use: named by NetworkAttachmentDefinition default\/net1; delete these/,
                    );
                    expect(answer.status).toBe(422);
                }
                expect(await cluster.requests.send("DELETE", path, undefined, { dryRun: true })).toMatchObject({
                    status: 200,
                });
                await cluster.remove(paths.networks("default"), "net1");
                expect(await shrink("pool")).toMatchObject({ status: 200 });
            },
        );
    });

    describe("a pool that gets static addresses of a network", () => {
        const dryRun = { ...merge, dryRun: true };

        it("is accepted with a warning, when it is created and when it grows, and not again", async () => {
            const section = ipam({ addresses: [{ address: "10.9.0.15/24" }, { address: "10.1.0.25/24" }] });
            expect(await create({ ...vlan, ...section }, { name: "static", stays: true })).toMatchObject({
                status: 201,
            });
            const warnings = [
                expect.stringMatching(
                    /^static addresses of NetworkAttachmentDefinition default\/static are in the new .*; recreate these /,
                ),
            ];
            const created = poolOf("new", range("10.9.0.10"));
            expect(await cluster.requests.send("POST", paths.pools, created, { dryRun: true })).toMatchObject({
                status: 201,
                warnings,
            });
            const path = `${paths.pools}/pool`;
            const grown = { spec: { ipRanges: [range("10.1.0.10", { end: "10.1.0.30" })] } };
            expect(await cluster.requests.send("PATCH", path, grown, dryRun)).toMatchObject({ status: 200, warnings });
            const other = { spec: { ipRanges: [range("10.1.0.10", { end: "10.1.0.24" })] } };
            expect(await cluster.requests.send("PATCH", path, other, dryRun)).toMatchObject({
                status: 200,
                warnings: [],
            });
            await cluster.remove(paths.networks("default"), "static");
        });
    });

    describe("networks that Pods request", () => {
        const path = "spec.template.metadata";
        const rule = 'annotation k8s.v1.cni.cncf.io/networks, item 1.interface: "eth0" is the name of an interface';

        it("are refused with the rule that they break, of Pods and templates", async () => {
            const wrong = requesting("net1@eth0");
            const answers = [
                await cluster.requests.send("POST", paths.pods("default"), podOf("p", wrong)),
                await cluster.requests.send("POST", paths.deployments("default"), workloadOf("Deployment", "d", wrong)),
                await cluster.requests.send(
                    "POST",
                    paths.statefulSets("default"),
                    workloadOf("StatefulSet", "d", wrong),
                ),
            ];
            for (const [at, { status, message }] of answers.entries()) {
                expect(message).toContain(`${at === 0 ? "metadata" : path}: ${rule}`);
                expect(status).toBe(422);
            }
        });

        it("are refused too when a controller creates the Pod", async () => {
            const pod = podOf("p", requesting("net1,")) as { readonly metadata: object };
            const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1", controller: true };
            const owned = { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } };
            expect(await cluster.requests.send("POST", paths.pods("default"), owned)).toMatchObject({ status: 422 });
        });

        it("are refused when a template gets them", async () => {
            const web = workloadOf("Deployment", "web", requesting("net1"));
            expect(await cluster.requests.send("POST", paths.deployments("default"), web)).toMatchObject({
                status: 201,
            });
            const patched = async (annotations: object): Promise<KubeAnswer> => {
                const body = { spec: { template: { metadata: { annotations } } } };
                return cluster.requests.send("PATCH", `${paths.deployments("default")}/web`, body, merge);
            };
            expect(await patched(requesting("net1@eth0"))).toMatchObject({ status: 422 });
            expect(await patched(requesting("net1, net2@eth5"))).toMatchObject({ status: 200, warnings: [] });
            await cluster.remove(paths.deployments("default"), "web");
        });

        it("may be any of the grammar, beside addresses of IPPools, and need not exist", async () => {
            for (const networks of ["", "nowhere", '[{"name": "net1", "namespace": "x", "ips": ["10.1.0.5/24"]}]']) {
                const pod = podOf("p", { ...annotated("pool"), ...requesting(networks) });
                const answer = await cluster.requests.send("POST", paths.pods("default"), pod, { dryRun: true });
                expect(answer).toMatchObject({ status: 201, warnings: [] });
            }
        });
    });

    describe("without any replica", () => {
        it("networks, Pods and workloads are accepted, and can be corrected later", async () => {
            await Promise.all(cluster.replicas.map((replica) => cluster.stop(replica)));
            expect(await create({ ...vlan, vlan: 5000 }, { stays: true })).toMatchObject({ status: 201 });
            const wrong = requesting("net1@eth0");
            for (const [path, object] of [
                [paths.pods("default"), podOf("p", wrong)],
                [paths.deployments("default"), workloadOf("Deployment", "d", wrong)],
            ] as const) {
                expect(await cluster.requests.send("POST", path, object)).toMatchObject({ status: 201 });
            }
            await cluster.add();
            await cluster.ready(1);
            await eventually(async () => (await create({ ...vlan, vlan: 5000 }, { name: "net2" })).status === 422);
            const patch = async (path: string, body: object): Promise<KubeAnswer> =>
                cluster.requests.send("PATCH", path, body, merge);
            const labels = { metadata: { labels: { a: "b" } } };
            for (const path of [
                `${paths.networks("default")}/net1`,
                `${paths.pods("default")}/p`,
                `${paths.deployments("default")}/d`,
            ]) {
                expect(await patch(path, labels)).toMatchObject({ status: 200 });
            }
            const scaled = { spec: { replicas: 3 } };
            expect(await patch(`${paths.deployments("default")}/d`, scaled)).toMatchObject({ status: 200 });
            const { spec } = networkOf("net1", { ...vlan, vlan: 50 });
            expect(await patch(`${paths.networks("default")}/net1`, { spec })).toMatchObject({ status: 200 });
            await cluster.api.delete(networkAttachmentDefinitions, { namespace: "default", name: "net1" });
        });
    });
});
