import { type TestApiServer } from "@antrea/kube/testing";
import { agentKubeconfig, kubeconfigOf } from "@antrea/chart/testing/chart-server";
import { Helper } from "../helper.ts";
import { spent, type ApiServerMeter, type Cost } from "../meter.ts";
import { nodeNameOf, type Place, type Side } from "./simulated-agent.ts";
import { type OpenInput, type WorkerRun } from "./worker.ts";

const processCount = 4;
const warmUpAllocations = 5;

/** The results of all agents, and the cost at the API server. */
export interface Run extends WorkerRun {
    /** Successful allocations per second. */
    readonly perSecond: number;
    readonly cost: Cost;
}

/** Worker processes and the simulated agents in them, distributed evenly; each agent has the token of its Node. */
export class Workers implements AsyncDisposable {
    readonly #meter: ApiServerMeter;
    readonly #server: TestApiServer;
    readonly #kubeconfigs = new Map<string, Promise<string>>();
    readonly #workers: readonly Helper[] = Array.from(
        { length: processCount },
        () => new Helper("allocations/worker.ts"),
    );
    #round = 0;

    constructor(components: { readonly meter: ApiServerMeter; readonly server: TestApiServer }) {
        this.#meter = components.meter;
        this.#server = components.server;
    }

    /**
     * Opens agents, waits until their watches are open, and lets them warm up; `pool` is an object of the side's
     * kind.
     */
    async open(side: Side, agents: number, pool: string): Promise<void> {
        this.#round += 1;
        const place = { side, pool, round: this.#round } satisfies Partial<Place>;
        const kubeconfigs: string[] = [];
        for (let agent = 0; agent < agents; agent++) kubeconfigs.push(await this.#agentKubeconfig(agent));
        await this.#askAll("open", (worker): OpenInput => ({
            ...place,
            agents: shareOf(worker, agents).map((agent) => ({ agent, kubeconfig: kubeconfigs[agent] ?? "" })),
        }));
        await this.#askAll("closedLoop", (worker) => ({
            allocations: warmUpAllocations * shareOf(worker, agents).length,
        }));
    }

    async close(): Promise<void> {
        await this.#askAll("close", () => undefined);
    }

    /** Opens agents, runs a closed loop for some seconds, and closes them. */
    async round(side: Side, agents: number, pool: string, seconds: number): Promise<Run> {
        await this.open(side, agents, pool);
        const run = await this.closedLoop({ seconds });
        await this.close();
        return run;
    }

    /** Each agent allocates one address after the other, for some seconds or a total number of allocations. */
    async closedLoop({
        seconds,
        allocations,
    }: {
        readonly seconds?: number;
        readonly allocations?: number;
    }): Promise<Run> {
        const share = allocations === undefined ? {} : { allocations: Math.ceil(allocations / processCount) };
        return this.#measure(() => this.#askAll<WorkerRun>("closedLoop", () => ({ seconds, ...share })));
    }

    /** Allocations start at random times with the given mean rate. */
    async openLoop({ perSecond, seconds }: { readonly perSecond: number; readonly seconds: number }): Promise<Run> {
        const share = perSecond / processCount;
        return this.#measure(() =>
            this.#askAll<WorkerRun>("openLoop", (worker) => ({ perSecond: share, seconds, seed: worker + 1 })),
        );
    }

    /**
     * Allocates these addresses for Pods on so many Nodes, with the controller's permissions: an agent may allocate
     * for its own Node only.
     */
    async fill(pool: string, addresses: readonly number[], nodes: number): Promise<void> {
        const kubeconfig = await kubeconfigOf(this.#server, "antrea-controller");
        await this.#askAll("fill", (worker) => ({
            kubeconfig,
            pool,
            nodes,
            parallel: 8,
            addresses: addresses.filter((_, index) => index % processCount === worker),
        }));
    }

    /** Opens the watches of further agents, which allocate nothing, with one token, as all agents are one user. */
    async watch(agents: number, blocks: readonly string[], resourceVersion: string): Promise<void> {
        const kubeconfig = await this.#agentKubeconfig(0);
        await this.#askAll("watch", (worker) => ({
            kubeconfig,
            blocks,
            resourceVersion,
            agents: shareOf(worker, agents).map((agent) => 2000 + agent),
        }));
    }

    async unwatch(): Promise<void> {
        await this.#askAll("unwatch", () => undefined);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await Promise.all(this.#workers.map((worker) => worker[Symbol.asyncDispose]()));
    }

    async #measure(work: () => Promise<readonly WorkerRun[]>): Promise<Run> {
        const before = await this.#meter.read();
        const begin = performance.now();
        const runs = await work();
        const seconds = (performance.now() - begin) / 1000;
        const cost = spent(before, await this.#meter.read());
        const latencies = runs.flatMap((run) => run.latencies);
        const failure = runs.find((run) => run.failure !== undefined)?.failure;
        const sum = (of: (run: WorkerRun) => number): number => runs.reduce((total, run) => total + of(run), 0);
        return {
            latencies,
            failures: sum((run) => run.failures),
            ...(failure !== undefined && { failure }),
            conflicts: sum((run) => run.conflicts),
            cpuMs: sum((run) => run.cpuMs),
            perSecond: latencies.length / seconds,
            cost,
        };
    }

    #agentKubeconfig(agent: number): Promise<string> {
        const nodeName = nodeNameOf(agent);
        const known = this.#kubeconfigs.get(nodeName) ?? agentKubeconfig(this.#server, nodeName);
        this.#kubeconfigs.set(nodeName, known);
        return known;
    }

    async #askAll<T>(command: string, inputOf: (worker: number) => unknown): Promise<readonly T[]> {
        return Promise.all(this.#workers.map((worker, index) => worker.ask<T>(command, inputOf(index))));
    }
}

/** Which of `count` agents run in this worker. */
function shareOf(worker: number, count: number): readonly number[] {
    return Array.from({ length: count }, (_, agent) => agent).filter((agent) => agent % processCount === worker);
}
