import { ipAllocations, ipPools, type IpAllocation, type IpPool, type IpRangeSpec } from "@antrea/crd";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { type ApiClient, type KubeObject } from "@antrea/kube";
import { TestApiServer } from "@antrea/kube/testing";
import { connect, TestPoolAgent, type TestPoolAgentOptions } from "./test-agent.ts";

/** An API server with our resource definitions, and agents on it. */
export class PoolCluster implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;
    readonly #agents: TestPoolAgent[] = [];

    private constructor(server: TestApiServer) {
        this.server = server;
        this.api = server.clients().api;
    }

    static async start(): Promise<PoolCluster> {
        const server = await TestApiServer.start();
        const cluster = new PoolCluster(server);
        await server.apply(customResourceDefinitions() as readonly KubeObject[]);
        return cluster;
    }

    async addPool(name: string, ...ranges: readonly Partial<IpRangeSpec>[]): Promise<IpPool> {
        const ipVersion = ranges.some(({ gateway = "" }) => gateway.includes(":")) ? 6 : 4;
        const ipRanges = ranges.map((range) => ({ prefixLength: ipVersion === 4 ? 16 : 64, ...range }) as IpRangeSpec);
        return this.api.create(ipPools, { metadata: { name }, spec: { ipVersion, ipRanges } });
    }

    /** A started agent with its own connections, by default as the admin; it ends with the test at the latest. */
    agent(
        nodeName: string,
        options: Partial<TestPoolAgentOptions> & {
            readonly parts?: "all" | "allocation";
            readonly kubeconfig?: string;
        } = {},
    ): TestPoolAgent {
        const { parts, kubeconfig = this.server.kubeconfig(), ...rest } = options;
        const connection = connect(kubeconfig, nodeName);
        const agent = new TestPoolAgent({ nodeName, ...connection, ...rest }).start(parts);
        this.#agents.push(agent);
        return agent;
    }

    async allocations(pool?: string): Promise<readonly IpAllocation[]> {
        const query = pool === undefined ? {} : { fieldSelector: `spec.pool=${pool}` };
        return (await this.api.list(ipAllocations, query)).items;
    }

    /** Ends all agents and deletes all allocations and pools, so that a test begins with nothing. */
    async clear(): Promise<void> {
        await Promise.all(this.#agents.splice(0).map((agent) => agent.kill()));
        for (const plural of ["ipallocations", "ippools"] as const) {
            const { group, version } = plural === "ippools" ? ipPools : ipAllocations;
            await this.api.request({ method: "DELETE", path: `/apis/${group}/${version}/${plural}` });
        }
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await Promise.all(this.#agents.map((agent) => agent.kill()));
        await this.server.stop();
    }
}
