// One of the processes that simulated agents run in.
import { setTimeout as sleep } from "node:timers/promises";
import { ipAllocations } from "@antrea/crd";
import { createKubeClients } from "@antrea/kube";
import { serveBench } from "../helper.ts";
import { arrivals, seededRandom } from "../statistics.ts";
import { openAllocatorAgent } from "./allocator-agent.ts";
import { openCreateAgent } from "./create-agent.ts";
import { openListAgent } from "./list-agent.ts";
import { allocationOf, nodeNameOf, podOf, type Place, type Side, type SimulatedAgent } from "./simulated-agent.ts";

/** The results of one run. */
export interface WorkerRun {
    /** Milliseconds of each successful allocation. */
    readonly latencies: readonly number[];
    readonly failures: number;
    /** The text of one failure. */
    readonly failure?: string;
    readonly conflicts: number;
    /** Processor time of this process in milliseconds. */
    readonly cpuMs: number;
}

export interface OpenInput extends Omit<Place, "agent" | "kubeconfig"> {
    readonly agents: readonly Pick<Place, "agent" | "kubeconfig">[];
}

interface Opened {
    readonly agent: SimulatedAgent;
    pods: number;
}

const openers: Readonly<Record<Side, (place: Place) => Promise<SimulatedAgent>>> = {
    allocations: openAllocatorAgent,
    creates: openCreateAgent,
    list: openListAgent,
};

let opened: readonly Opened[] = [];
let watching: AsyncDisposableStack | undefined;

async function open({ agents, ...place }: OpenInput): Promise<void> {
    opened = await Promise.all(
        agents.map(async (one) => ({ agent: await openers[place.side]({ ...place, ...one }), pods: 0 })),
    );
}

async function close(): Promise<void> {
    await Promise.all(opened.map(({ agent }) => agent[Symbol.asyncDispose]()));
    opened = [];
}

/** Each agent allocates one address after the other, for some time or some number. */
async function closedLoop({
    seconds,
    allocations,
}: {
    readonly seconds?: number;
    readonly allocations?: number;
}): Promise<WorkerRun> {
    const end = performance.now() + (seconds ?? Infinity) * 1000;
    let left = allocations ?? Infinity;
    return record(async (allocate) => {
        const loop = async (one: Opened): Promise<void> => {
            while (performance.now() < end && left-- > 0) await allocate(one, performance.now());
        };
        await Promise.all(opened.map(loop));
    });
}

/** Allocations start by a schedule, whether or not earlier ones have ended; each is timed from its scheduled start. */
async function openLoop(o: {
    readonly perSecond: number;
    readonly seconds: number;
    readonly seed: number;
}): Promise<WorkerRun> {
    const random = seededRandom(o.seed);
    const begin = performance.now();
    return record(async (allocate) => {
        const running: Promise<void>[] = [];
        for (const at of arrivals(o.perSecond, o.seconds, random)) {
            const waitMs = begin + at - performance.now();
            if (waitMs > 0) await sleep(waitMs);
            const one = opened[Math.floor(random() * opened.length)];
            if (one !== undefined) running.push(allocate(one, begin + at));
        }
        await Promise.all(running);
    });
}

/** Allocations of the given addresses for Pods on so many Nodes, created as fast as the API server accepts them. */
async function fill(o: {
    readonly kubeconfig: string;
    readonly pool: string;
    readonly nodes: number;
    readonly addresses: readonly number[];
    readonly parallel: number;
}): Promise<void> {
    using clients = createKubeClients({ kubeconfig: o.kubeconfig, userAgent: "bench-fill/0" });
    const { addresses } = o;
    let next = 0;
    const loop = async (): Promise<void> => {
        for (let value = addresses[next++]; value !== undefined; value = addresses[next++]) {
            const node = value % o.nodes;
            const pod = podOf({ agent: node, round: 0 }, value);
            const allocation = allocationOf({ family: 4, value: BigInt(value) }, o.pool, nodeNameOf(node), pod);
            await clients.api.create(ipAllocations, allocation);
        }
    };
    await Promise.all(Array.from({ length: o.parallel }, loop));
}

/** Opens the watches of idle agents: each its Node's allocations and a block. The events are not decoded. */
async function watch(o: {
    readonly kubeconfig: string;
    readonly agents: readonly number[];
    readonly blocks: readonly string[];
    readonly resourceVersion: string;
}): Promise<void> {
    await using stack = new AsyncDisposableStack();
    const { api } = stack.use(createKubeClients({ kubeconfig: o.kubeconfig, userAgent: "bench-watch/0" }));
    const stop = new AbortController();
    const read: Promise<void>[] = [];
    stack.defer(async () => void (await Promise.all(read)));
    stack.defer(() => stop.abort());
    for (const agent of o.agents) {
        const block = o.blocks[agent % o.blocks.length] ?? "";
        const selectors = [`spec.pod.nodeName=${nodeNameOf(agent)}`, `spec.block=${block}`];
        const options = { resourceVersion: o.resourceVersion, timeoutSeconds: 600, signal: stop.signal };
        const responses = await Promise.all(
            selectors.map((fieldSelector) => api.watch(ipAllocations, { ...options, fieldSelector })),
        );
        read.push(...responses.map(readAll));
    }
    watching = stack.move();
}

/** Reads to the end, or until the abort. */
async function readAll(response: AsyncIterable<unknown>): Promise<void> {
    try {
        for await (const chunk of response) void chunk;
    } catch {
        // Aborted by this process at the end.
    }
}

async function unwatch(): Promise<void> {
    await watching?.disposeAsync();
    watching = undefined;
}

type Allocate = (one: Opened, since: number) => Promise<void>;

async function record(work: (allocate: Allocate) => Promise<void>): Promise<WorkerRun> {
    const latencies: number[] = [];
    const failures: unknown[] = [];
    const before = await conflictsOfAll();
    const cpuBefore = process.cpuUsage();
    await work(async (one, since) => {
        try {
            await one.agent.claim(one.pods++);
            latencies.push(performance.now() - since);
        } catch (error) {
            failures.push(error);
        }
    });
    const { user, system } = process.cpuUsage(cpuBefore);
    return {
        latencies,
        cpuMs: (user + system) / 1000,
        failures: failures.length,
        ...(failures.length > 0 && { failure: String(failures[0]) }),
        conflicts: (await conflictsOfAll()) - before,
    };
}

async function conflictsOfAll(): Promise<number> {
    const counts = await Promise.all(opened.map(({ agent }) => agent.conflicts()));
    return counts.reduce((sum, count) => sum + count, 0);
}

serveBench({ open, close, closedLoop, openLoop, fill, watch, unwatch });
