import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { formatMac, parsePrefix } from "@antrea/ip";
import { endpointSlices, services as serviceResource, type ApiClient, type EventInput } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { Metrics, type JobHealth } from "@antrea/runtime";
import { loadAgentConfig } from "@antrea/settings";
import { hostServices, type HostServicesPlatform } from "../../../src/features/host-services/feature.ts";
import { serviceHealth } from "../../../src/features/service-health/feature.ts";
import { services, type ServicesPlatform } from "../../../src/features/services/feature.ts";
import { NodeSysctls } from "../../../src/platform/host/gateway/index.ts";
import { nodeHost } from "../../../src/platform/host/host.ts";
import { datapathOf, Unixctl } from "../../../src/platform/ovs/datapath/index.ts";
import { nodesOf } from "../../../src/platform/platform.ts";
import { silentLogger } from "../../support/logger.ts";
import { TestNode, type TestAgent, type TestAgentOptions } from "../../support/test-node.ts";

/** Repeats what the API server refuses because it has no range of ClusterIPs yet, for ten seconds. */
async function retry<T>(create: () => Promise<T>, tries = 50): Promise<T> {
    try {
        return await create();
    } catch (error) {
        if (tries === 0 || !messageOf(error).includes("range is full")) throw error;
        await sleep(200);
        return retry(create, tries - 1);
    }
}

/** The Node of the test; Pods of other Nodes do not exist. */
export const nodeName = "node-1";
const podCidrs = ["10.10.1.0/24", "fd10:10:0:1::/64"];

/** A port of a test's Service. */
export interface TestPort {
    readonly name?: string;
    readonly protocol?: "TCP" | "UDP";
    readonly port: number;
}

/** A Node with OVS and an API server; agents come and go on it. */
export class ServiceCluster implements AsyncDisposable {
    readonly node: TestNode;
    readonly server: TestApiServer;
    /** What `/readyz?verbose` lists beside the jobs. */
    readonly shownJobs: { health(): readonly JobHealth[] }[] = [];
    readonly events: EventInput[] = [];
    metrics = new Metrics({ processMetrics: false });
    /** Called with each agent before it starts. */
    onAgent: (agent: TestAgent) => void = () => undefined;
    readonly #options: Pick<TestAgentOptions, "bridging" | "pools">;
    #agent: TestAgent | undefined;

    private constructor(node: TestNode, server: TestApiServer, options: Pick<TestAgentOptions, "bridging" | "pools">) {
        this.node = node;
        this.server = server;
        this.#options = options;
    }

    /**
     * @param settings keys of antrea-agent.conf of its first agent
     * @param options of all its agents
     */
    static async start(
        settings: object = {},
        options: Pick<TestAgentOptions, "bridging" | "pools"> = {},
    ): Promise<ServiceCluster> {
        const node = await TestNode.start();
        // In the namespace of the Node, as the agent is.
        const server = await TestApiServer.start();
        await server.addNode(nodeName, { podCidrs, internalIps: ["192.0.2.1", "2001:db8::1"] });
        const cluster = new ServiceCluster(node, server, options);
        await cluster.startAgent(settings);
        return cluster;
    }

    get agent(): TestAgent {
        if (this.#agent === undefined) throw new TypeError("no agent runs");
        return this.#agent;
    }

    get api(): ApiClient {
        return this.server.clients().api;
    }

    /**
     * @param settings keys of antrea-agent.conf
     * @param datapath what the agent is to take for granted of the datapath, which is `netdev`
     */
    async startAgent(settings: object = {}, datapath: Partial<ServicesPlatform["datapath"]> = {}): Promise<void> {
        const loaded = loadAgentConfig(JSON.stringify(settings));
        const { enable, proxyAll } = loaded.config.antreaProxy;
        this.#agent = await this.node.startAgent({
            ...this.#options,
            proxyAll: enable && proxyAll,
            services: (agent) => this.#services(agent, loaded, datapath),
        });
    }

    /** Ends the agent as a kill does. */
    async stopAgent(): Promise<void> {
        await this.#agent?.stop();
        this.#agent = undefined;
    }

    #services(
        agent: TestAgent,
        { config, gates }: ReturnType<typeof loadAgentConfig>,
        datapath: Partial<ServicesPlatform["datapath"]>,
    ): ReturnType<typeof services> {
        this.onAgent(agent);
        const { api } = this.server.clients();
        const nodes = nodesOf({ api, clock: systemClock, logger: silentLogger });
        nodes.start(new AbortController().signal);
        this.metrics = new Metrics({ processMetrics: false });
        const { enable, proxyAll } = config.antreaProxy;
        const { bridging } = this.#options;
        const platform: HostServicesPlatform & ServicesPlatform = {
            bridgedMac: bridging && formatMac(bridging.host.mac),
            clock: systemClock,
            config,
            datapath: { ...datapathOf("netdev"), ...datapath },
            environment: { nodeName, stateFolder: this.node.stateFolder } as ServicesPlatform["environment"],
            events: { record: (event) => void this.events.push(event) } as ServicesPlatform["events"],
            flowTable: agent.flowTable,
            gates,
            health: {
                addCheck: () => ({ [Symbol.dispose]: () => undefined }),
                showJobs: (jobs) => void this.shownJobs.push(jobs),
                start: () => Promise.resolve(),
                stop: () => Promise.resolve(),
            },
            host: nodeHost,
            jobs: agent.jobs,
            kube: { api } as ServicesPlatform["kube"],
            logger: silentLogger,
            metrics: this.metrics,
            netlink: agent.netlink,
            node: { podPrefixes: podCidrs.map((cidr) => parsePrefix(cidr)) } as unknown as ServicesPlatform["node"],
            nodes,
            openflow: agent.openflow,
            pipeline: agent.pipeline,
            pipelineInput: () => agent.pipelineInput(),
            podInterfaces: agent.podInterfaces,
            servesNode: enable && proxyAll,
            servesServices: enable,
            vswitchd: new Unixctl({ runDir: this.node.ovs.runDir, maxAnswerBytes: 64 << 20 }),
            sysctls: new NodeSysctls({ logger: silentLogger }, { folder: this.node.ovs.runDir, bootId: "test" }),
        };
        const host = hostServices(platform, undefined);
        const feature = services(platform, host.stack, host.cidrs);
        const health = serviceHealth(platform, feature, host.stack);
        return {
            ...feature,
            stage: async (signal) => {
                await host.stage?.(signal);
                await feature.stage?.(signal);
            },
            start: async (signal) => {
                await host.start?.(signal);
                await feature.start?.(signal);
                await health?.start?.(signal);
            },
            stop: async () => {
                await health?.stop?.();
                await feature.stop?.();
                await host.stop?.();
                await nodes.close();
            },
        };
    }

    /** Creates a Service of both families and resolves with its ClusterIPs. */
    async addService(
        name: string,
        ports: readonly TestPort[],
        spec: Readonly<Record<string, unknown>> = {},
        labels: Readonly<Record<string, string>> = {},
    ): Promise<readonly [v4: string, v6: string]> {
        const service = {
            metadata: { name, namespace: "default", labels },
            spec: { ports: ports.map((port) => ({ ...port })), ipFamilyPolicy: "RequireDualStack", ...spec },
        };
        // an API server that has just started has no range yet: "range is full", for a moment
        const created = await retry(() => this.api.create(serviceResource, service));
        const ips = created.spec?.clusterIPs ?? [];
        return [ips.find((ip) => !ip.includes(":")) ?? "", ips.find((ip) => ip.includes(":")) ?? ""];
    }

    /** Deletes a Service and its endpoints, if they are there. */
    async deleteService(name: string): Promise<void> {
        const ref = { name, namespace: "default" };
        if ((await this.api.find(serviceResource, ref)) !== undefined) await this.api.delete(serviceResource, ref);
        for (const family of [4, 6] as const) await this.setEndpoints(name, family, []);
    }

    /** Gives a load balancer's address to a Service. */
    async setIngress(name: string, ip: string): Promise<void> {
        const body = { status: { loadBalancer: { ingress: [{ ip }] } } };
        const ref = { name, namespace: "default" };
        await this.api.patch(serviceResource, ref, { type: "merge", body }, { subresource: "status" });
    }

    /** Writes the EndpointSlice of a family with these addresses, each at port 8080 for each port of the Service. */
    async setEndpoints(
        service: string,
        family: 4 | 6,
        ips: readonly string[],
        ports: readonly TestPort[] = [{ port: 80 }],
        on = nodeName,
    ): Promise<void> {
        const object = {
            apiVersion: "discovery.k8s.io/v1",
            kind: "EndpointSlice",
            metadata: {
                name: `${service}-v${family}`,
                namespace: "default",
                labels: { "kubernetes.io/service-name": service },
                annotations: { "endpoints.kubernetes.io/last-change-trigger-time": new Date().toISOString() },
            },
            addressType: `IPv${family}`,
            endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true }, nodeName: on })),
            ports: ports.map(({ name, protocol = "TCP" }) => ({ name: name ?? "", protocol, port: 8080 })),
        };
        const ref = { name: object.metadata.name, namespace: "default" };
        await this.api.patch(endpointSlices, ref, { type: "apply", body: object }, { force: true });
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.stopAgent();
        await this.server[Symbol.asyncDispose]();
        await this.node[Symbol.asyncDispose]();
    }
}
