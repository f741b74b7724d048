import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { churn, nothingLeft, tracesAtRest } from "../fixture/churn.ts";
import { killDaemon, kubectl, systemNamespace, waitForAgents, workers } from "../fixture/cluster.ts";
import { TestNamespace } from "../fixture/pods.ts";

describe("churn", () => {
    let namespace: TestNamespace;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-churn");
    });
    afterAll(() => namespace[Symbol.asyncDispose]());

    // 30 Pods, three times: matrix/30-churn
    it("leaves nothing behind", async () => {
        const before = await tracesAtRest();
        await churn(namespace, 10);
        expect(await nothingLeft(before)).toBe(true);
    });

    it("leaves nothing behind when every daemon is killed during churn", async () => {
        const before = await tracesAtRest();
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
        await churn(namespace);
        await kills;
        await waitForAgents();
        expect(await nothingLeft(before)).toBe(true);
    });
});
