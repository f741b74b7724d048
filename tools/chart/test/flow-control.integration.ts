import { type IncomingHttpHeaders } from "node:http";
import { request } from "node:https";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { ipAllocations, ipPools } from "@antrea/crd";
import { createKubeClients, pathOf, type KubeClients } from "@antrea/kube";
import { eventually, type TestApiServer } from "@antrea/kube/testing";
import { agentKubeconfig, kubeconfigOf, startChartServer } from "./chart-server.ts";
import { allocation, pod } from "./allocations.ts";

interface Answer {
    readonly status: number;
    readonly headers: IncomingHttpHeaders;
    readonly body: string;
}

type Client = "admin" | "agent of node1" | "agent of node2" | "controller" | "webhook";

/** More than a flow may have in queues that are as long as those of Kubernetes' own levels, which is 300. */
const held = 400;
/** Few, so that most of the requests must wait, whatever a level borrows from others. */
const seats = ["--max-requests-inflight=20", "--max-mutating-requests-inflight=10"];
/** A request waits in a queue for a quarter of this, at most a minute. */
const patience = ["--request-timeout=4m"];

const allocations = pathOf(ipAllocations);
const pools = pathOf(ipPools);
const events = "/apis/events.k8s.io/v1/namespaces/default/events";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";
const allocationOnNode2 = (address: string): object => ({
    apiVersion: `${ipAllocations.group}/${ipAllocations.version}`,
    kind: ipAllocations.kind,
    ...allocation(address, { pod: { ...pod, nodeName: "node2" } }),
});

describe("the API server, with the flow control of the chart", () => {
    const stack = new AsyncDisposableStack();
    let server: TestApiServer;
    let clients: Readonly<Record<Client, KubeClients>>;

    beforeAll(async () => {
        server = stack.use(await startChartServer({ args: [...seats, ...patience] }));
        const clientOf = (kubeconfig: string): KubeClients =>
            stack.use(createKubeClients({ kubeconfig, userAgent: "flow-control/test" }));
        clients = {
            admin: server.clients(),
            "agent of node1": clientOf(await agentKubeconfig(server, "node1")),
            "agent of node2": clientOf(await agentKubeconfig(server, "node2")),
            controller: clientOf(await kubeconfigOf(server, "antrea-controller")),
            webhook: clientOf(await kubeconfigOf(server, "antrea-webhook")),
        };
        await clients.admin.api.create(ipPools, {
            metadata: { name: "pool1" },
            spec: { ipVersion: 4, ipRanges: [{ cidr: "10.7.0.0/24", gateway: "10.7.0.1", prefixLength: 24 }] },
        });
    });
    afterAll(() => stack.disposeAsync());

    async function send(client: Client, method: string, path: string, body?: object): Promise<Answer> {
        const { server: url, headers, streamAgent: agent } = await clients[client].connection();
        const { promise, resolve, reject } = Promise.withResolvers<Answer>();
        const options = { method, agent, headers: { ...headers, "content-type": "application/json" } };
        request(new URL(path, url), options, (response) => {
            let text = "";
            response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
            response.on("end", () => {
                resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
            });
        })
            .on("error", reject)
            .end(body && JSON.stringify(body));
        return promise;
    }

    /** Name of the object with the uid that a header of the answer gives. */
    async function named(resource: string, uid: unknown): Promise<string | undefined> {
        const { body } = await send("admin", "GET", `${flowControl}/${resource}`);
        const { items } = JSON.parse(body) as {
            readonly items: readonly { readonly metadata: { readonly name: string; readonly uid: string } }[];
        };
        return items.find(({ metadata }) => metadata.uid === uid)?.metadata.name;
    }

    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "antrea-controller" } };
    const tokenReview = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "t" } };
    const event = {
        apiVersion: "events.k8s.io/v1",
        kind: "Event",
        metadata: { generateName: "e" },
        type: "Normal",
        action: "a",
        reason: "R",
        note: "n",
        eventTime: "2026-01-01T00:00:00.000000Z",
        reportingController: "c",
        reportingInstance: "i",
        regarding: { namespace: "default" },
    };
    it.each<readonly [Client, string, string, string, object?]>([
        ["agent of node2", "antrea-agents", "GET", allocations],
        ["agent of node2", "antrea-agents", "GET", `${allocations}?fieldSelector=spec.pool%3Dpool1`],
        ["agent of node2", "antrea-agents", "POST", allocations, allocationOnNode2("10.7.0.200")],
        ["agent of node2", "antrea-agents", "DELETE", `${allocations}/10.7.0.200`],
        ["agent of node2", "antrea-agents", "POST", allocations, allocationOnNode2("10.7.0.201")],
        ["agent of node2", "antrea-agents", "GET", `${pools}/pool1`],
        ["agent of node2", "antrea-agents", "GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode2"],
        ["agent of node2", "antrea-agents", "POST", events, event],
        ["agent of node2", "antrea-agents", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", tokenReview],
        ["agent of node2", "antrea-agents", "GET", "/version"],
        ["controller", "antrea", "GET", allocations],
        ["controller", "antrea", "DELETE", `${allocations}/10.7.0.201`],
        ["controller", "antrea", "GET", "/api/v1/pods"],
        ["controller", "antrea", "POST", events, event],
        // a rule of Kubernetes for ServiceAccounts of kube-system, which is before all others
        ["controller", "system-leader-election", "POST", leases, lease],
        ["webhook", "antrea", "GET", pools],
        ["webhook", "antrea", "GET", "/api/v1/namespaces/default"],
    ])("charges the %s to %s for %s %s", async (...[client, schema, method, path, body]) => {
        const { status, headers } = await send(client, method, path, body);
        expect(status).toBe(method === "POST" ? 201 : 200);
        const level = schema === "system-leader-election" ? "leader-election" : schema;
        expect(await named("flowschemas", headers["x-kubernetes-pf-flowschema-uid"])).toBe(schema);
        expect(await named("prioritylevelconfigurations", headers["x-kubernetes-pf-prioritylevel-uid"])).toBe(level);
    });

    /** Requests of which the server has the head and never gets the body: each that is carried out keeps its seat. */
    async function hold(client: Client): Promise<Disposable> {
        const { server: url, headers, streamAgent: agent } = await clients[client].connection();
        const options = { method: "POST", agent, headers: { ...headers, "content-length": 1_000 } };
        const requests = Array.from({ length: held }, () =>
            request(new URL(allocations, url), options).on("error", () => undefined),
        );
        for (const one of requests) one.flushHeaders();
        return { [Symbol.dispose]: () => requests.forEach((one) => one.destroy()) };
    }

    /** How many requests are carried out or wait for a seat, and how many found no room to wait; none of the exempt level. */
    async function counted(): Promise<{ readonly underWay: number; readonly refused: number }> {
        const { body } = await send("admin", "GET", "/metrics");
        const sum = (metric: string): number =>
            [...body.matchAll(new RegExp(`^apiserver_flowcontrol_${metric}\\{(?!.*"exempt").* (\\d+)$`, "gm"))].reduce(
                (total, [, count]) => total + Number(count),
                0,
            );
        return {
            underWay: sum("current_(?:executing|inqueue)_requests"),
            refused: sum("rejected_requests_total"),
        };
    }

    it(`with ${held} requests of one agent that never end, refuses no allocation of another and answers the rest`, async () => {
        let claimed: Promise<Answer>;
        const { refused: before } = await counted();
        {
            using _load = await hold("agent of node1");
            const arrived = async () => {
                const { underWay, refused } = await counted();
                return underWay + refused - before >= held && { refused: refused - before };
            };
            expect(await eventually(arrived, { timeoutMs: 60_000 })).toEqual({ refused: 0 });
            claimed = send("agent of node2", "POST", allocations, allocationOnNode2("10.7.0.2"));
            await eventually(async () => (await counted()).underWay > held);
            expect(await send("controller", "GET", pools)).toMatchObject({ status: 200 });
            expect(await send("webhook", "GET", pools)).toMatchObject({ status: 200 });
            expect((await counted()).underWay).toBeGreaterThan(held);
        }
        expect(await claimed).toMatchObject({ status: 201 });
    });
});
