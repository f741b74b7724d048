import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nodeObject, workers } from "../fixture/cluster.ts";
import { families } from "../fixture/addresses.ts";
import { Outside, sourceSeenBy } from "../fixture/outside.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";

describe("traffic to the outside", () => {
    let namespace: TestNamespace;
    let outside: Outside;
    let pod: TestPod;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-outside");
        outside = await Outside.start();
        [pod] = (await namespace.start([{ name: "inside", node: workers[0] ?? "" }])) as [TestPod];
    });
    afterAll(async () => {
        await outside[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
    });

    // with noSNAT it keeps the Pod's: 61-settings
    it.each(families)("leaves with the Node's %s address", async (family) => {
        const addresses = (await nodeObject(pod.node)).status.addresses.map(({ address }) => address);
        const seen = await sourceSeenBy(outside, namespace, pod.name, family);
        expect(addresses).toContain(seen);
        expect(seen.includes(":")).toBe(family === "IPv6");
    });
});
