import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { apply, killDaemon, kubectl, systemNamespace, waitForAgents, workers } from "../fixture/cluster.ts";
import { manifest, TestNamespace } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";
import { tracesOfWorkers, type Traces } from "../fixture/traces.ts";

describe("churn", () => {
    let namespace: TestNamespace;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-churn");
    }, 130_000);
    afterAll(() => namespace[Symbol.asyncDispose]());

    const names = Array.from({ length: 30 }, (_, n) => `churn-${n}`);
    const round = async (): Promise<void> => {
        await apply(
            names.map((name, n) => manifest(namespace.name, { name, node: workers[n % workers.length] ?? "" })),
        );
        await kubectl(
            [
                "-n",
                namespace.name,
                "wait",
                "--for=condition=Ready",
                "--timeout=150s",
                ...names.map((name) => `pod/${name}`),
            ],
            {
                timeoutMs: 160_000,
            },
        );
        const addresses = (await namespace.pods()).flatMap((pod) => pod.status.podIPs?.map(({ ip }) => ip) ?? []);
        expect(addresses).toHaveLength(60);
        expect(new Set(addresses).size).toBe(60);
        await namespace.delete(...names);
    };
    const settled = (before: readonly Traces[]): Promise<boolean> =>
        eventually(
            "nothing is left behind",
            async () => {
                expect(await tracesOfWorkers()).toEqual(before);
                return true;
            },
            150_000,
            3_000,
        );

    it("leaves no port, flow, address, route or namespace after 30 Pods came and went three times", async () => {
        const before = await tracesOfWorkers();
        for (let n = 0; n < 3; n += 1) await round();
        expect(await settled(before)).toBe(true);
    }, 400_000);

    it("leaves nothing behind when every daemon is killed during that churn", async () => {
        const before = await tracesOfWorkers();
        const [first = "", second = ""] = workers;
        const controllerNode = await kubectl([
            "-n",
            systemNamespace,
            "get",
            "pods",
            "-l",
            "component=antrea-controller",
            "-o",
            "jsonpath={.items[0].spec.nodeName}",
        ]);
        const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
        const kills = (async () => {
            await pause(2_000);
            await killDaemon(first, "agent");
            await killDaemon(second, "switch");
            await pause(6_000);
            await killDaemon(first, "database");
            await killDaemon(controllerNode, "controller");
            await pause(6_000);
            await killDaemon(second, "agent");
            await killDaemon(first, "switch");
        })();
        await round();
        await kills;
        await waitForAgents();
        expect(await settled(before)).toBe(true);
    }, 500_000);
});
