import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { inPrefix } from "../fixture/addresses.ts";
import { kubectl, nodeObject, workers } from "../fixture/cluster.ts";
import { getJson } from "../fixture/objects.ts";
import { antctl, allocationsOf, expectIpam, eventsAbout, exampleFile, poolObject } from "../fixture/ipam.ts";
import { installMetaPlugin } from "../fixture/meta-plugin.ts";
import { delegatedExamples } from "../fixture/network-examples.ts";
import { answersPings } from "../fixture/pings.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut } from "../fixture/workloads.ts";

const pools = ["pool1", "sts-ip-pool1", "pod-ip-pool1", "ipv4-pool-1", "ipv6-pool-1"];

describe("examples of IPAM", () => {
    const [node = ""] = workers;
    let namespace1: TestNamespace;
    let other: TestNamespace;

    const applyExample = (name: string): Promise<string> =>
        kubectl(["apply", "-n", other.name, "-f", exampleFile(name)]);
    const deleteExample = (name: string): Promise<string> =>
        kubectl(["delete", "-n", other.name, "--wait", "--grace-period=1", "-f", exampleFile(name)]);
    const poolIsFree = (pool: string): Promise<boolean> =>
        eventually(`no address of ${pool} is held`, async () =>
            (await allocationsOf(pool)).length === 0 ? true : undefined,
        );

    beforeAll(async () => {
        await expectIpam();
        await installMetaPlugin();
        other = await TestNamespace.create("e2e-ipam-examples");
        await kubectl(["delete", "namespace", "namespace1", "--ignore-not-found", "--wait"], { timeoutMs: 120_000 });
        for (const pool of pools) await kubectl(["apply", "-f", exampleFile(pool)]);
        await kubectl(["apply", "-f", exampleFile("namespace1")]);
        namespace1 = TestNamespace.of("namespace1");
    });
    afterAll(async () => {
        await Promise.all([namespace1[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
        for (const pool of pools) await poolIsFree(pool);
        await kubectl(["delete", "ippool", ...pools]);
    });

    describe("a Namespace with a pool", () => {
        let pods: TestPod[];
        let subnetPod: TestPod;

        beforeAll(async () => {
            // first: another Pod could get the address that this one requests
            await kubectl(["apply", "-n", "namespace1", "-f", exampleFile("pod-fixed-of-namespace")]);
            await namespace1.ready(["pod3"]);
            pods = await namespace1.start(["one", "two"].map((name) => ({ name, node })));
            [subnetPod] = (await other.start([{ name: "subnet", node }])) as [TestPod];
        });

        it("gives its Pods addresses of the pool, and their kubelet reaches them", () => {
            for (const { ip4, ip6 } of pods) {
                expect(ip4).toMatch(/^10\.2\.0\.(1[2-9]|20)$/);
                expect(ip6).toBe("");
            }
            expect(pods[0]?.ip4).not.toBe(pods[1]?.ip4);
        });

        it("leaves Pods of other Namespaces on the subnets of their Nodes", async () => {
            const [v4 = "", v6 = ""] = (await nodeObject(node)).spec.podCIDRs ?? [];
            expect([inPrefix(subnetPod.ip4, v4), inPrefix(subnetPod.ip6, v6)]).toEqual([true, true]);
        });

        it("has an IPAllocation for each address with its Pod", async () => {
            const [allocation] = (await allocationsOf("pool1")).filter(({ spec }) => spec.pod?.name === "one");
            const uid = (await namespace1.pods()).find(({ metadata }) => metadata.name === "one")?.metadata.uid;
            expect(allocation?.metadata.name).toBe(pods[0]?.ip4);
            const pool = await getJson<{ metadata: { uid: string; generation: number } }>("ippool", { name: "pool1" });
            expect(allocation?.spec).toEqual({
                address: pods[0]?.ip4,
                block: "10.2.0.0/24",
                pool: "pool1",
                poolUID: pool.metadata.uid,
                poolGeneration: pool.metadata.generation,
                state: "Allocated",
                owner: { kind: "Pod", namespace: "namespace1", name: "one", uid },
                pod: {
                    namespace: "namespace1",
                    name: "one",
                    uid,
                    nodeName: node,
                    containerID: expect.stringMatching(/^[0-9a-f]{64}$/),
                    interface: "eth0",
                },
            });
        });

        it("shows allocations and usage by kubectl", async () => {
            const [header = "", ...rows] = (await kubectl(["get", "ipallocations"])).trim().split("\n");
            expect(header).toMatch(/^NAME\s+ADDRESS\s+POOL\s+STATE\s+NAMESPACE\s+POD\s+NODE\s+OWNER\s+AGE$/);
            const ip = pods[0]?.ip4 ?? "";
            expect(
                rows
                    .find((row) => row.startsWith(ip))
                    ?.split(/\s+/)
                    .slice(0, 8),
            ).toEqual([ip, ip, "pool1", "Allocated", "namespace1", "one", node, "Pod"]);
            const usage = await eventually("the usage is reported", async () => {
                const { status } = await poolObject("pool1");
                return status?.usage?.used === 3 ? status.usage : undefined;
            });
            expect(usage).toEqual({ total: 9, used: 3, reserved: 0, free: 6 });
            expect(await kubectl(["get", "ipp", "pool1"])).toMatch(
                /NAME\s+VERSION\s+TOTAL\s+USED\s+RESERVED\s+FREE\s+READY\s+AGE\s+pool1\s+4\s+9\s+3\s+0\s+6\s+True\s/,
            );
        });

        it("reports once for each Pod that it is reached on its own Node only", async () => {
            for (const { name } of pods) {
                const events = await eventually(`an event on ${name}`, async () => {
                    const found = await eventsAbout("namespace1", "Pod", name, "PoolAddressNotRouted");
                    return found.length === 0 ? undefined : found;
                });
                expect(events.map(({ series, type }) => [series?.count ?? 1, type])).toEqual([[1, "Normal"]]);
            }
            expect(await eventsAbout(other.name, "Pod", "subnet", "PoolAddressNotRouted")).toEqual([]);
        });

        it("lets Pods of a pool reach each other on a Node", async () => {
            const [one, two] = pods as [TestPod, TestPod];
            await namespace1.exec("one", answersPings(two.ip4));
            expect(await namespace1.exec("two", `curl -sS -m 5 http://${one.ip4}:8080/hostname`)).toBe("one");
        });

        it("lets Pods of a pool and of the Node's subnet reach each other on a Node", async () => {
            const [one] = pods as [TestPod];
            await namespace1.exec("one", answersPings(subnetPod.ip4));
            await other.exec("subnet", answersPings(one.ip4));
            expect(await other.exec("subnet", `curl -sS -m 5 http://${one.ip4}:8080/hostname`)).toBe("one");
            expect(await namespace1.exec("one", `curl -sS -m 5 http://${subnetPod.ip4}:8080/hostname`)).toBe("subnet");
        });

        it("gives a Pod the fixed address that it asks for", async () => {
            const [pod] = await namespace1.ready(["pod3"]);
            expect(pod?.ip4).toBe("10.2.0.15");
        });
    });

    describe("a StatefulSet", () => {
        const owner = (index: number): object => expect.objectContaining({ kind: "StatefulSet", index });

        it("with a fixed address gets it", async () => {
            await applyExample("statefulset-fixed");
            await rolledOut(other.name, "statefulset/statefulset2");
            const [pod] = await other.ready(["statefulset2-0"]);
            expect(pod?.ip4).toBe("10.2.1.20");
            expect(
                (await allocationsOf("sts-ip-pool1")).map(({ spec }) => [spec.address, spec.state, spec.owner]),
            ).toEqual([["10.2.1.20", "Allocated", owner(0)]]);
            await deleteExample("statefulset-fixed");
            await poolIsFree("sts-ip-pool1");
        });

        it("with 4 replicas gets an address for each ordinal", async () => {
            await applyExample("statefulset");
            await rolledOut(other.name, "statefulset/statefulset1");
            const pods = await other.ready([0, 1, 2, 3].map((n) => `statefulset1-${n}`));
            const allocations = await allocationsOf("sts-ip-pool1");
            for (const [index, { name, ip4 }] of pods.entries()) {
                const allocation = allocations.find(({ metadata }) => metadata.name === ip4);
                expect([allocation?.spec.pod?.name, allocation?.spec.owner]).toEqual([name, owner(index)]);
            }
            expect(allocations).toHaveLength(4);
            await deleteExample("statefulset");
            await poolIsFree("sts-ip-pool1");
        });
    });

    describe("a Pod", () => {
        it("with a pool gets an address of it", async () => {
            await applyExample("pod");
            const [pod] = await other.ready(["pod1"]);
            expect(inPrefix(pod?.ip4 ?? "", "10.2.2.0/24")).toBe(true);
            await deleteExample("pod");
        });

        it("with a pool and a fixed address gets that", async () => {
            await applyExample("pod-fixed");
            const [pod] = await other.ready(["pod2"]);
            expect(pod?.ip4).toBe("10.2.2.100");
            await deleteExample("pod-fixed");
        });

        it("with a pool of each family gets an address of both", async () => {
            await applyExample("pod-dual-stack");
            const [pod] = await other.ready(["pod4"]);
            expect(inPrefix(pod?.ip4 ?? "", "10.10.1.0/26")).toBe(true);
            expect(inPrefix(pod?.ip6 ?? "", "3ffe:ffff:1:1ff::/64")).toBe(true);
            const [allocation] = await allocationsOf("ipv6-pool-1");
            expect(allocation?.metadata.name).toMatch(/^3ffe-ffff-1-1ff-0-0-0-[12][0-9a-f]{2}$/);
            await deleteExample("pod-dual-stack");
        });

        it("of a Deployment gets one by the template", async () => {
            await applyExample("deployment");
            await rolledOut(other.name, "deployment/deployment1");
            const ips = (await other.pods())
                .filter(({ metadata }) => metadata.name.startsWith("deployment1-"))
                .map(({ status }) => status.podIPs?.map(({ ip }) => ip) ?? []);
            expect(ips.map((each) => each.map((ip) => inPrefix(ip, "10.2.2.0/24")))).toEqual([[true], [true], [true]]);
            expect(new Set(ips.flat()).size).toBe(3);
            await deleteExample("deployment");
        });
    });

    delegatedExamples(() => other, "subnet");

    it("are shown by antctl", async () => {
        expect(await antctl(["ipam", "show"])).toContain("pool1");
        expect(await antctl(["ipam", "show", "pool1"])).toContain("10.2.0.12-10.2.0.20");
        expect(await antctl(["ipam", "who", "10.2.0.15"])).toContain("namespace1/pod3");
        expect(await antctl(["ipam", "explain", "pod", "namespace1/pod3"])).toContain("pool1");
        expect(await antctl(["ipam", "plan", "-f", exampleFile("pool1")])).toContain("Nothing is refused");
        expect(JSON.parse(await antctl(["ipam", "show", "-o", "json"]))).toBeTruthy();
        expect(await antctl(["ipam", "show", "-o", "yaml"])).toContain("pool1");
        for (const shell of ["bash", "zsh", "fish"]) expect(await antctl(["completion", shell])).toContain("antctl");
    });
});
