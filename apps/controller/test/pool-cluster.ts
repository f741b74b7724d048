import { systemClock, type Clock } from "@antrea/async";
import {
    allocationName,
    blockText,
    ipAllocations,
    ipPools,
    podIpsAnnotation,
    poolsAnnotation,
    type AllocationOwner,
    type AllocationPod,
    type IpAllocation,
    type IpPool,
    type IpRangeSpec,
} from "@antrea/crd";
import { customResourceDefinitions } from "@antrea/crd/schema";
import { formatIp, parseIp, prefixOf } from "@antrea/ip";
import {
    createKubeClients,
    isKubeError,
    nodes,
    pathOf,
    pods,
    statefulSets,
    type ApiClient,
    type EventInput,
    type Informer,
    type KubeObject,
    type Node,
    type Pod,
    type StatefulSet,
} from "@antrea/kube";
import { TestApiServer, eventually } from "@antrea/kube/testing";
import { Metrics } from "@antrea/runtime";
import { MemoryLog } from "@antrea/runtime/testing";
import { allocationCleaner } from "../src/features/allocation-cleaner/feature.ts";
import { nodeAddresses } from "../src/features/node-addresses/feature.ts";
import { poolStatus } from "../src/features/pool-status/feature.ts";
import { type PacerOptions } from "../src/features/pool-status/pacer.ts";
import { reservations } from "../src/features/reservations/feature.ts";
import { type AllocationCache } from "../src/platform/allocations/index.ts";
import { LeaderJobs } from "../src/platform/leader-jobs.ts";
import { nodesOf } from "../src/platform/nodes.ts";
import { type PoolCache } from "../src/platform/pool-cache/index.ts";
import { poolParts, withPools } from "../src/platform/pool-platform.ts";

export interface TermOptions {
    /** Default 60000. */
    readonly intervalMs?: number;
    /** When the counts of a pool are written: see PacerOptions. */
    readonly pace?: PacerOptions;
    /** Of the cleaner. Default 5 min. */
    readonly goneMs?: number;
    /** Default: `systemClock`. */
    readonly clock?: Clock;
    /** What the parts call instead of the API server. */
    readonly wrap?: (api: ApiClient) => ApiClient;
}

/** The parts behind the gate AntreaIPAM of one controller that leads from its start until it is stopped. */
export class Term implements AsyncDisposable {
    readonly allocations: AllocationCache;
    readonly pools: PoolCache;
    readonly nodes: Pick<Informer<Node>, "get">;
    readonly metrics: Metrics = new Metrics({ processMetrics: false });
    readonly log: MemoryLog = new MemoryLog("debug");
    readonly jobs = new LeaderJobs();
    readonly events: EventInput[] = [];
    readonly #stop = new AbortController();
    readonly #works: readonly Promise<void>[];
    readonly #closers: (() => Promise<void> | void)[] = [];

    constructor(server: Pick<TestApiServer, "kubeconfig">, options: TermOptions = {}) {
        const clients = createKubeClients({ kubeconfig: server.kubeconfig(), userAgent: "antrea-controller/test" });
        const api = options.wrap?.(clients.api) ?? clients.api;
        const { logger } = this.log;
        const { signal } = this.#stop;
        const clock = options.clock ?? systemClock;
        const informer = nodesOf({ api, clock, logger });
        this.nodes = informer;
        const platform = withPools({
            kube: { api },
            clock,
            config: { ipam: { cleanInterval: options.intervalMs ?? 60_000 } },
            metrics: this.metrics,
            jobs: this.jobs,
            events: { record: (event: EventInput) => void this.events.push(event) },
            nodes: informer,
            logger,
        });
        this.allocations = platform.allocations;
        this.pools = platform.pools;
        const { goneMs } = options;
        const features = [
            poolStatus(platform, options.pace),
            nodeAddresses(platform),
            reservations(platform),
            allocationCleaner(platform, { ...(goneMs !== undefined && { goneMs }) }),
        ];
        const parts = [...poolParts(platform), ...features.flatMap((feature) => feature.parts ?? [])];
        informer.start(signal);
        for (const part of parts) void part.start?.(signal);
        this.#closers.push(
            () => informer.close(),
            ...parts.map((part) => () => part.stop?.()),
            () => clients.close(),
        );
        this.#works = features.map((feature) => feature.lead(signal));
    }

    /** Value of a metric's sample, by its text up to the value. */
    async metric(sample: string): Promise<string | undefined> {
        const line = (await this.metrics.text()).split("\n").find((each) => each.startsWith(`${sample} `));
        return line?.slice(sample.length + 1);
    }

    /** A deed is counted once the API server has answered, which is after others may see it. */
    async eventuallyMetric(sample: string, value: string): Promise<void> {
        const read = async (): Promise<boolean> => (await this.metric(sample)) === value;
        await eventually(read, { what: `${sample} ${value}` });
    }

    notes(reason: string): readonly string[] {
        return this.events.filter((event) => event.reason === reason).map(({ note }) => note);
    }

    async stop(): Promise<void> {
        this.#stop.abort();
        const results = await Promise.allSettled(this.#works);
        for (const close of this.#closers) await close();
        const failed = results.find((result) => result.status === "rejected");
        if (failed !== undefined && !isKubeError(failed.reason, "ABORTED")) throw failed.reason;
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.stop();
    }
}

export interface SetOptions {
    readonly replicas?: number;
    readonly start?: number;
    readonly pools?: string;
    readonly podIps?: string;
    readonly hostNetwork?: boolean;
}

/** A real API server with our CRDs, and what users, StatefulSet controller, kubelets and agents do to it. */
export class PoolCluster implements AsyncDisposable {
    readonly server: TestApiServer;
    readonly api: ApiClient;

    /** The server has our CRDs already. */
    constructor(server: TestApiServer) {
        this.server = server;
        this.api = server.clients().api;
    }

    static async start(): Promise<PoolCluster> {
        const server = await TestApiServer.start();
        await server.apply(customResourceDefinitions());
        return new PoolCluster(server);
    }

    term(options: TermOptions = {}): Term {
        return new Term(this.server, options);
    }

    /** Ranges are `10.0.0.1-10.0.0.9` or CIDRs; the gateway is the first address of the subnet. */
    async pool(name: string, ...ranges: readonly string[]): Promise<IpPool> {
        const spec = { ipVersion: ranges[0]?.includes(":") === true ? 6 : 4, ipRanges: ranges.map(rangeSpec) } as const;
        return this.api.create(ipPools, { metadata: { name }, spec });
    }

    async changePool(name: string, ...ranges: readonly string[]): Promise<IpPool> {
        const body = { spec: { ipRanges: ranges.map(rangeSpec) } };
        return this.api.patch(ipPools, { name }, { type: "merge", body });
    }

    async set(name: string, options: SetOptions = {}): Promise<StatefulSet> {
        const [namespace = "", own = ""] = name.includes("/") ? name.split("/") : ["default", name];
        const annotations = {
            ...(options.pools !== undefined && { [poolsAnnotation]: options.pools }),
            ...(options.podIps !== undefined && { [podIpsAnnotation]: options.podIps }),
        };
        return this.api.create(statefulSets, {
            metadata: { namespace, name: own },
            spec: {
                serviceName: own,
                replicas: options.replicas ?? 1,
                ...(options.start !== undefined && { ordinals: { start: options.start } }),
                selector: { matchLabels: { app: own } },
                template: {
                    metadata: { labels: { app: own }, annotations },
                    spec: {
                        containers: [{ name: "main", image: "none" }],
                        ...(options.hostNetwork === true && { hostNetwork: true }),
                    },
                },
            },
        });
    }

    async scale(name: string, replicas: number): Promise<void> {
        const patch = { type: "merge", body: { spec: { replicas } } } as const;
        await this.api.patch(statefulSets, { namespace: "default", name }, patch);
    }

    async deleteSet(name: string, propagationPolicy: "Background" | "Orphan" = "Background"): Promise<void> {
        const ref = { namespace: "default", name };
        const body = JSON.stringify({ apiVersion: "v1", kind: "DeleteOptions", propagationPolicy });
        await this.api.request({ method: "DELETE", path: pathOf(statefulSets, ref), body });
        // What the garbage collector does after it took the owner references off the Pods.
        const patch = { type: "merge", body: { metadata: { finalizers: null } } } as const;
        if (propagationPolicy === "Orphan") await this.api.patch(statefulSets, ref, patch);
    }

    async pod(name: string, node: string): Promise<Pod> {
        return this.api.create(pods, {
            metadata: { namespace: "default", name },
            spec: { nodeName: node, containers: [{ name: "main", image: "none" }] },
        });
    }

    async deletePod(name: string): Promise<void> {
        await this.api.delete(pods, { namespace: "default", name }, { gracePeriodSeconds: 0 });
    }

    /** What an agent does for a Pod that asks for no fixed address. */
    async claim(text: string, pool: string, pod: AllocationPod, owner?: AllocationOwner): Promise<IpAllocation> {
        const ip = parseIp(text);
        return this.api.create(ipAllocations, {
            metadata: { name: allocationName(ip) },
            spec: {
                address: formatIp(ip),
                block: blockText(ip),
                pool,
                state: "Allocated",
                owner: owner ?? { kind: "Pod", namespace: pod.namespace, name: pod.name, uid: pod.uid },
                pod,
            },
        });
    }

    /** What an agent does when a Pod of a StatefulSet starts. */
    async use(allocation: IpAllocation, pod: AllocationPod): Promise<IpAllocation> {
        return this.api.update(ipAllocations, { ...allocation, spec: { ...allocation.spec, state: "Allocated", pod } });
    }

    /** What an agent does when the Pod is gone. */
    async free(name: string): Promise<void> {
        const { spec, ...rest } = await this.api.get(ipAllocations, { name });
        if (spec.owner.kind !== "StatefulSet") return this.api.delete(ipAllocations, { name });
        const { pod: _, ...kept } = spec;
        await this.api.update(ipAllocations, { ...rest, spec: { ...kept, state: "Reserved" } });
    }

    /** All allocations but those of gateways. */
    async all(): Promise<readonly IpAllocation[]> {
        return (await this.api.list(ipAllocations)).items.filter(({ spec }) => spec.owner.kind !== "Gateway");
    }

    async find(name: string): Promise<IpAllocation | undefined> {
        return this.api.find(ipAllocations, { name });
    }

    /** Allocations of a StatefulSet by ordinal: `0 10.0.0.2 Reserved`. */
    async ofSet(name: string): Promise<readonly string[]> {
        return (await this.all())
            .filter(({ spec: { owner } }) => owner.kind === "StatefulSet" && owner.name === name)
            .map(({ spec: { owner, address, state } }) => `${owner.index} ${address} ${state}`)
            .sort();
    }

    async eventuallyOfSet(name: string, expected: readonly string[], timeoutMs?: number): Promise<void> {
        let last: readonly string[] = [];
        const same = async (): Promise<boolean> => {
            last = await this.ofSet(name);
            return JSON.stringify(last) === JSON.stringify(expected);
        };
        await eventually(same, { ...(timeoutMs !== undefined && { timeoutMs }), what: `allocations of ${name}` }).catch(
            (cause: unknown) => {
                throw new Error(`allocations of ${name}: ${JSON.stringify(last)}, not ${JSON.stringify(expected)}`, {
                    cause,
                });
            },
        );
    }

    /** Removes everything that tests made, so that one server serves many tests. */
    async clear(): Promise<void> {
        const remove = async (resource: Parameters<ApiClient["list"]>[0]): Promise<void> => {
            const { items } = await this.api.list<KubeObject>(resource);
            for (const { metadata: { name = "", namespace } = {} } of items) {
                if (namespace !== undefined && namespace !== "default") continue;
                const ref = { name, ...(namespace !== undefined && { namespace }) };
                await this.api.delete(resource, ref, { gracePeriodSeconds: 0 }).catch(() => undefined);
            }
        };
        for (const resource of [statefulSets, pods, nodes, ipPools, ipAllocations]) await remove(resource);
    }

    async [Symbol.asyncDispose](): Promise<void> {
        await this.server.stop();
    }
}

export function podOn(nodeName: string, name: string, uid: string = crypto.randomUUID()): AllocationPod {
    return { namespace: "default", name, uid, nodeName, containerID: uid.replaceAll("-", ""), interface: "eth0" };
}

function rangeSpec(text: string): IpRangeSpec {
    const [first = "", end] = text.split("-");
    const [address = "", length] = first.split("/");
    const ip = parseIp(address);
    const usual = ip.family === 6 ? 64 : 24;
    const { base, family, length: prefixLength } = prefixOf(ip, Math.min(usual, Number(length ?? usual)));
    const subnet = { gateway: formatIp({ family, value: base + 1n }), prefixLength };
    return length === undefined ? { start: first, end: end ?? first, ...subnet } : { cidr: text, ...subnet };
}
