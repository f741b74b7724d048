import { setTimeout as sleep } from "node:timers/promises";
import { endpointSlices, type ApiClient, type EndpointSlice } from "@antrea/kube";
import { BenchError } from "../error.ts";
import { inParallel } from "../in-parallel.ts";
import { type Written } from "./bundles.ts";
import { type OpenFlowTap } from "./openflow-tap.ts";
import {
    clusterIp,
    endpointIp,
    endpointsEach,
    endpointsOf,
    replacementIp,
    serviceName,
    serviceNamespace,
    servicePort,
    sliceAt,
} from "./service-objects.ts";
import { type ServingNode } from "./serving-node.ts";
import { type SliceWatch } from "./slice-watch.ts";

const warmUp = 3;
/** Other work for a change, such as of a journal, ends within this pause. */
const pauseMs = 150;
const settleMs = 3_000;
const limitMs = 30_000;
const burstWidth = 64;

/** Which Services are changed. */
export interface Changed {
    /** Index of the first one. */
    readonly first: number;
    readonly count: number;
    /** The first number of addresses that are new in this turn. */
    readonly replacement: number;
}

/** What the agent has done for changes of one endpoint each. */
export interface WrittenChanges {
    /** Milliseconds from the request to the API server until the switch has the change, and until a watch has it. */
    readonly ours: readonly number[];
    readonly peer: readonly number[];
    /** Messages to the switch for each, and changes in them. */
    readonly messages: readonly number[];
    readonly writes: readonly number[];
    /** Changes of other Services. */
    readonly others: number;
}

/** One change of an endpoint. */
export interface Change {
    /** The ClusterIP of its Service. */
    readonly clusterIp: string;
    /** An address that no endpoint had before. */
    readonly address: string;
    readonly write: () => Promise<void>;
}

/** The replacement of an endpoint of the Service with this index. */
export function replacementAt(api: ApiClient, index: number, replacement: number): Change {
    const address = replacementIp(replacement + index);
    return { clusterIp: clusterIp(index), address, write: () => replaceOne(api, index, address) };
}

/** Makes so many changes, one at a time, and a few before that do not count. */
export async function measureWritten(
    tap: OpenFlowTap,
    watch: SliceWatch,
    count: number,
    changeAt: (at: number) => Change,
): Promise<WrittenChanges> {
    const done = { ours: [] as number[], peer: [] as number[], messages: [] as number[], writes: [] as number[] };
    let others = 0;
    for (let at = -warmUp; at < count; at++) {
        const change = changeAt(warmUp + at);
        const [bundles, messages] = [tap.count, tap.messages];
        const own = ({ of }: Written): boolean => of.includes(change.clusterIp);
        const seen = watch.shows(change.address, limitMs);
        const begin = performance.now();
        const [isDone, seenAt] = await Promise.all([
            tap.until(() => tap.since(bundles).some(own), limitMs),
            seen,
            change.write(),
        ]);
        if (!isDone) throw notWritten(change.clusterIp);
        await sleep(pauseMs);
        if (at < 0) continue;
        const written = tap.since(bundles);
        const all = written.flatMap(({ of }) => of);
        done.ours.push((written.find(own)?.at ?? NaN) - begin);
        done.peer.push(seenAt - begin);
        done.messages.push(tap.messages - messages);
        done.writes.push(all.length);
        others += all.filter((of) => of !== change.clusterIp).length;
    }
    return { ...done, others };
}

/**
 * Milliseconds from the request to the API server until the client is answered by the endpoint that is ready now, the only one of the
 * Service.
 */
export async function measureSeen(
    api: ApiClient,
    { client }: ServingNode,
    { index, count, pause }: { readonly index: number; readonly count: number; readonly pause: number },
): Promise<readonly number[]> {
    const times: number[] = [];
    for (let change = -1; change < count; change++) {
        const ready = (change + 1) % endpointsEach;
        const input = { address: clusterIp(index), port: servicePort, from: endpointIp(index, ready), limitMs };
        const begin = performance.timeOrigin + performance.now();
        const [end] = await Promise.all([client.ask<number>("answerFrom", input), makeReady(api, index, ready)]);
        if (change >= 0) times.push(end - begin);
        // what all endpoints answered before is over
        await sleep(change < 0 ? settleMs : pause);
    }
    return times;
}

export interface Burst {
    /** Seconds from the first to the last event, as a watch has them. */
    readonly eventSeconds: number;
    /** Seconds from the last event until the switch has all changes. */
    readonly lateSeconds: number;
}

/** Replaces an endpoint of each of so many Services from index `first` on, as fast as the API server permits. */
export async function measureBurst(
    api: ApiClient,
    tap: OpenFlowTap,
    watch: SliceWatch,
    { first, count, replacement }: Changed,
): Promise<Burst> {
    const bundles = tap.count;
    const indexes = Array.from({ length: count }, (_, at) => first + at);
    const left = new Set(indexes.map(clusterIp));
    let counted = bundles;
    const isWritten = (): boolean => {
        for (const { of } of tap.since(counted)) for (const ip of of) left.delete(ip);
        counted = tap.count;
        return left.size === 0;
    };
    const events = indexes.map((index) => watch.shows(replacementIp(replacement + index), limitMs));
    const [isDone, seen] = await Promise.all([
        tap.until(isWritten, limitMs),
        Promise.all(events),
        inParallel(count, burstWidth, (at) => replaceOne(api, first + at, replacementIp(replacement + first + at))),
    ]);
    if (!isDone) throw notWritten([...left].join(", "));
    const [earliest, last] = [Math.min(...seen), Math.max(...seen)];
    const end = tap.since(bundles).at(-1)?.at ?? NaN;
    return { eventSeconds: (last - earliest) / 1000, lateSeconds: Math.max(0, end - last) / 1000 };
}

/** Another address for the last endpoint of a Service. */
async function replaceOne(api: ApiClient, index: number, address: string): Promise<void> {
    await writeEndpoints(api, index, sliceAt(index, [...endpointsOf(index).slice(0, -1), address]).endpoints);
}

/** Only this endpoint of a Service is ready. */
async function makeReady(api: ApiClient, index: number, ready: number): Promise<void> {
    const { endpoints = [] } = sliceAt(index);
    const conditions = (at: number): object => ({ ready: at === ready, serving: at === ready, terminating: false });
    await writeEndpoints(
        api,
        index,
        endpoints.map((endpoint, at) => ({ ...endpoint, conditions: conditions(at) })),
    );
}

async function writeEndpoints(api: ApiClient, index: number, endpoints: EndpointSlice["endpoints"]): Promise<void> {
    const place = { namespace: serviceNamespace, name: serviceName(index) };
    await api.patch(endpointSlices, place, { type: "merge", body: { endpoints } });
}

function notWritten(service: string): BenchError {
    return new BenchError("NOT_READY", "environment", `the switch did not get the change of ${service}`);
}
