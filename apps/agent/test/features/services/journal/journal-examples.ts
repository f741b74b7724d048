import { ManualClock } from "@antrea/async/testing";
import type { Prefix } from "@antrea/ip";
import type { JobResult, Jobs, JobWork } from "@antrea/runtime";
import { type ServiceIndex, type ServiceObject, type ServiceObjects, type SliceObject } from "@antrea/services";
import { JournalFile } from "../../../../src/features/services/journal/journal-file.ts";
import { ServiceJournal } from "../../../../src/features/services/journal/service-journal.ts";
import { listLogger, type LogEntry } from "../../../support/logger.ts";
import { emptyIndex } from "../examples.ts";

/** A Service `default/NAME` at this ClusterIP. */
export function service(name: string, ip = "10.96.0.1", spec: Readonly<Record<string, unknown>> = {}): ServiceObject {
    return {
        metadata: {
            name,
            namespace: "default",
            uid: `uid-${name}`,
            resourceVersion: "7",
            creationTimestamp: "2026-01-01T00:00:00Z",
        },
        spec: { type: "ClusterIP", clusterIPs: [ip], ports: [{ protocol: "TCP", port: 80 }], ...spec },
    };
}

/** An EndpointSlice of it with these endpoints. */
export function slice(of: string, ips: readonly string[], name = `${of}-1`): SliceObject {
    return {
        metadata: {
            name,
            namespace: "default",
            resourceVersion: "8",
            labels: { "kubernetes.io/service-name": of },
            annotations: { "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z" },
        },
        addressType: "IPv4",
        endpoints: ips.map((ip) => ({ addresses: [ip], nodeName: "here" })),
        ports: [{ name: "", protocol: "TCP", port: 8080 }],
    };
}

/** What is served of these, as text by Service. */
export function servedOf(known: Iterable<ServiceObjects>): Readonly<Record<string, string>> {
    const index = emptyIndex({ proxyAll: true, dsr: true, sctp: true });
    for (const { service: one, slices } of known) {
        index.setService(one);
        for (const each of slices) index.setSlice(each);
    }
    return servedBy(index);
}

/** What an index serves, as text by Service. */
export function servedBy(index: ServiceIndex): Readonly<Record<string, string>> {
    const asText = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);
    return Object.fromEntries(
        index.keys.toSorted().map((key) => [key, JSON.stringify(index.served(key), asText)] as const),
    );
}

/** A start of the agent with an index and a journal in this folder; its job runs when the test calls `pass`. */
export class JournalStart {
    readonly index = emptyIndex({ proxyAll: true, dsr: true, sctp: true });
    readonly clock = new ManualClock();
    readonly log: LogEntry[] = [];
    serviceCidrs: readonly Prefix[] | undefined;
    readonly journal: ServiceJournal;
    skippedLines = 0;
    failures = 0;
    /** How often the job is to run since the last pass. */
    triggers = 0;
    #work: JobWork | undefined;

    constructor(folder: string, maxBytes = 1 << 30) {
        this.journal = new ServiceJournal({
            file: new JournalFile({ folder, maxBytes }),
            index: this.index,
            serviceCidrs: () => this.serviceCidrs,
            clock: this.clock,
            logger: listLogger(this.log),
            metrics: {
                journalLinesSkipped: (lines) => void (this.skippedLines += lines),
                journalWriteFailed: () => void (this.failures += 1),
            },
        });
    }

    begin(): void {
        const every = (_name: string, _intervalMs: number, work: JobWork): ReturnType<Jobs["every"]> => {
            this.#work = work;
            return {
                trigger: () => void (this.triggers += 1),
                health: () => {
                    throw new TypeError("nobody asks");
                },
            };
        };
        this.journal.begin({ every });
    }

    /** Brings a Service with its endpoints into the index, as events of the API server do. */
    set(name: string, ips: readonly string[], ip?: string): void {
        this.index.setService(service(name, ip));
        this.index.setSlice(slice(name, ips));
        this.journal.changed(`default/${name}`);
    }

    delete(name: string): void {
        this.index.deleteService(`default/${name}`);
        this.index.deleteSlice(`default/${name}-1`);
        this.journal.changed(`default/${name}`);
    }

    /** A run of the job, and the time until it has gathered changes; `during` is called while it writes. */
    async pass({
        signal = new AbortController().signal,
        during = (): void => undefined,
    }: { readonly signal?: AbortSignal; readonly during?: () => void } = {}): Promise<JobResult | undefined> {
        this.triggers = 0;
        const running = this.#work?.(signal);
        await this.clock.advance(1_000);
        during();
        return (await running) ?? undefined;
    }
}
