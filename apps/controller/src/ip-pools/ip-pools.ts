import { type IpPoolUsage } from "@antrea/crd";
import { type Informer, type Node } from "@antrea/kube";
import { type MetricsFactory } from "@antrea/runtime";
import { poolMetrics } from "./metrics.ts";
import { GatewayHolds } from "./gateway-holds.ts";
import { NodeHolds, type NodeHoldsComponents } from "./node-holds.ts";
import { type PacerOptions } from "./pacer.ts";
import { PoolStatusWriter, type PoolStatusComponents } from "./pool-status.ts";

export interface IpPoolsComponents extends PoolStatusComponents, NodeHoldsComponents {
    readonly api: PoolStatusComponents["api"] & NodeHoldsComponents["api"];
    readonly nodes: Pick<Informer<Node>, "get" | "onChange">;
    readonly metrics: MetricsFactory;
}

export interface IpPoolsOptions extends PacerOptions {
    /** How often the held addresses of all Nodes and all gateways are looked at. */
    readonly intervalMs: number;
}

/** The status of IPPools, the addresses of Nodes in them and their gateways: what the leader does. */
export class IpPools {
    readonly #components: IpPoolsComponents;
    readonly #options: IpPoolsOptions;
    #term: PoolStatusWriter | undefined;

    constructor(components: IpPoolsComponents, options: IpPoolsOptions) {
        this.#components = components;
        this.#options = options;
        const none: ReadonlyMap<string, IpPoolUsage> = new Map();
        poolMetrics(components.metrics, () => this.#term?.usages ?? none);
    }

    /** Leader's work: writes the status of pools for one term, until the signal aborts. */
    async tell(signal: AbortSignal): Promise<void> {
        this.#term = new PoolStatusWriter(this.#components, this.#options);
        try {
            await this.#term.run(signal);
        } finally {
            this.#term = undefined;
        }
    }

    /** Leader's work: holds the Nodes' own addresses and the pools' gateways for one term, until the signal aborts. */
    async hold(signal: AbortSignal): Promise<void> {
        await Promise.all([
            new NodeHolds(this.#components, this.#options).run(signal),
            new GatewayHolds(this.#components, this.#options).run(signal),
        ]);
    }
}
