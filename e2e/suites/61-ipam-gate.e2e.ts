import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { inPrefix } from "../fixture/addresses.ts";
import { apply, helmRollback, kubectl, nodeObject, systemNamespace, systemPod, workers } from "../fixture/cluster.ts";
import { claimsOf, eventsAbout, poolManifest, poolsKey, setIpam } from "../fixture/ipam.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually, run } from "../fixture/run.ts";

describe("the feature gate AntreaIPAM", () => {
    const [node = ""] = workers;
    const annotations = { [poolsKey]: "e2e-gate" };
    let namespace: TestNamespace;
    let early: TestPod[];

    /** The present revision of the release. */
    const revision = async (): Promise<string> => {
        const history = JSON.parse(
            await run("helm", ["history", "antrea", "--namespace", systemNamespace, "-o", "json"]),
        ) as { revision: number }[];
        return String(history.at(-1)?.revision);
    };
    const ping = async (from: string, to: string): Promise<void> =>
        expect(await eventually(`${to} answers`, () => namespace.exec(from, `ping -c 2 -i 0.2 -W 2 ${to}`))).toContain(
            " 0% packet loss",
        );
    const nodeOf = (pod: TestPod | undefined): Promise<readonly boolean[]> =>
        nodeObject(node).then(({ spec: { podCIDRs: [v4 = "", v6 = ""] = [] } }) => [
            inPrefix(pod?.ip4 ?? "", v4),
            inPrefix(pod?.ip6 ?? "", v6),
        ]);

    /** The events of annotations that have no effect are on the Pods that run without their pool, and on no others. */
    const warned = async (): Promise<void> => {
        const eventsOf = async (name: string): Promise<readonly string[]> =>
            (await eventsAbout(namespace.name, "Pod", name, "IPPoolsIgnored")).map(({ note }) => note);
        for (const name of ["early", "early-2", "late"]) {
            const note = await eventually(`the event on ${name}`, async () => (await eventsOf(name)).at(-1), 20_000);
            expect(note).toContain("featureGates.AntreaIPAM=true");
        }
        expect(await eventsOf("pooled")).toEqual([]);
        const pod = await systemPod("antrea-agent", node);
        const log = await kubectl(["-n", systemNamespace, "logs", pod, "-c", "antrea-agent"]);
        const lines = log.split("\n").filter((line) => line.includes("annotations of IPPools are ignored"));
        expect(lines).toHaveLength(1);
    };

    beforeAll(async () => {
        await setIpam(false);
        namespace = await TestNamespace.create("e2e-ipam-gate");
    }, 400_000);
    afterAll(async () => {
        await setIpam(true);
        await namespace[Symbol.asyncDispose]();
        await eventually("no address is held", async () =>
            (await claimsOf("e2e-gate")).length === 0 ? true : undefined,
        );
        await kubectl(["delete", "ippool", "e2e-gate", "--ignore-not-found"]);
    }, 400_000);

    it("that is off leaves the annotations without effect", async () => {
        early = await namespace.start([
            { name: "early", node, annotations },
            { name: "early-2", node, annotations },
        ]);
        for (const pod of early) expect(await nodeOf(pod)).toEqual([true, true]);
    });

    it("is turned on by an upgrade, off by a rollback and on again; pools, claims and Pods stay", async () => {
        const off = await revision();
        await setIpam(true);
        await apply(poolManifest("e2e-gate", { cidr: "10.21.0.0/24", gateway: "10.21.0.1", prefixLength: 24 }));
        const [pooled] = (await namespace.start([{ name: "pooled", node, annotations }])) as [TestPod];
        expect(inPrefix(pooled.ip4, "10.21.0.0/24")).toBe(true);
        // who was there keeps what it has
        expect(await namespace.ready(["early", "early-2"])).toEqual(early);
        await ping("early", pooled.ip4);
        const claims = await claimsOf("e2e-gate");
        expect(claims.map(({ metadata }) => metadata.name)).toEqual([pooled.ip4]);

        await helmRollback({ revision: off });
        expect(await claimsOf("e2e-gate")).toEqual(claims);
        // the webhook stays for who switches the gate in the ConfigMap; it refuses no annotation now
        expect(await kubectl(["get", "deployment", "-A", "-o", "name"])).toContain("antrea-webhook");
        await ping("pooled", early[0]?.ip4 ?? "");
        await ping("early", pooled.ip4);
        const [late] = await namespace.start([{ name: "late", node, annotations }]);
        expect(await nodeOf(late)).toEqual([true, true]);
        await warned();
        await namespace.delete("pooled");

        await setIpam(true);
        // what a Pod left behind while nobody looked after claims
        await eventually(
            "the address is free again",
            async () => ((await claimsOf("e2e-gate")).length === 0 ? true : undefined),
            120_000,
        );
    }, 600_000);
});
