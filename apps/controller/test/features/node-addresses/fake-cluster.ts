import { ManualClock } from "@antrea/async/testing";
import { type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { type ApiClient, type EventInput, type KubeObject } from "@antrea/kube";
import { Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { nodeAddresses } from "../../../src/features/node-addresses/feature.ts";
import { LeaderJobs } from "../../../src/platform/leader-jobs.ts";
import { nodesOf } from "../../../src/platform/nodes.ts";
import { poolParts, withPools } from "../../../src/platform/pool-platform.ts";
import { allocation } from "../../fakes.ts";
import { MemoryApi } from "../../memory-api.ts";

/** The feature as the leader runs it, with an API server in memory. */
export class FakeCluster implements AsyncDisposable {
    readonly server = new MemoryApi();
    readonly clock = new ManualClock();
    readonly log = new MemoryLog();
    readonly metrics = new Metrics({ processMetrics: false });
    readonly jobs = new LeaderJobs();
    readonly events: EventInput[] = [];
    readonly #close = new AbortController();
    readonly #platform = this.#buildPlatform(this.server.client);
    #term = new AbortController();
    #work: Promise<void> | undefined;

    /** Starts the caches, and the first term. */
    async start(): Promise<void> {
        const { signal } = this.#close;
        this.#platform.nodes.start(signal);
        for (const part of poolParts(this.#platform)) void part.start?.(signal);
        await this.lead();
    }

    /** Begins a term of leadership. */
    async lead(): Promise<void> {
        this.#term = new AbortController();
        this.#work = nodeAddresses(this.#platform).lead(this.#term.signal);
        await this.settled();
    }

    /** Ends the term. */
    async endTerm(): Promise<void> {
        this.#term.abort();
        await this.#work;
    }

    pool(name: string, start: string, end: string, gateway = "10.1.0.1"): void {
        const ipRanges = [{ start, end, gateway, prefixLength: 16 }];
        this.server.put("ippools", { metadata: { name }, spec: { ipVersion: 4, ipRanges } } as KubeObject);
    }

    node(name: string, ...ips: readonly string[]): void {
        const addresses = ips.map((address) => ({ type: "InternalIP", address }));
        this.server.put("nodes", { metadata: { name }, status: { addresses } } as KubeObject);
    }

    /** An allocation that another client makes: of a Pod, or with another owner. */
    allocate(address: string, pool: string, owner?: AllocationOwner): void {
        const { metadata, spec } = allocation(address, pool, owner === undefined ? { node: "n0" } : { owner });
        this.server.put("ipallocations", { metadata: { name: metadata?.name ?? "" }, spec } as KubeObject);
    }

    /** `owner address pool` of all reservations of this kind, sorted. */
    held(kind: "Node" | "Gateway" = "Node"): readonly string[] {
        return this.server
            .all<IpAllocation>("ipallocations")
            .filter(({ spec: { owner } }) => owner.kind === kind)
            .map(({ spec: { owner, address, pool } }) => `${owner.name} ${address} ${pool}`)
            .sort();
    }

    notes(reason: string): readonly string[] {
        return this.events.filter((event) => event.reason === reason).map(({ note }) => note);
    }

    /** Resolves when watches have delivered and the work that this causes is done, except what waits for the clock. */
    async settled(): Promise<void> {
        for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.endTerm();
        this.#close.abort();
        await this.#platform.nodes.close();
        for (const part of poolParts(this.#platform)) await part.stop?.();
    }

    #buildPlatform(api: ApiClient): ReturnType<typeof withPools> {
        const { logger } = this.log;
        return withPools({
            kube: { api },
            clock: this.clock,
            config: { ipam: { cleanInterval: 60_000 } },
            metrics: this.metrics,
            jobs: this.jobs,
            events: { record: (event) => void this.events.push(event) },
            nodes: nodesOf({ api, clock: this.clock, logger }),
            logger,
        });
    }
}
