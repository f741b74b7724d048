import { expect, it } from "@jest/globals";
import { KubeError, type KubeEvent, type ListOptions } from "@antrea/kube";
import { type Cluster } from "../../src/cluster/index.ts";
import { readNodeProblems } from "../../src/service/node-problems.ts";
import { renderService } from "../../src/service/render.ts";
import { plain } from "../support/objects.ts";

const web = { namespace: "shop", name: "web", uid: "uid-web" };
const agents = [
    { name: "antrea-agent-b", nodeName: "node2" },
    { name: "antrea-agent-a", nodeName: "node1" },
    { name: "antrea-agent-pending", nodeName: undefined },
];

const event = (reportingInstance: string, reason: string, note: string, more: object = {}): KubeEvent =>
    ({ reportingInstance, reason, note, ...more }) as unknown as KubeEvent;

it("of each Node the latest first and each once, without what antctl finds itself and what agents reported that are gone", async () => {
    const stored = [
        event("antrea-agent-b", "PortUsedByNode", "TCP 30080", { eventTime: "2026-01-01T00:00:00Z" }),
        event("antrea-agent-a", "StandInsUsedUp", "192.0.2.1", { eventTime: "2026-01-01T00:00:01Z" }),
        event("antrea-agent-a", "PortUsedByNode", "TCP 30080", { eventTime: "2026-01-01T00:00:02Z" }),
        event("antrea-agent-a", "PortUsedByNode", "TCP 30080", {
            series: { count: 2, lastObservedTime: "2026-01-01T00:00:09.5Z" },
        }),
        event("antrea-agent-a", "FailedToStartServiceHealthcheck", "port 30099"),
        event("antrea-agent-a", "AddressTaken", "192.0.2.2"),
        event("antrea-agent-gone", "PortUsedByNode", "TCP 30081"),
        event("antrea-agent-pending", "PortUsedByNode", "TCP 30081"),
    ];
    let asked: ListOptions | undefined;
    const list = ((_: unknown, reduce: (one: KubeEvent) => unknown, options: ListOptions) => {
        asked = options;
        return Promise.resolve(stored.map(reduce).filter((one) => one !== undefined));
    }) as unknown as Cluster["list"];
    expect(await readNodeProblems({ list }, web, agents)).toEqual([
        { node: "node1", reason: "PortUsedByNode", text: "TCP 30080", time: "2026-01-01T00:00:09.5Z" },
        { node: "node1", reason: "StandInsUsedUp", text: "192.0.2.1", time: "2026-01-01T00:00:01Z" },
        { node: "node1", reason: "FailedToStartServiceHealthcheck", text: "port 30099" },
        { node: "node2", reason: "PortUsedByNode", text: "TCP 30080", time: "2026-01-01T00:00:00Z" },
    ]);
    expect(asked).toEqual({
        namespace: "shop",
        fieldSelector: "regarding.kind=Service,regarding.name=web,regarding.uid=uid-web",
    });
});

it("are not known to whom events are forbidden; any other failure is one", async () => {
    const failing = (code: "FORBIDDEN" | "UNAUTHORIZED"): Pick<Cluster, "list"> => ({
        list: () => Promise.reject(new KubeError(code, "no")),
    });
    expect(await readNodeProblems(failing("FORBIDDEN"), web, agents)).toBeUndefined();
    await expect(readNodeProblems(failing("UNAUTHORIZED"), web, agents)).rejects.toThrow("no");
});

it("are shown with their Node and age, after all else", () => {
    const report = {
        service: "shop/web",
        type: "NodePort",
        internalTrafficPolicy: "Cluster",
        externalTrafficPolicy: "Cluster",
        assumptions: [],
        nodes: [],
        nodeProblems: [
            { node: "node1", reason: "PortUsedByNode", text: "TCP 30080 is\nused", time: "2026-01-01T00:00:00Z" },
        ],
    };
    const text = renderService(report, plain, Date.parse("2026-01-01T00:02:00Z"));
    expect(text).toMatch(/\n\nReported by Nodes\n {2}- node1, 2m ago: PortUsedByNode: TCP 30080 is used$/);
    expect(renderService({ ...report, nodeProblems: [] }, plain, 0)).not.toContain("Reported");
});
