import { ipPools } from "@antrea/crd";
import { type ApiClient } from "@antrea/kube";
import { startChartServer } from "@antrea/chart/testing/chart-server";
import { ApiServerMeter } from "../meter.ts";
import { Workers } from "./workers.ts";
import { listPoolDefinition, listPoolRights, listPools } from "./list-agent.ts";
import { poolAt, poolOf, poolSize, type StagePool } from "./pools.ts";

/** A real API server with its etcd, and the workers that load it. */
export class AllocationsStage implements AsyncDisposable {
    readonly workers: Workers;
    readonly api: ApiClient;
    readonly #parts: AsyncDisposableStack;
    #pools = 0;

    private constructor(parts: {
        readonly workers: Workers;
        readonly api: ApiClient;
        readonly stack: AsyncDisposableStack;
    }) {
        this.workers = parts.workers;
        this.api = parts.api;
        this.#parts = parts.stack;
    }

    static async start(): Promise<AllocationsStage> {
        await using stack = new AsyncDisposableStack();
        const server = stack.use(await startChartServer());
        await server.apply([listPoolDefinition, ...listPoolRights]);
        const meter = new ApiServerMeter(server);
        const workers = stack.use(new Workers({ meter, server }));
        return new AllocationsStage({ workers, api: server.clients().api, stack: stack.move() });
    }

    /** Creates an IPPool, and an object of the list design, of the same name and size. */
    async addPool(): Promise<StagePool> {
        const pool = poolAt(this.#pools);
        this.#pools += 1;
        await this.api.create(ipPools, poolOf(pool));
        await this.api.create(listPools, { metadata: { name: pool.name }, spec: { size: poolSize } });
        return pool;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.#parts.disposeAsync();
    }
}
