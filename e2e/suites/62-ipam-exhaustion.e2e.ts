import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, kubectl } from "../fixture/cluster.ts";
import {
    allocationsOf,
    conditionOf,
    expectIpam,
    eventNote,
    podIpsKey,
    poolObject,
    poolsKey,
    TestPools,
} from "../fixture/ipam.ts";
import { manifest, TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { deployment, rolledOut } from "../fixture/workloads.ts";

describe("addresses that are not to be had", () => {
    let namespace: TestNamespace;
    let pools: TestPools;

    beforeAll(async () => {
        await expectIpam();
        namespace = await TestNamespace.create("e2e-ipam-full");
        pools = await TestPools.create({
            "e2e-three": [{ start: "10.24.0.11", end: "10.24.0.13", gateway: "10.24.0.1", prefixLength: 24 }],
            "e2e-fixed": [{ cidr: "10.24.1.0/24", gateway: "10.24.1.1", prefixLength: 24 }],
        });
    });
    afterAll(async () => {
        await namespace[Symbol.asyncDispose]();
        await pools[Symbol.asyncDispose]();
    });

    describe("with a pool of three", () => {
        const usageIs = (expected: object, exhausted: string): Promise<boolean> =>
            eventually("the pool's status reports it", async () => {
                const pool = await poolObject("e2e-three");
                expect([pool.status?.usage, conditionOf(pool, "Exhausted")]).toEqual([expected, exhausted]);
                return true;
            });
        const annotations = { [poolsKey]: "e2e-three" };

        it("go to the last one, and the pool reports that it is exhausted", async () => {
            const pods = await namespace.start(["a", "b", "c"].map((name) => ({ name, annotations })));
            expect(pods.map(({ ip4 }) => ip4).sort()).toEqual(["10.24.0.11", "10.24.0.12", "10.24.0.13"]);
            expect(await usageIs({ total: 3, used: 3, reserved: 0, free: 0 }, "True")).toBe(true);
        });

        it("leave the fourth Pod waiting with an event, until one is free", async () => {
            await apply(manifest(namespace.name, { name: "d", annotations }));
            const note = await eventNote(namespace.name, "Pod", "d", "IPAllocationFailed");
            expect(note).toContain("e2e-three");
            expect(note).toMatch(/delete|add|grow|extend|larger|another/i);
            const freed = (await namespace.pods()).find(({ metadata }) => metadata.name === "b")?.status.podIPs?.[0];
            await namespace.delete("b");
            const [pod] = await namespace.ready(["d"]);
            expect(pod?.ip4).toBe(freed?.ip);
            await namespace.delete("a", "c", "d");
            expect(await usageIs({ total: 3, used: 0, reserved: 0, free: 3 }, "False")).toBe(true);
        });
    });

    describe("because a Pod has the fixed one", () => {
        const fixed = (ip: string): Readonly<Record<string, string>> => ({ [poolsKey]: "e2e-fixed", [podIpsKey]: ip });

        it("are reported with the name of that Pod", async () => {
            await namespace.start([{ name: "holder", annotations: fixed("10.24.1.50") }]);
            await apply(manifest(namespace.name, { name: "second", annotations: fixed("10.24.1.50") }));
            const note = await eventNote(namespace.name, "Pod", "second", "IPAllocationFailed");
            for (const part of ["e2e-fixed", "10.24.1.50", `${namespace.name}/holder`]) expect(note).toContain(part);
            await namespace.delete("holder", "second");
        });

        it("are warned about for a Deployment that starts its second Pod before the first ends", async () => {
            const spec = { name: "rolling", replicas: 1, annotations: fixed("10.24.1.60") };
            const applied = await kubectl(["apply", "-f", "-"], {
                input: JSON.stringify(deployment(namespace.name, spec)),
                withErrors: true,
            });
            expect(applied).toMatch(/Warning: .*Recreate/);
            await rolledOut(namespace.name, "deployment/rolling");
            const [first] = await namespace.pods();
            await kubectl(["-n", namespace.name, "rollout", "restart", "deployment/rolling"]);
            const second = await eventually("the second Pod", async () =>
                (await namespace.pods()).find(({ metadata }) => metadata.name !== first?.metadata.name),
            );
            const note = await eventNote(namespace.name, "Pod", second.metadata.name, "IPAllocationFailed");
            expect(note).toContain(`${namespace.name}/${first?.metadata.name}`);

            const recreate = JSON.stringify({ spec: { strategy: { type: "Recreate", rollingUpdate: null } } });
            await kubectl(["-n", namespace.name, "patch", "deployment", "rolling", "--type=merge", "-p", recreate]);
            await rolledOut(namespace.name, "deployment/rolling");
            await kubectl(["-n", namespace.name, "delete", "deployment", "rolling", "--wait"]);
            await eventually("the address is free", async () =>
                (await allocationsOf("e2e-fixed")).length === 0 ? true : undefined,
            );
        });
    });
});
