import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
    apply,
    killDaemon,
    kubectl,
    type NodeJson,
    systemNamespace,
    systemPod,
    waitForAgents,
    workers,
} from "../fixture/cluster.ts";
import { mainContainer, TestNamespace } from "../fixture/pods.ts";
import { Background, eventually } from "../fixture/run.ts";

interface Slice {
    readonly endpoints?: readonly {
        readonly targetRef?: { readonly name: string };
        readonly conditions: { readonly ready?: boolean };
    }[];
}

/** The objects that a watch showed since it began. */
class Watch<T> implements AsyncDisposable {
    readonly #watch: Background;

    /** `path` as kube-apiserver serves it, with a query. */
    constructor(path: string) {
        this.#watch = new Background("kubectl", ["get", "--raw", `${path}&watch=1`]);
    }

    get objects(): readonly T[] {
        const lines = this.#watch.output.split("\n").slice(0, -1);
        return lines.map((line) => (JSON.parse(line) as { readonly object: T }).object);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#watch[Symbol.asyncDispose]();
    }
}

describe("endpoints of Services while agent and OVS of their Node restart", () => {
    const [node = ""] = workers;
    const service = "web";
    let namespace: TestNamespace;
    let nodes: Watch<NodeJson>;
    let slices: Watch<Slice>;

    /** `NAME READY` of each endpoint at each time. */
    const endpoints = (): readonly string[] =>
        slices.objects
            .flatMap((slice) => slice.endpoints ?? [])
            .map(({ targetRef, conditions }) => `${targetRef?.name} ${conditions.ready}`);
    const readiness = (): readonly string[] =>
        nodes.objects.map(({ status }) => status.conditions.find(({ type }) => type === "Ready")?.status ?? "");

    beforeAll(async () => {
        namespace = await TestNamespace.create("e2e-endpoints");
        const names = ["one", "two"];
        // without a probe, which fails while OVS is away: what is seen here is what becomes of the Node
        const { readinessProbe: _, ...container } = mainContainer;
        const spec = {
            nodeSelector: { "kubernetes.io/hostname": node },
            terminationGracePeriodSeconds: 5,
            containers: [container],
        };
        const metadata = (name: string): object => ({ name, namespace: namespace.name, labels: { service } });
        await apply(names.map((name) => ({ apiVersion: "v1", kind: "Pod", metadata: metadata(name), spec })));
        await namespace.ready(names);
        await apply({
            apiVersion: "v1",
            kind: "Service",
            metadata: { name: service, namespace: namespace.name },
            spec: { selector: { service }, ports: [{ port: 80, targetPort: 8080 }] },
        });
        slices = new Watch(
            `/apis/discovery.k8s.io/v1/namespaces/${namespace.name}/endpointslices?labelSelector=kubernetes.io/service-name%3D${service}`,
        );
        nodes = new Watch(`/api/v1/nodes?fieldSelector=metadata.name%3D${node}`);
        await eventually("both Pods are endpoints", () =>
            Promise.resolve(["one true", "two true"].every((one) => endpoints().includes(one)) || undefined),
        );
        await eventually("the Node is seen", () => Promise.resolve(readiness().length > 0 || undefined));
    }, 180_000);
    afterAll(async () => {
        await nodes[Symbol.asyncDispose]();
        await slices[Symbol.asyncDispose]();
        await namespace[Symbol.asyncDispose]();
    });

    const expectAllReady = (): void => {
        expect(new Set(readiness())).toEqual(new Set(["True"]));
        expect(new Set(endpoints())).toEqual(new Set(["one true", "two true"]));
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

    it("are seen by the watch when they are withdrawn", async () => {
        await kubectl(["-n", namespace.name, "delete", "pod", "two", "--wait=false"]);
        await eventually("endpoint two is ready no more", () => {
            const now = slices.objects.at(-1)?.endpoints ?? [];
            const isReady = now.some(({ targetRef, conditions }) => targetRef?.name === "two" && conditions.ready);
            return Promise.resolve(isReady ? undefined : true);
        });
    });
});
