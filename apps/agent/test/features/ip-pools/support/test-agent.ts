import { type Clock } from "@antrea/async";
import { type ManualClock } from "@antrea/async/testing";
import { createKubeClients, type ChangeListener, type EventInput, type Node } from "@antrea/kube";
import { Metrics, type Logger } from "@antrea/runtime";
import { formatIp } from "@antrea/ip";
import {
    IpPools,
    type ClaimedAddress,
    type AllocationRequest,
    type IpPoolsComponents,
    type DatedNodeSource,
} from "../../../../src/features/ip-pools/index.ts";
import { silentLogger } from "../../../support/logger.ts";

export interface TestPoolAgentOptions {
    readonly nodeName: string;
    readonly api: IpPoolsComponents["api"];
    /** Closes the connections of `api`. */
    readonly disconnect?: () => void;
    readonly cooldownMs?: number;
    readonly reservationWaitMs?: number;
    readonly confirmMs?: number;
    readonly bridged?: boolean;
    readonly nodes?: readonly Node[] | DatedNodeSource;
    readonly clock?: Clock;
    readonly random?: () => number;
    readonly logger?: Logger;
}

/** Connections of an agent's own, for TestPoolAgent. */
export function connect(
    kubeconfig: string,
    nodeName: string,
): Required<Pick<TestPoolAgentOptions, "api" | "disconnect">> {
    const clients = createKubeClients({ kubeconfig, userAgent: `agent-${nodeName}/0` });
    return { api: clients.api, disconnect: () => clients.close() };
}

/** The pool allocation of one agent: what runs of it on a Node, without the wiring. */
export class TestPoolAgent implements AsyncDisposable {
    readonly nodeName: string;
    readonly pools: IpPools;
    readonly events: EventInput[] = [];
    /** Those of the options, and its own; unless the options have a source of their own. */
    readonly nodes: TestNodes;
    readonly metrics = new Metrics({ processMetrics: false });
    readonly #disconnect: () => void;
    readonly #stop = new AbortController();

    constructor(options: TestPoolAgentOptions) {
        const { nodeName, api, disconnect, clock, random, nodes = [], logger = silentLogger, ...rest } = options;
        this.nodeName = nodeName;
        const given = "list" in nodes ? [] : nodes;
        this.nodes = new TestNodes([{ metadata: { name: nodeName } }, ...given]);
        this.#disconnect = disconnect ?? (() => undefined);
        this.pools = new IpPools(
            {
                api,
                logger,
                metrics: this.metrics,
                nodes: "list" in nodes ? nodes : this.nodes,
                ...(clock === undefined ? {} : { clock }),
                ...(random === undefined ? {} : { random }),
                record: (event) => void this.events.push(event),
            },
            { nodeName, ...rest },
        );
    }

    /** Starts all parts, or only those that an allocation needs. */
    start(what: "all" | "allocation" = "all"): this {
        if (what === "all") this.pools.start(this.#stop.signal);
        else this.pools.startAllocation(this.#stop.signal);
        return this;
    }

    async claim(
        pod: string,
        request: Partial<AllocationRequest> & Pick<AllocationRequest, "pools">,
        signal: AbortSignal = AbortSignal.timeout(60_000),
    ): Promise<readonly string[]> {
        const claimed = await this.claimAddresses(pod, request, signal);
        return claimed.map(({ ip }) => formatIp(ip));
    }

    claimAddresses(
        pod: string,
        request: Partial<AllocationRequest> & Pick<AllocationRequest, "pools">,
        signal: AbortSignal = AbortSignal.timeout(60_000),
    ): Promise<readonly ClaimedAddress[]> {
        return this.pools.allocator.claim({ ...requestOf(pod), ...request }, signal);
    }

    /** DEL of the container that `claim` used by default. */
    release(pod: string, containerId = `c-${pod}`): Promise<void> {
        return this.pools.allocator.releaseAll({ containerId, ifName: "eth0" }, AbortSignal.timeout(60_000));
    }

    async metric(name: string): Promise<number> {
        const line = (await this.metrics.text()).split("\n").find((one) => one.startsWith(`${name} `));
        return Number(line?.split(" ")[1] ?? NaN);
    }

    /** Ends it as a kill does: at once, with all requests cut. */
    async kill(): Promise<void> {
        this.#stop.abort();
        this.#disconnect();
        await this.pools.close();
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.kill();
    }
}

/** Lets a clock go on, 1 ms at a time, until the work is over, at most 10 s; its outcome. */
export async function asTimePasses<T>(clock: ManualClock, work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    work.then(over, over);
    for (let ms = 0; ms < 10_000 && !isOver; ms += 1) await clock.advance(1);
    return work;
}

/** Pod, container and interface of that name. */
export function requestOf(pod: string): AllocationRequest {
    return {
        pod: { namespace: "default", name: pod, uid: `uid-${pod}` },
        containerId: `c-${pod}`,
        ifName: "eth0",
        pools: [],
        fixed: [],
        statefulSet: undefined,
    };
}

/** The Nodes of the cluster, reported at once, unless a test sets others. */
export class TestNodes implements DatedNodeSource {
    /** Always; a test may set when the watch fell silent. */
    upToDateAt = Infinity;
    hasSynced = true;
    readonly #synced = Promise.withResolvers<void>();
    readonly #nodes = new Map<string, Node>();
    readonly #listeners = new Set<ChangeListener<Node>>();

    constructor(nodes: readonly Node[]) {
        for (const node of nodes) this.#nodes.set(node.metadata?.name ?? "", node);
    }

    static of(...names: readonly string[]): TestNodes {
        return new TestNodes(names.map((name) => ({ metadata: { name } })));
    }

    /** Those of an agent that has just started: nothing is listed, until `firstList`. */
    static unlisted(): TestNodes {
        const nodes = new TestNodes([]);
        nodes.hasSynced = false;
        nodes.upToDateAt = -Infinity;
        return nodes;
    }

    /** The first list is in, which began then; what it has was `put` before. */
    firstList(began = Infinity): void {
        this.upToDateAt = began;
        this.hasSynced = true;
        this.#synced.resolve();
    }

    list(): readonly Node[] {
        return [...this.#nodes.values()];
    }

    onChange(listener: ChangeListener<Node>): Disposable {
        this.#listeners.add(listener);
        // As an informer does.
        for (const node of this.#nodes.values()) {
            listener("added", node.metadata?.name ?? "", node, undefined, { by: "list", after: this.upToDateAt });
        }
        return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
    }

    get listeners(): number {
        return this.#listeners.size;
    }

    synced(): Promise<void> {
        return this.hasSynced ? Promise.resolve() : this.#synced.promise;
    }

    /** Adds a Node, or changes the one of that name. */
    put(name: string, spec: Node["spec"] = {}): void {
        const [old, node] = [this.#nodes.get(name), { metadata: { name }, spec }];
        this.#nodes.set(name, node);
        const type = old === undefined ? "added" : "updated";
        for (const listener of this.#listeners) listener(type, name, node, old, { by: "watch", after: Infinity });
    }

    /** `after`: as of when the watch was up to date, by the monotonic clock. Default: it is. */
    remove(name: string, after = Infinity): void {
        const node = this.#nodes.get(name);
        this.#nodes.delete(name);
        if (node === undefined) return;
        for (const listener of this.#listeners) listener("deleted", name, node, node, { by: "watch", after });
    }
}
