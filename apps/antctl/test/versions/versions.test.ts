import { describe, expect, it } from "@jest/globals";
import { Cluster } from "../../src/cluster/index.ts";
import { componentsOf, renderVersion } from "../../src/versions/report.ts";

function podOf(component: string, image: string, phase = "Running"): unknown {
    const containers = [
        { name: "other", image: "other:9" },
        { name: component, image },
    ];
    return { metadata: { name: "p", labels: { app: "antrea", component } }, spec: { containers }, status: { phase } };
}

async function readAll(...items: readonly unknown[]): ReturnType<typeof componentsOf> {
    const asked: string[] = [];
    const api = {
        pages: async function* (_: unknown, { labelSelector }: { readonly labelSelector: string }) {
            asked.push(labelSelector);
            yield { items, resourceVersion: "1" };
        },
    };
    const found = await componentsOf(new Cluster({ api: api as never }, { timeoutMs: 1_000 }));
    expect(asked).toEqual(["app=antrea"]);
    return found;
}

describe("the versions of a cluster", () => {
    it("are those of the images of its Pods, each once with how many Pods run it", async () => {
        const components = await readAll(
            podOf("antrea-agent", "registry.example:5000/antrea/antrea-agent:0.2.0"),
            podOf("antrea-agent", "registry.example:5000/antrea/antrea-agent:0.1.0"),
            podOf("antrea-agent", "registry.example:5000/antrea/antrea-agent:0.2.0"),
            podOf("antrea-controller", "antrea/antrea-controller:0.2.0@sha256:0123456789abcdef"),
            podOf("antrea-controller", "antrea/antrea-controller:0.1.0", "Failed"),
            podOf("antrea-webhook", "registry.example:5000/antrea/antrea-webhook@sha256:0123456789abcdef"),
        );
        expect(components).toEqual([
            {
                name: "antrea-controller",
                version: "0.2.0",
                image: "antrea/antrea-controller:0.2.0@sha256:0123456789abcdef",
                pods: 1,
            },
            expect.objectContaining({ name: "antrea-agent", version: "0.1.0", pods: 1 }),
            expect.objectContaining({ name: "antrea-agent", version: "0.2.0", pods: 2 }),
            expect.objectContaining({ name: "antrea-webhook", version: "sha256:0123456789abcdef", pods: 1 }),
        ]);
        expect(renderVersion({ version: "0.2.0", components })).toBe(
            "antctl 0.2.0\nantrea-controller 0.2.0 (1 Pod)\nantrea-agent 0.1.0 (1 Pod)\nantrea-agent 0.2.0 (2 Pods)\n" +
                "antrea-webhook sha256:0123456789abcdef (1 Pod)",
        );
    });

    it("are none where Antrea is not installed", async () => {
        const components = await readAll();
        expect(renderVersion({ version: "0.2.0", components })).toBe(
            "antctl 0.2.0\nThe cluster has no Pods of Antrea.",
        );
    });

    it("may be unknown, which leaves that of antctl", () => {
        expect(renderVersion({ version: "0.2.0", problem: "no connection" })).toBe("antctl 0.2.0");
    });
});
