import { describe, expect, it } from "@jest/globals";
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
        expect(namedBy(await readUsers(clusterOf({})), "web")).toEqual({
            namespaces: ["shop"],
            pods: ["shop/a"],
            deployments: ["shop/a"],
            statefulSets: ["shop/a"],
            daemonSets: ["shop/a"],
            cronJobs: ["shop/a"],
        });
    });

    it("is nobody whose Pods are in the network of their Node", async () => {
        const named = namedBy(await readUsers(clusterOf({ hostNetwork: true })), "web");
        expect(Object.values(named).flat()).toEqual(["shop"]);
    });
});
