import { expect, it } from "@jest/globals";
import { readPod } from "../../src/cluster/pod.ts";

it("a Pod has the devices that its containers request, counted together", () => {
    const container = (limits: Record<string, string>) => ({ name: "c", resources: { limits } });
    const { limits } = readPod({
        metadata: { name: "web-0", namespace: "shop" },
        spec: {
            containers: [
                container({ cpu: "500m", memory: "1Gi", "intel.com/a": "2" }),
                container({ "intel.com/a": "1", "intel.com/b": "1" }),
                { name: "plain" },
            ],
            initContainers: [container({ "intel.com/b": "1" })],
        },
    });
    expect(limits).toEqual({ "intel.com/a": 3, "intel.com/b": 2 });
    expect(readPod({ metadata: { name: "web-0" } }).limits).toEqual({});
});
