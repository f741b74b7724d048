import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    apply,
    getJson,
    killDaemon,
    kubectl,
    systemNamespace,
    systemPod,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { TestNamespace } from "../fixture/pods.ts";
import { Background, eventually } from "../fixture/run.ts";

/** What a watch printed since it began, one line for each object of each event. */
function watch(args: readonly string[], jsonpath: string): Background {
    return new Background("kubectl", ["get", ...args, "--watch", "-o", `jsonpath=${jsonpath}`]);
}

const linesOf = ({ output }: Background): readonly string[] => output.split("\n").filter((line) => line !== "");

describe("endpoints of Services while agent and OVS of their Node restart", () => {
    const [node = ""] = workers;
    const service = "web";
    let namespace: TestNamespace;
    let nodes: Background;
    let endpoints: Background;

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-endpoints");
        await namespace.start([
            { name: "one", node, labels: { service } },
            { name: "two", node, labels: { service } },
        ]);
        await apply({
            apiVersion: "v1",
            kind: "Service",
            metadata: { name: service, namespace: namespace.name },
            spec: { selector: { service }, ports: [{ port: 80, targetPort: 8080 }] },
        });
        await eventually("both Pods are endpoints", async () => {
            const slices = await getJson<{ items: { endpoints?: { conditions: { ready?: boolean } }[] }[] }>([
                "endpointslices",
                "-n",
                namespace.name,
            ]);
            const all = slices.items.flatMap((slice) => slice.endpoints ?? []);
            return all.length >= 2 && all.every(({ conditions }) => conditions.ready) ? true : undefined;
        });
        nodes = watch(["node", node], '{.status.conditions[?(@.type=="Ready")].status}{"\\n"}');
        endpoints = watch(
            ["endpointslices", "-n", namespace.name, "-l", `kubernetes.io/service-name=${service}`],
            '{range .endpoints[*]}{.targetRef.name} {.conditions.ready}{"\\n"}{end}',
        );
        await eventually("both watches have begun", () =>
            Promise.resolve(linesOf(nodes).length > 0 && linesOf(endpoints).length >= 2 ? true : undefined),
        );
    }, 180_000);
    afterAll(async () => {
        await nodes[Symbol.asyncDispose]();
        await endpoints[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
    });

    const expectAllReady = (): void => {
        expect(new Set(linesOf(nodes))).toEqual(new Set(["True"]));
        expect(new Set(linesOf(endpoints))).toEqual(new Set(["one true", "two true"]));
    };

    it("stay ready while the agent's Pod is deleted and another takes its place", async () => {
        const before = await systemPod("antrea-agent", node);
        await kubectl(["-n", systemNamespace, "delete", "pod", before, "--wait"], { timeoutMs: 120_000 });
        await eventually("another Pod is there", async () =>
            (await systemPod("antrea-agent", node)) === before ? undefined : true,
        );
        await waitForAgents();
        expectAllReady();
    });

    it("stay ready while ovs-vswitchd, ovsdb-server and the agent are killed", async () => {
        for (const daemon of ["switch", "database", "agent"] as const) {
            await killDaemon(node, daemon);
            // kubelet asks the container runtime for the state of the network each 5 s
            await new Promise((resolve) => setTimeout(resolve, 6_000));
        }
        await waitForAgents();
        expectAllReady();
    });

    it("are seen by the watch when they do change", async () => {
        const before = linesOf(endpoints).length;
        await namespace.delete("two");
        await eventually("the watch shows the change", () =>
            Promise.resolve(linesOf(endpoints).length > before ? true : undefined),
        );
    });
});
