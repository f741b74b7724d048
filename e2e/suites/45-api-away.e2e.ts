import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startApiServer, stopApiServer } from "../fixture/api-server.ts";
import { killDaemon, waitForAgents, workers } from "../fixture/cluster.ts";
import { inProcess, pidOfPod } from "../fixture/containers.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";
import { eventually } from "../fixture/run.ts";

describe("while the API server is away", () => {
    const [first = "", second = ""] = workers;
    let namespace: TestNamespace;
    let near: TestPod;
    let far: TestPod;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-api-away");
        [, near, far] = (await namespace.start([
            { name: "client", node: first },
            { name: "near", node: first },
            { name: "far", node: second },
        ])) as [TestPod, TestPod, TestPod];
    });
    afterAll(async () => {
        await startApiServer();
        await namespace[Symbol.asyncDispose]();
    });

    it("restarts of agent and OVS on a Node give running Pods their traffic back", async () => {
        const pid = await pidOfPod({ namespace: namespace.name, pod: "client" });
        const ping = (ip: string): Promise<string> => inProcess("client", pid, ["ping", "-c", "1", "-W", "1", ip]);
        await stopApiServer();
        await killDaemon(first, "switch");
        await killDaemon(first, "agent");
        for (const ip of [near.ip4, far.ip4, near.ip6, far.ip6]) {
            expect(await eventually(`${ip} answers`, () => ping(ip), 90_000)).toContain(" 0% packet loss");
        }
        await startApiServer();
        await waitForAgents();
        const [late] = await namespace.start([{ name: "late", node: first }]);
        expect([near.ip4, near.ip6]).not.toContain(late?.ip4);
        expect(await eventually("the new Pod answers", () => ping(late?.ip4 ?? ""))).toContain(" 0% packet loss");
    });
});
