import { createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { parsePrefix } from "@antrea/ip";
import type { EventInput, Node } from "@antrea/kube";
import { freePorts } from "@antrea/kube/testing";
import { Jobs, Metrics } from "@antrea/runtime";
import type { ServedHealthCheck, ServedService } from "@antrea/services";
import { loadAgentConfig } from "@antrea/settings";
import {
    serviceHealth,
    type HostStackState,
    type InstalledServices,
    type ServiceHealthPlatform,
} from "../../../src/features/service-health/feature.ts";
import { eventually } from "../../support/eventually.ts";
import { listLogger, type LogEntry } from "../../support/logger.ts";

// The feature with real HTTP on loopback. The test reports what OVS and the host have, as features/services and
// features/host-services do.

type OnInstalled = Parameters<InstalledServices["onInstalled"]>[0];
type SyncState = ReturnType<InstalledServices["syncState"]>;

/** An agent's part, on the Node `here`. */
class Agent implements AsyncDisposable {
    readonly events: EventInput[] = [];
    readonly logs: LogEntry[] = [];
    state: SyncState = { waitingMs: undefined, syncedAt: Date.parse("2026-11-27T10:00:00Z") };
    rules: HostStackState["rulesState"] = { areInstalled: true, waitingMs: undefined };
    readonly #feature: ReturnType<typeof serviceHealth>;
    readonly #jobs: Jobs;
    #install: OnInstalled = () => undefined;
    #node: Parameters<ServiceHealthPlatform["nodes"]["onChange"]>[0] = () => undefined;

    constructor(settings: object, servesNode = true) {
        const logger = listLogger(this.logs);
        const metrics = new Metrics({ processMetrics: false });
        this.#jobs = new Jobs({ logger, metrics });
        const { config } = loadAgentConfig("");
        this.#feature = serviceHealth(
            {
                clock: systemClock,
                config: { ...config, antreaProxy: { ...config.antreaProxy, ...settings } },
                environment: { nodeName: "here" } as ServiceHealthPlatform["environment"],
                events: { record: (event: EventInput) => void this.events.push(event) } as never,
                jobs: this.#jobs,
                logger,
                metrics,
                node: { podPrefixes: ["10.1.0.0/24", "fd00:1::/64"].map((cidr) => parsePrefix(cidr)) } as never,
                nodes: {
                    onChange: (listener: Parameters<ServiceHealthPlatform["nodes"]["onChange"]>[0]) => {
                        this.#node = listener;
                        return { [Symbol.dispose]: () => undefined };
                    },
                } as never,
                servesNode,
            },
            { onInstalled: (listener) => void (this.#install = listener), syncState: () => this.state },
            servesNode ? rulesOf(this) : undefined,
        );
    }

    get isOn(): boolean {
        return this.#feature !== undefined;
    }

    async start(): Promise<this> {
        const { signal } = new AbortController();
        await this.#feature?.start?.(signal);
        this.#jobs.start(signal);
        return this;
    }

    /** OVS has this Service with such a health check now; undefined: it has none of it. */
    serve(key: string, healthCheck: ServedHealthCheck | undefined | "gone"): void {
        const service = { key, uid: `uid-${key}`, healthCheck } as ServedService;
        this.#install(key, healthCheck === "gone" ? undefined : service);
    }

    setNode(type: "added" | "updated" | "deleted", node: Node): void {
        this.#node(type, node.metadata?.name ?? "", node, undefined, { by: "list", after: -Infinity });
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#jobs.stop();
        await this.#feature?.stop?.();
    }
}

function rulesOf(agent: Agent): HostStackState {
    return {
        get rulesState() {
            return agent.rules;
        },
    };
}

interface Answer {
    readonly status: number;
    readonly body: unknown;
    readonly weight: string | null;
    readonly type: string | null;
}

/** Undefined if nobody listens. */
async function get(port: number, path = "/", host = "127.0.0.1"): Promise<Answer | undefined> {
    try {
        const response = await fetch(`http://${host}:${port}${path}`, { headers: { connection: "close" } });
        const { headers, status } = response;
        const text = await response.text();
        const type = headers.get("content-type");
        const body: unknown = type === "application/json" ? JSON.parse(text) : text;
        return { status, body, weight: headers.get("x-load-balancing-endpoint-weight"), type };
    } catch {
        return undefined;
    }
}

const statusOf = async (port: number, host?: string): Promise<number | undefined> =>
    (await get(port, "/", host))?.status;
const becomes = async (port: number, wanted: number | undefined): Promise<number | undefined> =>
    eventually(
        () => statusOf(port),
        (status) => status === wanted,
        20_000,
    );

const others: Server[] = [];

/** Another program at a port, until the end of the test. */
async function listen(port: number, host = "127.0.0.1"): Promise<Server> {
    const server = createServer((socket) => socket.destroy());
    others.push(server);
    await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, host, resolve);
    });
    return server;
}

let a: number;
let b: number;
let proxy: number;
let agent: Agent;

beforeEach(async () => {
    [a = 0, b = 0, proxy = 0] = await freePorts(3);
    agent = await new Agent({ serviceHealthCheckServerBindAddress: `0.0.0.0:${proxy}` }).start();
    expect(
        (
            await eventually(
                () => get(proxy, "/livez"),
                (answer) => answer !== undefined,
            )
        )?.status,
    ).toBe(200);
});

afterEach(async () => {
    await agent[Symbol.asyncDispose]();
    for (const other of others.splice(0)) other.close();
});

describe("health check node ports", () => {
    it("answer for their own Service, with its weight, on addresses of both families", async () => {
        agent.serve("shop/web", { port: a, localEndpoints: 2 });
        agent.serve("shop/api", { port: b, localEndpoints: 0 });
        expect([await becomes(a, 200), await becomes(b, 503)]).toEqual([200, 503]);
        expect(await get(a)).toEqual({
            status: 200,
            body: { service: { namespace: "shop", name: "web" }, localEndpoints: 2, serviceProxyHealthy: true },
            weight: "2",
            type: "application/json",
        });
        expect(await get(b, "/any/path")).toEqual({
            status: 503,
            body: { service: { namespace: "shop", name: "api" }, localEndpoints: 0, serviceProxyHealthy: true },
            weight: "0",
            type: "application/json",
        });
        expect(await statusOf(a, "[::1]")).toBe(200);
    });

    it("have the text of kube-proxy", async () => {
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        await becomes(a, 200);
        const response = await fetch(`http://127.0.0.1:${a}/`);
        expect(await response.text()).toBe(
            '{\n\t"service": {\n\t\t"namespace": "shop",\n\t\t"name": "web"\n\t},\n\t"localEndpoints": 1,\n\t"serviceProxyHealthy": true\n}',
        );
        expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    });

    it("follow the endpoints, and close with the Service, its type or the last thing that OVS has of it", async () => {
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        expect(await becomes(a, 200)).toBe(200);
        agent.serve("shop/web", { port: a, localEndpoints: 0 });
        expect((await get(a))?.status).toBe(503);
        agent.serve("shop/web", { port: a, localEndpoints: 3 });
        expect((await get(a))?.weight).toBe("3");
        agent.serve("shop/web", undefined);
        expect(await becomes(a, undefined)).toBeUndefined();
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        expect(await becomes(a, 200)).toBe(200);
        agent.serve("shop/web", "gone");
        expect(await becomes(a, undefined)).toBeUndefined();
        expect(agent.events).toEqual([]);
    });

    it("move with the number, also to another Service in one turn", async () => {
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        expect(await becomes(a, 200)).toBe(200);
        agent.serve("shop/api", { port: a, localEndpoints: 2 });
        agent.serve("shop/web", { port: b, localEndpoints: 1 });
        expect(await becomes(b, 200)).toBe(200);
        const answer = await eventually(
            () => get(a),
            (one) => one?.weight === "2",
            20_000,
        );
        expect(answer?.body).toMatchObject({ service: { name: "api" } });
    });

    it("are closed to all with the agent, even connections that stay open", async () => {
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        await becomes(a, 200);
        const kept = await fetch(`http://127.0.0.1:${a}/`);
        await kept.text();
        await agent[Symbol.asyncDispose]();
        expect([await get(a), await get(proxy, "/livez")]).toEqual([undefined, undefined]);
    });
});

describe("a taken port", () => {
    it.each(["127.0.0.1", "::1"])("at %s is reported once, and served when it is free", async (host) => {
        const other = await listen(a, host);
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        agent.serve("shop/api", { port: b, localEndpoints: 1 });
        expect(await becomes(b, 200)).toBe(200);
        const [event] = await eventually(
            () => agent.events,
            (events) => events.length > 0,
            20_000,
        );
        expect(event).toMatchObject({
            type: "Warning",
            reason: "FailedToStartServiceHealthcheck",
            regarding: { kind: "Service", namespace: "shop", name: "web", uid: "uid-shop/web" },
            note: expect.stringMatching(
                new RegExp(
                    `^spec.healthCheckNodePort: ${a} is not served on Node here: another program listens .*; next: find`,
                ),
            ) as unknown,
        });
        const failures = (): readonly LogEntry[] =>
            agent.logs.filter(
                ({ level, fields }) =>
                    (level === "warn" || level === "error") && JSON.stringify(fields).includes("shop/web"),
            );
        const tries = async (): Promise<void> => {
            const before = failures().length;
            await new Promise((resolve) => setTimeout(resolve, 3_500));
            expect(failures().length).toBe(before);
        };
        await tries();
        expect([agent.events.length, failures().length]).toEqual([1, 1]);
        await new Promise((resolve) => other.close(resolve));
        expect(await becomes(a, 200)).toBe(200);
        expect(agent.events.length).toBe(1);
    });

    it("of a Service that goes meanwhile is not taken later", async () => {
        const other = await listen(a);
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        await eventually(
            () => agent.events,
            (events) => events.length > 0,
            20_000,
        );
        agent.serve("shop/web", "gone");
        await new Promise((resolve) => other.close(resolve));
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        expect(await statusOf(a)).toBeUndefined();
    });
});

describe("the health of the proxy", () => {
    const node = (more: object = {}, taints: readonly string[] = []): Node => ({
        metadata: { name: "here", ...more },
        spec: { taints: taints.map((key) => ({ key, effect: "NoSchedule" })) },
    });
    const both = async (): Promise<readonly unknown[]> =>
        Promise.all(["/healthz", "/livez"].map(async (path) => (await get(proxy, path))?.status));

    it("is that of kube-proxy", async () => {
        agent.setNode("added", node());
        const [healthz, livez] = [await get(proxy, "/healthz?a=b"), await get(proxy, "/livez")];
        const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
        const family = { lastUpdated: "2026-11-27T10:00:00.000Z", healthy: true };
        const body = { lastUpdated: time, currentTime: time, healthy: true, status: { IPv4: family, IPv6: family } };
        expect(healthz).toMatchObject({ status: 200, type: "application/json", body: { ...body, nodeEligible: true } });
        expect(livez).toEqual({ status: 200, type: "application/json", weight: null, body });
        expect(await get(proxy, "/metrics")).toMatchObject({ status: 404, body: "404 page not found\n" });
        expect((await get(proxy, "/livez", "[::1]"))?.status).toBe(200);
    });

    it.each<[string, (on: Agent) => void]>([
        ["is about to be deleted", (on) => on.setNode("updated", node({}, ["ToBeDeletedByClusterAutoscaler"]))],
        ["is being deleted", (on) => on.setNode("updated", node({ deletionTimestamp: "2026-11-27T10:00:00Z" }))],
        ["is gone", (on) => on.setNode("deleted", node())],
    ])("fails /healthz on a Node that %s, and only that; Services go on", async (_, change) => {
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        agent.setNode("added", node({}, ["node.kubernetes.io/unschedulable"]));
        expect([await becomes(a, 200), await both()]).toEqual([200, [200, 200]]);
        change(agent);
        expect([await statusOf(a), await both()]).toEqual([200, [503, 200]]);
        expect((await get(proxy, "/healthz"))?.body).toMatchObject({ nodeEligible: false, healthy: true });
        agent.setNode("updated", node());
        expect(await both()).toEqual([200, 200]);
    });

    it("does not follow other Nodes, and takes a Node that was never seen for one that stays", async () => {
        expect(await both()).toEqual([200, 200]);
        agent.setNode("deleted", { metadata: { name: "there" } });
        expect(await both()).toEqual([200, 200]);
    });

    it.each<[string, (on: Agent, waitingMs: number) => void]>([
        ["OVS", (on, waitingMs) => void (on.state = { ...on.state, waitingMs })],
        ["the rules of the host", (on, waitingMs) => void (on.rules = { ...on.rules, waitingMs })],
    ])("fails everywhere while a change has been waiting for %s for a minute", async (_, wait) => {
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        expect(await becomes(a, 200)).toBe(200);
        wait(agent, 59_999);
        expect([await statusOf(a), await both()]).toEqual([200, [200, 200]]);
        wait(agent, 60_000);
        expect([await statusOf(a), await both()]).toEqual([503, [503, 503]]);
        expect(await get(a)).toMatchObject({ weight: "1", body: { localEndpoints: 1, serviceProxyHealthy: false } });
        expect((await get(proxy, "/livez"))?.body).toMatchObject({
            lastUpdated: "2026-11-27T10:00:00.000Z",
            healthy: false,
        });
    });

    it("fails everywhere until the host has rules, though OVS serves", async () => {
        agent.rules = { areInstalled: false, waitingMs: 10 };
        agent.serve("shop/web", { port: a, localEndpoints: 1 });
        expect([await becomes(a, 503), await both()]).toEqual([503, [503, 503]]);
        agent.rules = { areInstalled: true, waitingMs: undefined };
        expect([await statusOf(a), await both()]).toEqual([200, [200, 200]]);
    });

    it("has no status before OVS got the first change", async () => {
        agent.state = { waitingMs: 70_000, syncedAt: undefined };
        const body = (await get(proxy, "/livez"))?.body;
        expect(body).toEqual({
            lastUpdated: "0001-01-01T00:00:00Z",
            currentTime: expect.any(String) as unknown,
            healthy: false,
        });
    });
});

describe("settings", () => {
    it("leave it to kube-proxy", () => {
        expect(new Agent({ disableServiceHealthCheckServer: true }).isOn).toBe(false);
        expect(new Agent({}, false).isOn).toBe(false);
    });

    it("limit the addresses at which Services' ports are served, and give that of the proxy", async () => {
        const [port = 0, own = 0] = await freePorts(2);
        await using other = await new Agent({
            nodePortAddresses: [parsePrefix("127.0.0.2/32"), parsePrefix("fd00::/64")],
            serviceHealthCheckServerBindAddress: `[::1]:${own}`,
        }).start();
        other.serve("shop/web", { port, localEndpoints: 1 });
        const status = await eventually(
            () => statusOf(port, "127.0.0.2"),
            (one) => one !== undefined,
            20_000,
        );
        expect([status, await statusOf(port), await statusOf(port, "[::1]")]).toEqual([200, undefined, undefined]);
        expect((await get(own, "/livez", "[::1]"))?.status).toBe(200);
        expect(await get(own, "/livez")).toBeUndefined();
    });
});
