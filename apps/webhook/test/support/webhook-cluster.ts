import { get } from "node:https";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { type ApiClient } from "@antrea/kube";
import { eventually, TestApiServer } from "@antrea/kube/testing";
import { Lifecycle } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { type CertificateTimes } from "@antrea/serving/certificates";
import { webhook } from "../../src/compose.ts";
import { type WebhookOptions } from "../../src/options.ts";
import { admissionObjects } from "./configuration.ts";
import { KubeRequests } from "./kube-request.ts";
import { TestService } from "./service.ts";

/** Short, so that a test need not wait: an authority for a day, trusted 10 s longer than it signs, to be seen. */
export const quickTimes: CertificateTimes = {
    authorityMs: 86_400_000,
    overlapMs: 10_000,
    servingMs: 86_400_000,
    settleMs: 500,
    checkMs: 200,
};

type Gates = Pick<WebhookOptions, "networksOn" | "times">;

/** One replica in this process. */
export class Replica {
    readonly log: MemoryLog;
    readonly port: number;
    readonly #lifecycle: Lifecycle;

    private constructor(lifecycle: Lifecycle, port: number, log: MemoryLog) {
        this.log = log;
        this.#lifecycle = lifecycle;
        this.port = port;
    }

    static async start(server: TestApiServer, gates: Gates): Promise<Replica> {
        const log = new MemoryLog();
        const clients = server.clients();
        const { parts, health } = webhook(
            { api: clients.api, logger: log.logger },
            { namespace: "kube-system", port: 0, times: quickTimes, ...gates },
        );
        const lifecycle = new Lifecycle({ logger: log.logger });
        for (const part of parts) lifecycle.append(part);
        await lifecycle.start();
        const replica = new Replica(lifecycle, health.port, log);
        return replica;
    }

    /** The response of `/readyz`; undefined when nothing answers. */
    async readyz(): Promise<{ readonly status: number; readonly text: string } | undefined> {
        const { promise, resolve } = Promise.withResolvers<{ status: number; text: string } | undefined>();
        const o = {
            host: "127.0.0.1",
            port: this.port,
            path: "/readyz",
            rejectUnauthorized: false,
            agent: false as const,
        };
        get(o, (response) => {
            let text = "";
            response.on("data", (chunk: Buffer) => (text += chunk.toString()));
            response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
        }).on("error", () => resolve(undefined));
        return promise;
    }

    async stop(): Promise<void> {
        await this.#lifecycle.stop();
    }
}

/** A real API server that asks replicas of the webhook, which stand behind something like a Service. */
export class WebhookCluster implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    readonly requests: KubeRequests;
    readonly service: TestService;
    readonly #gates: Gates;
    readonly #replicas = new Set<Replica>();
    readonly #probes: NodeJS.Timeout;

    private constructor(server: TestApiServer, service: TestService, gates: Gates) {
        this.server = server;
        this.#gates = gates;
        this.api = server.clients().api;
        this.requests = new KubeRequests(server);
        this.service = service;
        this.#probes = setInterval(() => void this.#probe(), 100);
    }

    static async start(replicas: number, gates: Gates = {}): Promise<WebhookCluster> {
        const server = await TestApiServer.start();
        const cluster = new WebhookCluster(server, await TestService.start(), gates);
        await server.apply([
            ...customResourceDefinitions(),
            ...(await admissionObjects(`https://127.0.0.1:${cluster.service.port}`)),
        ]);
        await Promise.all(Array.from({ length: replicas }, () => cluster.add()));
        await cluster.ready(replicas);
        return cluster;
    }

    get replicas(): readonly Replica[] {
        return [...this.#replicas];
    }

    async add(): Promise<Replica> {
        const replica = await Replica.start(this.server, this.#gates);
        this.#replicas.add(replica);
        return replica;
    }

    async stop(replica: Replica): Promise<void> {
        await replica.stop();
        this.#replicas.delete(replica);
    }

    /** Deletes an object as kubectl does, without the controllers that end it in a real cluster. */
    async remove(path: string, name: string): Promise<void> {
        const now = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: 0, propagationPolicy: "Background" };
        await this.requests.send("DELETE", `${path}/${name}`, now);
        if (path !== "/api/v1/namespaces") return;
        const empty = { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: { finalizers: [] } };
        await this.requests.send("PUT", `${path}/${name}/finalize`, empty);
    }

    /** Resolves when this many replicas stand behind the Service. */
    async ready(count: number): Promise<void> {
        await eventually(async () => (await this.#probe()) === count, { what: `${count} replicas ready` });
    }

    /** Requests that replicas could not answer: a webhook that fails open hides its defects from those who ask. */
    complaints(): readonly unknown[] {
        const troubles = ["admission not decided", "request failed"];
        return this.replicas.flatMap(({ log }) => log.records.filter(({ msg }) => troubles.includes(msg)));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        clearInterval(this.#probes);
        await Promise.all(this.replicas.map((replica) => this.stop(replica)));
        await this.service[Symbol.asyncDispose]();
        this.requests[Symbol.dispose]();
        await this.server.stop();
    }

    async #probe(): Promise<number> {
        const answers = await Promise.all(this.replicas.map((replica) => replica.readyz()));
        const ready = this.replicas.filter((_, at) => answers[at]?.status === 200);
        this.service.endpoints = ready.map(({ port }) => port);
        return ready.length;
    }
}
