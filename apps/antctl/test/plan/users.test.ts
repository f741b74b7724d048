import { describe, expect, it } from "@jest/globals";
import { KubeError, type ApiClient } from "@antrea/kube";
import { Cluster } from "../../src/cluster/index.ts";
import { namedBy, readUsers } from "../../src/plan/users.ts";

const annotations = { "ipam.antrea.io/ippools": "web" };

/** An API server with one object of each kind, with these Pods. */
function clusterOf(spec: Readonly<Record<string, unknown>>): Cluster {
    const metadata = { namespace: "shop", name: "a" };
    const template = { metadata: { annotations }, spec };
    const bodies: Readonly<Record<string, unknown>> = {
        namespaces: { metadata: { name: "shop", annotations } },
        pods: { metadata: { ...metadata, annotations }, spec },
        cronjobs: { metadata, spec: { jobTemplate: { spec: { template } } } },
        "network-attachment-definitions": {
            metadata,
            spec: { config: '{"type": "antrea", "ipam": {"type": "antrea", "ippools": ["web"]}}' },
        },
    };
    const api = {
        pages: async function* ({ plural }: { readonly plural: string }) {
            yield { items: [bodies[plural] ?? { metadata, spec: { template } }], resourceVersion: "1" };
        },
    };
    return new Cluster({ api: api as never }, { timeoutMs: 1_000 });
}

describe("who names a pool", () => {
    it("is every kind that the webhook counts", async () => {
        expect(namedBy(await readUsers(clusterOf({})), "web", undefined)).toEqual({
            namespaces: ["shop"],
            pods: ["shop/a"],
            deployments: ["shop/a"],
            statefulSets: ["shop/a"],
            daemonSets: ["shop/a"],
            cronJobs: ["shop/a"],
            networks: ["shop/a"],
        });
    });

    it("is nobody whose Pods are in the network of their Node", async () => {
        const named = namedBy(await readUsers(clusterOf({ hostNetwork: true })), "web", undefined);
        expect(Object.values({ ...named, networks: [] }).flat()).toEqual(["shop"]);
    });

    it.each([
        ["none without their CustomResourceDefinition", "NOT_FOUND", []],
        ["unknown if they may not be read", "FORBIDDEN", undefined],
    ] as const)("has networks that are %s", async (_, code, expected) => {
        const cluster = clusterOf({});
        const { pages } = cluster.api;
        const failing: ApiClient["pages"] = async function* (resource, options) {
            if (resource.plural === "network-attachment-definitions") throw new KubeError(code, "no");
            yield* pages(resource, options);
        };
        const api = { ...cluster.api, pages: failing } as ApiClient;
        expect((await readUsers(new Cluster({ api }, { timeoutMs: 1_000 }))).networks).toEqual(expected);
    });
});
