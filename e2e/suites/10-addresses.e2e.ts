import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { nodeObjects, workers } from "../fixture/cluster.ts";
import { inPrefix } from "../fixture/addresses.ts";
import { TestNamespace, type TestPod } from "../fixture/pods.ts";

describe("addresses", () => {
    let namespace: TestNamespace;
    let pods: TestPod[];

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-addresses");
        pods = await namespace.start(
            workers.flatMap((node) => [1, 2, 3, 4].map((n) => ({ name: `${node}-${n}`, node }))),
        );
    });
    afterAll(() => namespace[Symbol.asyncDispose]());

    it("gives every Node one podCIDR of each family, none of them twice", async () => {
        const prefixes = (await nodeObjects()).map((node) => node.spec.podCIDRs ?? []);
        for (const pair of prefixes) expect(pair.map((prefix) => prefix.includes(":"))).toEqual([false, true]);
        expect(new Set(prefixes.flat()).size).toBe(prefixes.length * 2);
    });

    it("gives Pods addresses of both families inside their Node's podCIDRs", async () => {
        const nodes = await nodeObjects();
        for (const pod of pods) {
            const [v4 = "", v6 = ""] = nodes.find((node) => node.metadata.name === pod.node)?.spec.podCIDRs ?? [];
            expect({ pod: pod.name, inside: [inPrefix(pod.ip4, v4), inPrefix(pod.ip6, v6)] }).toEqual({
                pod: pod.name,
                inside: [true, true],
            });
        }
    });

    it("gives no address twice", () => {
        const addresses = pods.flatMap((pod) => [pod.ip4, pod.ip6]);
        expect(new Set(addresses).size).toBe(addresses.length);
    });
});
