import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, kubectl, nodeObject, shellOnNode, systemNamespace, workers } from "../fixture/cluster.ts";
import { getJson } from "../fixture/objects.ts";
import { answer, refused } from "../fixture/admission.ts";
import { expectIpam, podIpsKey, poolManifest, poolsKey, TestPools, type RangeJson } from "../fixture/ipam.ts";
import { manifest, TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { deployment, statefulSet } from "../fixture/workloads.ts";

const subnet = { gateway: "10.25.9.1", prefixLength: 24 };
const range = (start: string, end: string, rest: Partial<RangeJson> = {}): RangeJson => ({
    start,
    end,
    ...subnet,
    ...rest,
});

describe("admission of IPAM objects", () => {
    let namespace: TestNamespace;
    let pools: TestPools;

    const pod = (name: string, annotations: Readonly<Record<string, string>>): object =>
        manifest(namespace.name, { name, annotations });

    beforeAll(async () => {
        await expectIpam();
        namespace = await TestNamespace.create("e2e-ipam-admission", { [poolsKey]: "e2e-adm" });
        pools = await TestPools.create({
            "e2e-adm": [{ start: "10.25.0.10", end: "10.25.0.30", gateway: "10.25.0.1", prefixLength: 24 }],
            "e2e-adm-other": [{ start: "10.25.1.10", end: "10.25.1.30", gateway: "10.25.1.1", prefixLength: 24 }],
        });
        await namespace.start([{ name: "user" }]);
    });
    afterAll(async () => {
        await namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
    });

    describe("of a pool", () => {
        it.each<readonly [string, readonly RangeJson[], readonly string[]]>([
            [
                "overlaps another pool",
                [range("10.25.0.25", "10.25.0.40", { gateway: "10.25.0.1" })],
                ["spec.ipRanges[0]", "e2e-adm", "10.25.0.25-10.25.0.30"],
            ],
            [
                "overlaps itself",
                [range("10.25.9.10", "10.25.9.20"), { cidr: "10.25.9.16/28", ...subnet }],
                ["spec.ipRanges[1]", "10.25.9.16-10.25.9.20"],
            ],
            ["has no range", [], ["spec.ipRanges"]],
            ["starts after its end", [range("10.25.9.20", "10.25.9.10")], ["spec.ipRanges[0]", "10.25.9.20"]],
            ["mixes families", [range("10.25.9.10", "fd25::1")], ["spec.ipRanges[0]", "fd25::1"]],
            ["lies outside its subnet", [range("10.25.9.10", "10.25.10.10")], ["spec.ipRanges[0].end", "10.25.9.1/24"]],
            [
                "has no room in its prefix",
                [range("10.25.9.10", "10.25.9.10", { prefixLength: 32 })],
                ["spec.ipRanges[0].prefixLength", "32"],
            ],
            [
                "has the broadcast address as its gateway",
                [range("10.25.9.10", "10.25.9.20", { gateway: "10.25.9.255" })],
                ["spec.ipRanges[0].gateway", "10.25.9.255"],
            ],
            [
                "is of the loopback",
                [range("127.0.0.10", "127.0.0.20", { gateway: "127.0.0.1" })],
                ["spec.ipRanges[0]", "127.0.0.10"],
            ],
            [
                "is of mapped addresses",
                [range("::ffff:a19:90a", "::ffff:a19:914", { gateway: "::ffff:a19:901", prefixLength: 120 })],
                ["spec.ipRanges[0]", "::ffff:a19:90"],
            ],
            ["has leading zeros", [range("010.25.9.10", "10.25.9.20")], ["spec.ipRanges[0].start", "010.25.9.10"]],
            [
                "has the VLAN that 802.1Q reserves",
                [range("10.25.9.10", "10.25.9.20", { vlan: 4095 })],
                ["spec.ipRanges[0].vlan", "4095"],
            ],
        ])("that %s is refused", async (_, ranges, parts) => {
            await refused(poolManifest("e2e-adm-new", ...ranges), ...parts);
        });

        it.each<readonly [string, readonly RangeJson[]]>([
            ["with its gateway inside", [{ cidr: "10.25.9.0/24", ...subnet }]],
            [
                "of several subnets",
                [range("10.25.9.10", "10.25.9.20"), { cidr: "10.25.10.0/28", gateway: "10.25.10.1", prefixLength: 24 }],
            ],
            ["of adjacent ranges", [range("10.25.9.10", "10.25.9.20"), range("10.25.9.21", "10.25.9.30")]],
            ["of a whole /64", [{ cidr: "fd25::/64", gateway: "fd25::1", prefixLength: 64 }]],
        ])("%s is accepted without a warning", async (_, ranges) => {
            const { accepted, text } = await answer(poolManifest("e2e-adm-new", ...ranges));
            expect({ accepted, warns: text.includes("Warning"), text }).toEqual({ accepted: true, warns: false, text });
        });

        it("with host bits is accepted with a warning", async () => {
            const pool = poolManifest("e2e-adm-new", { cidr: "10.25.9.77/26", ...subnet });
            const { accepted, text } = await answer(pool);
            expect(accepted).toBe(true);
            expect(text).toContain("is taken as 10.25.9.64/26");
        });

        it("with the address of a Node is accepted with a warning", async () => {
            const addresses = (await nodeObject(workers[0] ?? "")).status.addresses.map(({ address }) => address);
            const ip = addresses.find((address) => /^[0-9.]+$/.test(address)) ?? "";
            const gateway = ip.replace(/\d+$/, "1");
            const { accepted, text } = await answer(
                poolManifest("e2e-adm-new", { start: ip, end: ip, gateway, prefixLength: 24 }),
            );
            expect(accepted).toBe(true);
            expect(text).toContain(`Warning: spec.ipRanges[0] ${ip} touches addresses of Nodes`);
        });

        it("in use may grow, but not shrink, move or go", async () => {
            const change = (ipRange: object): object => {
                const old = { start: "10.25.0.10", end: "10.25.0.30", gateway: "10.25.0.1", prefixLength: 24 };
                return poolManifest("e2e-adm", { ...old, ...ipRange });
            };
            expect((await answer(change({ end: "10.25.0.40" }))).accepted).toBe(true);
            await refused(change({ end: "10.25.0.29" }), "spec.ipRanges", "10.25.0.30", `${namespace.name}/user`);
            await refused(change({ gateway: "10.25.0.2" }), "spec.ipRanges[0].gateway");
            await refused(change({ vlan: 7 }), "spec.ipRanges[0].vlan");
            await expect(kubectl(["delete", "ippool", "e2e-adm", "--dry-run=server"])).rejects.toThrow(
                `${namespace.name}/user`,
            );
        });
    });

    describe("of a Pod and what makes Pods", () => {
        it.each<readonly [string, () => object, readonly string[]]>([
            ["a Pod of an unknown pool", () => pod("new", { [poolsKey]: "e2e-nowhere" }), [poolsKey, "e2e-nowhere"]],
            ["a Pod of no pool", () => pod("new", { [poolsKey]: " , " }), [poolsKey]],
            [
                "a Pod with an address of another pool",
                () => pod("new", { [poolsKey]: "e2e-adm", [podIpsKey]: "10.25.1.15" }),
                [podIpsKey, "10.25.1.15", "e2e-adm"],
            ],
            [
                "a Pod with two addresses of a family",
                () => pod("new", { [podIpsKey]: "10.25.0.15,10.25.0.16" }),
                [podIpsKey, "10.25.0.16"],
            ],
            [
                "a StatefulSet with one address for two Pods",
                () =>
                    statefulSet(namespace.name, {
                        name: "new",
                        replicas: 2,
                        annotations: { [podIpsKey]: "10.25.0.15" },
                    }),
                [podIpsKey, "replicas"],
            ],
            [
                "a Deployment with one address for two Pods",
                () =>
                    deployment(namespace.name, {
                        name: "new",
                        replicas: 2,
                        annotations: { [podIpsKey]: "10.25.0.15" },
                    }),
                [podIpsKey, "replicas"],
            ],
            [
                "a Namespace with two pools of one family",
                () => ({
                    apiVersion: "v1",
                    kind: "Namespace",
                    metadata: { name: "e2e-adm-new", annotations: { [poolsKey]: "e2e-adm,e2e-adm-other" } },
                }),
                [poolsKey, "e2e-adm-other"],
            ],
        ])("refuses %s", async (_, object, parts) => {
            await refused(object(), ...parts);
        });

        it("refuses to change the annotations of a Pod, and of a Namespace whose Pods use them", async () => {
            const annotate = (target: readonly string[], value: string): Promise<string> =>
                kubectl(["annotate", "--overwrite", "--dry-run=server", ...target, value]);
            const user = ["-n", namespace.name, "pod", "user"];
            await expect(annotate(user, `${poolsKey}=e2e-adm-other`)).rejects.toThrow(poolsKey);
            const space = ["namespace", namespace.name];
            await expect(annotate(space, `${poolsKey}=e2e-adm-other`)).rejects.toThrow(poolsKey);
            await expect(annotate(space, `${poolsKey}-`)).rejects.toThrow(poolsKey);
            await annotate(user, "unrelated=yes");
            await annotate(space, "unrelated=yes");
        });

        it("refuses to scale up what has one address", async () => {
            const spec = { name: "fixed", replicas: 0, annotations: { [podIpsKey]: "10.25.0.15" } };
            for (const [kind, object] of [
                ["statefulset", statefulSet(namespace.name, spec)],
                ["deployment", deployment(namespace.name, spec)],
            ] as const) {
                await apply(object);
                await expect(kubectl(["-n", namespace.name, "scale", `${kind}/fixed`, "--replicas=2"])).rejects.toThrow(
                    podIpsKey,
                );
                await kubectl(["-n", namespace.name, "delete", kind, "fixed"]);
            }
        });

        it("warns about an unknown pool in a template", async () => {
            const spec = { name: "new", replicas: 1, annotations: { [poolsKey]: "e2e-nowhere" } };
            const { accepted, text } = await answer(deployment(namespace.name, spec));
            expect(accepted).toBe(true);
            expect(text).toMatch(/Warning: .*e2e-nowhere/);
        });
    });

    describe("by a webhook", () => {
        const pool = poolManifest("e2e-adm-new", range("10.25.9.10", "10.25.9.20"));
        it("that gets another certificate misses no call", async () => {
            const secret = ["-n", systemNamespace, "secret", "antrea-webhook-ca"];
            const authority = (): Promise<string> =>
                kubectl(["get", ...secret, "-o", "jsonpath={.data.ca\\.crt}"]).then((text) =>
                    Buffer.from(text, "base64").toString(),
                );
            const webhooks = (
                await getJson<{ items: { spec: { nodeName: string } }[] }>("pods", {
                    namespace: systemNamespace,
                    labelSelector: "component=antrea-webhook",
                })
            ).items.map(({ spec }) => spec.nodeName);
            const before = await authority();

            const failures: string[] = [];
            let hasNewAuthority = false;
            const ended = new AbortController();
            /** One call after the other; resolves with how many began after there was another authority. */
            const call = async (): Promise<number> => {
                let calls = 0;
                do {
                    const counts = hasNewAuthority;
                    const { accepted, text } = await answer(pool);
                    if (!accepted) failures.push(text);
                    if (counts) calls += 1;
                } while (!ended.signal.aborted || (hasNewAuthority && calls === 0));
                return calls;
            };
            const calling = Promise.all([call(), call(), call()]);
            try {
                // a new one is requested by deleting it
                await kubectl(["delete", ...secret]);
                const after = await eventually("another authority", async () => {
                    const now = await authority();
                    return now !== before ? now : undefined;
                });
                hasNewAuthority = true;
                for (const node of webhooks) {
                    // trusts only the new one
                    const script =
                        "cat > /tmp/e2e-ca.crt && curl -sS --fail-with-body -m 5 --cacert /tmp/e2e-ca.crt " +
                        `--connect-to ::${node}:9443 https://antrea-webhook.${systemNamespace}.svc/livez`;
                    await eventually(`the webhook on ${node} shows a certificate of it`, () =>
                        shellOnNode(node, script, { input: after }),
                    );
                }
            } finally {
                ended.abort();
                await calling;
            }
            expect(failures).toEqual([]);
            for (const calls of await calling) expect(calls).toBeGreaterThan(0);
        });
    });
});
