import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, kubectl } from "../fixture/cluster.ts";
import { getJson } from "../fixture/objects.ts";
import { allocationsOf, expectIpam, expectConsistent, poolsKey, TestPools } from "../fixture/ipam.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { rolledOut, statefulSet } from "../fixture/workloads.ts";

describe("addresses of StatefulSets", () => {
    let namespace: TestNamespace;
    let pools: TestPools;
    const set = (replicas: number): object =>
        statefulSet(namespace.name, { name: "web", replicas, annotations: { [poolsKey]: "e2e-sts-4,e2e-sts-6" } });
    const scale = (replicas: number): Promise<string> =>
        kubectl(["-n", namespace.name, "scale", "statefulset/web", `--replicas=${replicas}`]);
    const ready = (): Promise<void> => rolledOut(namespace.name, "statefulset/web");

    /** The addresses of each Pod, by its name. */
    const addresses = async (): Promise<Readonly<Record<string, readonly string[]>>> =>
        Object.fromEntries(
            (await namespace.pods()).map(({ metadata, status }) => [
                metadata.name,
                (status.podIPs ?? []).map(({ ip }) => ip),
            ]),
        );
    /** The allocations of both pools as `ordinal state`, in order. */
    const held = async (): Promise<readonly string[]> => {
        const allocations = (await Promise.all(["e2e-sts-4", "e2e-sts-6"].map(allocationsOf))).flat();
        return allocations.map(({ spec }) => `${spec.owner.index} ${spec.state}`).sort();
    };
    const bothOf = (...ordinals: readonly number[]): readonly string[] =>
        ordinals.flatMap((ordinal) => [`${ordinal} Allocated`, `${ordinal} Allocated`]);
    const settled = (expected: readonly string[]): Promise<boolean> =>
        eventually(
            "the allocations are as they should be",
            async () => {
                expect(await held()).toEqual(expected);
                return true;
            },
            90_000,
            1_000,
        );

    beforeAll(async () => {
        await expectIpam();
        namespace = await TestNamespace.create("e2e-ipam-sets");
        pools = await TestPools.create({
            "e2e-sts-4": [{ cidr: "10.23.0.0/28", gateway: "10.23.0.1", prefixLength: 24 }],
            "e2e-sts-6": [{ start: "fd23::10", end: "fd23::1f", gateway: "fd23::1", prefixLength: 64 }],
        });
        await apply(set(3));
        await ready();
    });
    afterAll(async () => {
        await namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
    });

    it("are of both families for each ordinal, and of none that is not asked for", async () => {
        const ips = await addresses();
        expect(Object.keys(ips).sort()).toEqual(["web-0", "web-1", "web-2"]);
        for (const [ip4, ip6] of Object.values(ips)) {
            expect(ip4).toMatch(/^10\.23\.0\.([2-9]|1[0-4])$/);
            expect(ip6).toMatch(/^fd23::1[0-9a-f]$/);
        }
        expect(await held()).toEqual(bothOf(0, 1, 2));
    });

    it("stay when the set is scaled up, and are given back when it is scaled down", async () => {
        const before = await addresses();
        await scale(5);
        await ready();
        expect(await addresses()).toMatchObject(before);
        expect(await held()).toEqual(bothOf(0, 1, 2, 3, 4));
        await scale(2);
        await settled(bothOf(0, 1));
        const { "web-0": zero, "web-1": one } = before;
        expect(
            await eventually("two Pods are left", async () => {
                const now = await addresses();
                return Object.keys(now).length === 2 ? now : undefined;
            }),
        ).toEqual({ "web-0": zero, "web-1": one });
    });

    it("stay when its Pods are restarted one after the other", async () => {
        const before = await addresses();
        await kubectl(["-n", namespace.name, "rollout", "restart", "statefulset/web"]);
        await ready();
        expect(await addresses()).toEqual(before);
    });

    it("follow a Pod to another Node", async () => {
        const nodeOf = (): Promise<string> =>
            kubectl(["-n", namespace.name, "get", "pod", "web-0", "-o", "jsonpath={.spec.nodeName}"]);
        const before = { ips: await addresses(), node: await nodeOf() };
        await kubectl(["cordon", before.node]);
        try {
            await namespace.delete("web-0");
            await eventually("the set makes its Pod again", () => namespace.ready(["web-0"]));
            await ready();
        } finally {
            await kubectl(["uncordon", before.node]);
        }
        expect(await nodeOf()).not.toBe(before.node);
        expect(await addresses()).toEqual(before.ips);
        expect(await held()).toEqual(bothOf(0, 1));
    });

    it("stay with Pods that outlive their set, and with the set that adopts them", async () => {
        const before = await addresses();
        await kubectl(["-n", namespace.name, "delete", "statefulset", "web", "--cascade=orphan", "--wait"]);
        // longer than the controller's reaction time, and once around its clean-up
        await pause(5_000);
        expect(await held()).toEqual(bothOf(0, 1));
        expect(await addresses()).toEqual(before);

        await apply(set(2));
        await ready();
        const { metadata } = await getJson<{ metadata: { uid: string } }>("statefulset", {
            name: "web",
            namespace: namespace.name,
        });
        await eventually("the allocations belong to the set", async () => {
            const owners = (await allocationsOf("e2e-sts-4")).map(({ spec }) => spec.owner.uid);
            return owners.every((uid) => uid === metadata.uid) ? true : undefined;
        });
        await namespace.delete("web-1");
        await eventually("the set makes its Pod again", () => namespace.ready(["web-1"]));
        expect(await addresses()).toEqual(before);
        await expectConsistent();
    });

    it("are free when the set is deleted", async () => {
        await kubectl(["-n", namespace.name, "delete", "statefulset", "web", "--wait"]);
        await settled([]);
    });
});
