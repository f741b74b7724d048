import { systemClock } from "@antrea/async";
import { nodeTables, Pipeline, serviceTables } from "@antrea/flows";
import { WorkQueue } from "@antrea/kube";
import { formatActions } from "@antrea/openflow";
import type { ServedService, ServiceIndex, ServiceObject, SliceObject } from "@antrea/services";
import { ServiceSync, type ServiceSyncComponents } from "../../../src/features/services/service-sync.ts";
import { FlowTable } from "../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeSwitch } from "../../platform/ovs/flow-table/fake-switch.ts";
import { emptyIndex } from "./examples.ts";

const pipelineWith = (proxyAll: boolean): Pipeline =>
    new Pipeline([...nodeTables, ...serviceTables({ bridging: false, proxyAll })]);

/** A Service `default/NAME` with TCP port 80 at the ClusterIP 10.96.0.x, x the length of its name. */
export function service(name: string, spec: Readonly<Record<string, unknown>> = {}): ServiceObject {
    return {
        metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: "2026-01-01T00:00:00Z" },
        spec: { clusterIPs: [`10.96.0.${name.length}`], ports: [{ port: 80 }], ...spec },
    };
}

/** The EndpointSlice `NAME-1` of a Service, with endpoints on this Node at port 8080. */
export function slice(of: string, ips: readonly string[]): SliceObject {
    return {
        metadata: { name: `${of}-1`, namespace: "default", labels: { "kubernetes.io/service-name": of } },
        addressType: "IPv4",
        endpoints: ips.map((ip) => ({ addresses: [ip], nodeName: "here" })),
        ports: [{ name: "", port: 8080 }],
    };
}

/** A start of the agent with an index, a queue and a switch. */
export class Start {
    readonly index: ServiceIndex;
    readonly ovs = new FakeSwitch();
    readonly changes: (readonly [before: ServedService | undefined, after: ServedService | undefined])[] = [];
    readonly sync: ServiceSync;
    readonly queue: WorkQueue;
    readonly requeued = new Map<string, number | undefined>();
    now = 0;
    hasRejectMeter = true;

    /**
     * @param host the Node's network stack; default: without `proxyAll`
     * @param concurrency Services whose changes are under way at a time
     */
    constructor(host?: ServiceSyncComponents["host"], concurrency = 4) {
        this.index = emptyIndex({ proxyAll: host !== undefined });
        const flowTable = new FlowTable({ link: this.ovs, logger: silentLogger });
        flowTable.useRound(1);
        this.sync = new ServiceSync({
            index: this.index,
            flowTable,
            next: pipelineWith(host !== undefined),
            learned: { changed: () => Promise.resolve() },
            events: { report: () => undefined, forget: () => undefined },
            host,
            isBridging: false,
            keepsFragments: false,
            hasRejectMeter: () => this.hasRejectMeter,
            onChanged: (before, after) => void this.changes.push([before, after]),
            clock: { ...systemClock, now: () => this.now },
        });
        this.queue = new WorkQueue(
            { logger: silentLogger },
            { name: "services", concurrency, initialBackoffMs: 1 },
            async (one, signal) => {
                const { requeueAfterMs } = await this.sync.reconcile(one, signal);
                this.requeued.set(one, requeueAfterMs);
            },
        );
        this.queue.start(new AbortController().signal);
    }

    mark(keys: Iterable<string>): void {
        for (const one of keys) this.queue.add(one);
    }

    /** What the switch does with Services: each flow, with the buckets of its group in the place of the group's id. */
    get served(): readonly string[] {
        const groups = new Map(this.ovs.groups.map(({ id, ...group }) => [id, JSON.stringify(group, textOf)]));
        return this.ovs.flows
            .map(({ cookie: _, actions, ...flow }) => {
                const made = actions.map((action) =>
                    action.type === "group" ? groups.get(action.group) : formatActions([action]),
                );
                return `${JSON.stringify(flow, textOf)} ${made.join()}`;
            })
            .sort();
    }
}

const textOf = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? `${value}n` : value);
