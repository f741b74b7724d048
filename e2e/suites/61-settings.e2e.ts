import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { inPrefix, families, ipOf, ofFamily } from "../fixture/addresses.ts";
import {
    apply,
    helmRevision,
    helmRollback,
    helmUpgrade,
    kubectl,
    nodeObject,
    systemNamespace,
    systemPod,
    workers,
} from "../fixture/cluster.ts";
import { allocationsOf, eventsAbout, poolManifest, poolsKey, setIpam, type AllocationJson } from "../fixture/ipam.ts";
import { Outside, sourceSeenBy } from "../fixture/outside.ts";
import { answersPings } from "../fixture/pings.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";

// one upgrade for both, as every upgrade restarts all agents
describe("the feature gate AntreaIPAM and noSNAT", () => {
    const [node = ""] = workers;
    const annotations = { [poolsKey]: "e2e-gate" };
    let namespace: TestNamespace;
    let outside: Outside;
    let early: TestPod[];
    let pooled: TestPod;
    let allocations: readonly AllocationJson[];
    /** The revision of the release with both disabled. */
    let off: string;

    const ping = async (from: string, to: string): Promise<void> => {
        await eventually(`${to} answers`, () => namespace.exec(from, `ping -c 1 -W 2 ${to}`));
        await namespace.exec(from, answersPings(to));
    };
    const nodeOf = (pod: TestPod | undefined): Promise<readonly boolean[]> =>
        nodeObject(node).then(({ spec: { podCIDRs: [v4 = "", v6 = ""] = [] } }) => [
            inPrefix(pod?.ip4 ?? "", v4),
            inPrefix(pod?.ip6 ?? "", v6),
        ]);
    const nodeAddresses = async (): Promise<readonly string[]> =>
        (await nodeObject(node)).status.addresses.map(({ address }) => address);

    /** The events about ignored annotations are on the Pods that run without their pool, and on no others. */
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
        [namespace, outside] = await Promise.all([TestNamespace.create("e2e-settings"), Outside.start()]);
        off = await helmRevision();
    });
    afterAll(async () => {
        await setIpam(true);
        await outside[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
        await eventually("no address is held", async () =>
            (await allocationsOf("e2e-gate")).length === 0 ? true : undefined,
        );
        await kubectl(["delete", "ippool", "e2e-gate", "--ignore-not-found"]);
    });

    it("leave, both off, the annotations without effect", async () => {
        early = await namespace.start([
            { name: "early", node, annotations },
            { name: "early-2", node, annotations },
        ]);
        for (const pod of early) expect(await nodeOf(pod)).toEqual([true, true]);
    });

    describe("turned on by an upgrade", () => {
        beforeAll(async () => {
            await helmUpgrade(["featureGates.AntreaIPAM=true", "noSNAT=true"]);
        });

        it("give a new Pod an address of its pool; who was there keeps what it has", async () => {
            await apply(poolManifest("e2e-gate", { cidr: "10.21.0.0/24", gateway: "10.21.0.1", prefixLength: 24 }));
            [pooled] = (await namespace.start([{ name: "pooled", node, annotations }])) as [TestPod];
            expect(inPrefix(pooled.ip4, "10.21.0.0/24")).toBe(true);
            expect(await namespace.ready(["early", "early-2"])).toEqual(early);
            await ping("early", pooled.ip4);
            allocations = await allocationsOf("e2e-gate");
            expect(allocations.map(({ metadata }) => metadata.name)).toEqual([pooled.ip4]);
        });

        it("show the outside the Pod's own address", async () => {
            const [pod] = early as [TestPod];
            // the return route: the external host has no default gateway to the Pods
            const addresses = await nodeAddresses();
            for (const family of families) {
                const [flag, length] = family === "IPv4" ? ["-4", 32] : ["-6", 128];
                const route = `${ipOf(pod, family)}/${length}`;
                await outside.exec(["ip", flag, "route", "replace", route, "via", ofFamily(addresses, family)]);
            }
            await eventually("masquerading ends", async () =>
                (await sourceSeenBy(outside, namespace, pod.name, "IPv4")) === pod.ip4 ? true : undefined,
            );
            expect(await sourceSeenBy(outside, namespace, pod.name, "IPv6")).toBe(pod.ip6);
        });
    });

    describe("turned off by a rollback", () => {
        beforeAll(() => helmRollback({ revision: off }));

        it("leave pools, allocations and Pods as they are, and a new Pod is warned that its pool has no effect", async () => {
            expect(await allocationsOf("e2e-gate")).toEqual(allocations);
            // the webhook is kept for users who set the gate in the ConfigMap; it does not refuse annotations now
            expect(await kubectl(["get", "deployment", "-A", "-o", "name"])).toContain("antrea-webhook");
            await ping("pooled", early[0]?.ip4 ?? "");
            await ping("early", pooled.ip4);
            const [late] = await namespace.start([{ name: "late", node, annotations }]);
            expect(await nodeOf(late)).toEqual([true, true]);
            await warned();
            await namespace.delete("pooled");
        });

        it("show the outside the Node's address again", async () => {
            const own = await nodeAddresses();
            await eventually("masquerading is back", async () => {
                expect(own).toContain(await sourceSeenBy(outside, namespace, "early", "IPv4"));
                return true;
            });
        });
    });

    it("free, the gate on again, what a Pod left behind while nothing maintained allocations", async () => {
        await setIpam(true);
        await eventually(
            "the address is free again",
            async () => ((await allocationsOf("e2e-gate")).length === 0 ? true : undefined),
            120_000,
        );
    });
});
