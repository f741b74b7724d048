import { systemClock } from "@antrea/async";
import { parsePrefix } from "@antrea/ip";
import { endpointSlices, services as serviceResource, type ApiClient, type EventInput } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { Metrics } from "@antrea/runtime";
import { loadAgentConfig } from "@antrea/settings";
import { services, type ServicesPlatform } from "../../../src/features/services/feature.ts";
import { datapathOf, Unixctl } from "../../../src/platform/ovs/datapath/index.ts";
import { nodesOf } from "../../../src/platform/platform.ts";
import { silentLogger } from "../../support/logger.ts";
import { TestNode, type TestAgent } from "../../support/test-node.ts";

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
    readonly events: EventInput[] = [];
    metrics = new Metrics({ processMetrics: false });
    #agent: TestAgent | undefined;

    private constructor(node: TestNode, server: TestApiServer) {
        this.node = node;
        this.server = server;
    }

    static async start(): Promise<ServiceCluster> {
        const node = await TestNode.start();
        // In the namespace of the Node, as the agent is.
        const server = await TestApiServer.start();
        await server.addNode(nodeName, { podCidrs, internalIps: ["192.0.2.1"] });
        const cluster = new ServiceCluster(node, server);
        await cluster.startAgent();
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
        this.#agent = await this.node.startAgent({ services: (agent) => this.#services(agent, settings, datapath) });
    }

    /** Ends the agent as a kill does. */
    async stopAgent(): Promise<void> {
        await this.#agent?.stop();
        this.#agent = undefined;
    }

    #services(
        agent: TestAgent,
        settings: object,
        datapath: Partial<ServicesPlatform["datapath"]>,
    ): ReturnType<typeof services> {
        const { api } = this.server.clients();
        const { config, gates } = loadAgentConfig(JSON.stringify(settings));
        const nodes = nodesOf({ api, clock: systemClock, logger: silentLogger });
        nodes.start(new AbortController().signal);
        this.metrics = new Metrics({ processMetrics: false });
        const feature = services({
            clock: systemClock,
            config,
            datapath: { ...datapathOf("netdev"), ...datapath },
            environment: { nodeName, stateFolder: this.node.stateFolder } as ServicesPlatform["environment"],
            events: { record: (event) => void this.events.push(event) } as ServicesPlatform["events"],
            flowTable: agent.flowTable,
            gates,
            jobs: agent.jobs,
            kube: { api } as ServicesPlatform["kube"],
            logger: silentLogger,
            metrics: this.metrics,
            node: { podPrefixes: podCidrs.map((cidr) => parsePrefix(cidr)) } as unknown as ServicesPlatform["node"],
            nodes,
            openflow: agent.openflow,
            pipeline: agent.pipeline,
            pipelineInput: () => agent.pipelineInput(),
            servesServices: config.antreaProxy.enable,
            vswitchd: new Unixctl({ runDir: this.node.ovs.runDir, maxAnswerBytes: 64 << 20 }),
        });
        return {
            ...feature,
            stop: async () => {
                await feature.stop?.();
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
        const created = await this.api.create(serviceResource, {
            metadata: { name, namespace: "default", labels },
            spec: { ports: ports.map((port) => ({ ...port })), ipFamilyPolicy: "RequireDualStack", ...spec },
        });
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
            endpoints: ips.map((ip) => ({ addresses: [ip], conditions: { ready: true }, nodeName })),
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
