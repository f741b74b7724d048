import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { systemClock } from "@antrea/async";
import { nodeTables, Pipeline, serviceTables, Table } from "@antrea/flows";
import { formatIp } from "@antrea/ip";
import { WorkQueue } from "@antrea/kube";
import { formatActions, OpenFlowError } from "@antrea/openflow";
import { type ServedService, type ServiceObject, type SliceObject } from "@antrea/services";
import fc from "fast-check";
import { ServiceSync, type ServiceSyncComponents } from "../../../src/features/services/service-sync.ts";
import { FlowTable } from "../../../src/platform/ovs/flow-table/index.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeSwitch } from "../../platform/ovs/flow-table/fake-switch.ts";
import { emptyIndex } from "./examples.ts";

const next = new Pipeline([...nodeTables, ...serviceTables({ bridging: false, proxyAll: false })]);
const key = "default/web";

function service(name: string, spec: Readonly<Record<string, unknown>> = {}): ServiceObject {
    return {
        metadata: { name, namespace: "default", uid: `uid-${name}`, creationTimestamp: "2026-01-01T00:00:00Z" },
        spec: { clusterIPs: [`10.96.0.${name.length}`], ports: [{ port: 80 }], ...spec },
    };
}

function slice(of: string, ips: readonly string[]): SliceObject {
    return {
        metadata: { name: `${of}-1`, namespace: "default", labels: { "kubernetes.io/service-name": of } },
        addressType: "IPv4",
        endpoints: ips.map((ip) => ({ addresses: [ip], nodeName: "here" })),
        ports: [{ name: "", port: 8080 }],
    };
}

/** A start of the agent with an index, a queue and a switch. */
class Start {
    readonly index = emptyIndex();
    readonly ovs = new FakeSwitch();
    readonly changes: (readonly [before: ServedService | undefined, after: ServedService | undefined])[] = [];
    readonly sync: ServiceSync;
    readonly queue: WorkQueue;
    readonly requeued = new Map<string, number | undefined>();
    now = 0;
    hasRejectMeter = true;

    constructor(host?: ServiceSyncComponents["host"]) {
        const flowTable = new FlowTable({ link: this.ovs, logger: silentLogger });
        flowTable.useRound(1);
        this.sync = new ServiceSync({
            index: this.index,
            flowTable,
            next,
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
            { name: "services", concurrency: 4, initialBackoffMs: 1 },
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

/** Resolves when no key waits or is processed; those that are tried again later do not count. */
async function idle({ queue }: Start): Promise<void> {
    while (queue.health().state === "running") await turn();
}

let start: Start;
beforeEach(() => {
    start = new Start();
});

async function set(...ips: readonly string[]): Promise<void> {
    start.mark(start.index.setSlice(slice("web", ips)));
    await idle(start);
    start.changes.length = 0;
}

describe("Services in the flow table", () => {
    it("come and go with their flows and groups", async () => {
        start.mark(start.index.setService(service("web")));
        await set("10.10.0.2", "10.10.0.3");
        expect(start.ovs.flows.map(({ table }) => table)).toEqual([Table.ServiceLb]);
        expect(start.ovs.groups).toHaveLength(1);
        expect([...start.sync.installed.keys()]).toEqual([key]);
        start.mark(start.index.deleteService(key));
        await idle(start);
        expect([start.ovs.flows, start.ovs.groups, start.sync.installed.size]).toEqual([[], [], 0]);
        expect(start.changes.map((pair) => pair.map((one) => one?.uid))).toEqual([["uid-web", undefined]]);
    });

    it("change in one bundle for all that came meanwhile", async () => {
        start.mark(start.index.setService(service("web")));
        await set("10.10.0.2");
        const before = start.ovs.bundles.length;
        for (let at = 0; at < 20; at += 1) start.mark(start.index.setSlice(slice("web", [`10.10.0.${at}`])));
        await turn();
        for (let at = 20; at < 40; at += 1) start.mark(start.index.setSlice(slice("web", [`10.10.0.${at}`])));
        await idle(start);
        expect(start.ovs.bundles.length - before).toBeLessThanOrEqual(2);
        expect(start.sync.installed.get(key)?.ports[0]?.endpoints.cluster.map(({ ip }) => formatIp(ip))).toEqual([
            "10.10.0.39",
        ]);
    });

    it("that OVS refuses stay as they were, and are tried again", async () => {
        start.mark(start.index.setService(service("web")));
        await set("10.10.0.2");
        const before = start.served;
        const error = new OpenFlowError("REFUSED", "remote", "refused");
        for (let times = 0; times < 2; times += 1) start.ovs.failures.push({ error, applied: false });
        start.mark(start.index.setSlice(slice("web", ["10.10.0.3"])));
        await idle(start);
        expect(start.served).toEqual(before);
        expect(start.changes).toEqual([]);
        while (start.changes.length === 0) await turn();
        expect(start.served).not.toEqual(before);
    });

    it("of which nothing can be served are known with their problems, until something can or they are gone", async () => {
        const unserved = (): readonly string[] =>
            Array.from(start.sync.unserved, (one) => `${one.key} ${one.problems.map(({ reason }) => reason).join()}`);
        const whole = service("web");
        const bad = { ...whole, spec: { ...whole.spec, ports: [{ port: 0 }] } };
        start.mark(start.index.setService(bad));
        await idle(start);
        expect([unserved(), start.sync.installed.size]).toEqual([[`${key} InvalidServicePort`], 0]);
        start.mark(start.index.setService(whole));
        await idle(start);
        expect([unserved(), start.sync.installed.size]).toEqual([[], 1]);
        start.mark(start.index.setService(bad));
        await idle(start);
        start.mark(start.index.deleteService(key));
        await idle(start);
        expect(unserved()).toEqual([]);
    });

    it("that OVS refused leave nothing at the host when they are gone", async () => {
        const prepared = new Set<string>();
        start = new Start({
            prepare: (one) => {
                prepared.add(one.key);
                return { standIns: new Map(), problems: [] };
            },
            served: (one, now) => void (now === undefined && prepared.delete(one)),
        });
        const error = new OpenFlowError("REFUSED", "remote", "refused");
        start.ovs.failures.push({ error, applied: false });
        start.mark(start.index.setService(service("web")));
        await idle(start);
        expect([[...prepared], start.served]).toEqual([[key], []]);
        start.mark(start.index.deleteService(key));
        await idle(start);
        expect([...prepared]).toEqual([]);
    });

    it("have the problems of the host for as long as it names them", async () => {
        const used = { field: "", value: "", rule: "", next: "", count: 1 };
        let reasons: ("PortUsedByNode" | "StandInsUsedUp")[] = ["PortUsedByNode"];
        start = new Start({
            prepare: () => ({ standIns: new Map(), problems: reasons.map((reason) => ({ ...used, reason })) }),
            served: () => undefined,
        });
        const installed = (): readonly string[] | undefined =>
            start.sync.installed.get(key)?.problems.map(({ reason }) => reason);
        start.mark(start.index.setService(service("web")));
        await idle(start);
        expect(installed()).toEqual(["PortUsedByNode"]);
        reasons = [];
        start.mark([key]);
        await idle(start);
        expect(installed()).toEqual([]);
    });

    it("without endpoints lose their flows if OVS has no meter for what the agent would reject", async () => {
        start.mark(start.index.setService(service("web")));
        await set();
        expect(start.served.join()).toContain("controller");
        start.hasRejectMeter = false;
        await set("10.10.0.2", "10.10.0.3");
        expect(start.ovs.groups).toHaveLength(1);
        await set();
        expect([start.served, start.ovs.groups]).toEqual([[], []]);
        expect([...start.sync.installed.keys()]).toEqual([key]);
        await set("10.10.0.4");
        expect(start.served.join()).toContain("nat(dst=10.10.0.4:8080)");
    });

    it("are possible while they are under way, as before and as after", async () => {
        start.mark(start.index.setService(service("web")));
        await set("10.10.0.2");
        start.ovs.disconnect();
        start.mark(start.index.setSlice(slice("web", ["10.10.0.3"])));
        await turn();
        const endpoints = [...start.sync.possible()].flatMap(({ ports }) =>
            ports.flatMap((port) => port.endpoints.cluster.map(({ ip }) => formatIp(ip))),
        );
        expect(endpoints).toEqual(["10.10.0.2", "10.10.0.3"]);
    });

    it("leave nothing in OVS if it has a change that it refused at the second try, and they are gone", async () => {
        const { signal } = new AbortController();
        const refused = new OpenFlowError("REFUSED", "remote", "refused");
        const lost = new OpenFlowError("TIMEOUT", "timeout", "no answer");
        // the change, the same again, and its removal
        start.ovs.failures.push(
            { error: lost, applied: true },
            ...[1, 2].map(() => ({ error: refused, applied: false })),
        );
        start.index.setService(service("web"));
        await expect(start.sync.reconcile(key, signal)).rejects.toBe(refused);
        expect([start.ovs.flows.length, start.sync.installed.size]).toEqual([1, 0]);
        start.index.deleteService(key);
        start.ovs.failures.push({ error: refused, applied: false });
        await expect(start.sync.reconcile(key, signal)).rejects.toBe(refused);
        await start.sync.reconcile(key, signal);
        expect(start.ovs.flows).toEqual([]);
        // its UDP connections too
        expect(start.changes.map((pair) => pair.map((one) => one?.key))).toEqual([[key, undefined]]);
        const bundles = start.ovs.bundles.length;
        await start.sync.reconcile(key, signal);
        expect([start.ovs.bundles.length, start.changes.length]).toEqual([bundles, 1]);
    });

    it("with affinity are sent again when their salt changes", async () => {
        const sessionAffinity = "ClientIP";
        const sessionAffinityConfig = { clientIP: { timeoutSeconds: 60 } };
        start.mark(start.index.setService(service("web", { sessionAffinity, sessionAffinityConfig })));
        await set("10.10.0.2", "10.10.0.3");
        expect(start.requeued.get(key)).toBe(60_000);
        const before = start.served;
        start.now = 60_001;
        start.mark([key]);
        await idle(start);
        expect(start.requeued.get(key)).toBe(59_999);
        const changed = start.served.filter((line) => !before.includes(line));
        expect([start.served.length, changed.length]).toEqual([before.length, 1]);
    });

    it("get an address, protocol and port when the older one has gone", async () => {
        const clusterIPs = ["10.96.0.9"];
        start.mark(start.index.setService(service("web", { clusterIPs })));
        const younger = service("younger", { clusterIPs });
        start.mark(
            start.index.setService({
                ...younger,
                metadata: { ...younger.metadata, creationTimestamp: "2026-02-01T00:00:00Z" },
            }),
        );
        start.mark(start.index.setSlice(slice("younger", ["10.10.0.7"])));
        await set("10.10.0.2");
        expect([...start.sync.installed.keys()]).toEqual([key]);
        start.mark(start.index.deleteService(key));
        await idle(start);
        expect([...start.sync.installed.keys()]).toEqual(["default/younger"]);
        expect(start.served.join()).toContain("nat(dst=10.10.0.7:8080)");
        expect(start.served).toHaveLength(1);
    });
});

type Event =
    | {
          readonly kind: "service";
          readonly name: string;
          readonly ip: number;
          readonly affinity: boolean;
          readonly udp: boolean;
      }
    | { readonly kind: "slice"; readonly name: string; readonly ips: readonly number[] }
    | { readonly kind: "delete" | "forget"; readonly name: string }
    | { readonly kind: "wait" | "lost" | "refused" };

const names = fc.constantFrom("a", "bb", "ccc");
const event: fc.Arbitrary<Event> = fc.oneof(
    fc.record({
        kind: fc.constant("service" as const),
        name: names,
        ip: fc.integer({ min: 1, max: 4 }),
        affinity: fc.boolean(),
        udp: fc.boolean(),
    }),
    fc.record({
        kind: fc.constant("slice" as const),
        name: names,
        ips: fc.uniqueArray(fc.integer({ min: 2, max: 30 }), { maxLength: 20 }),
    }),
    fc.record({ kind: fc.constantFrom("delete" as const, "forget" as const), name: names }),
    fc.record({ kind: fc.constantFrom("wait" as const, "lost" as const, "refused" as const) }),
);

function happen(to: Start, one: Event): void {
    switch (one.kind) {
        case "service":
            return to.mark(
                to.index.setService(
                    service(one.name, {
                        clusterIPs: [`10.96.0.${one.ip}`],
                        ports: [{ port: 80, protocol: one.udp ? "UDP" : "TCP" }],
                        sessionAffinity: one.affinity ? "ClientIP" : "None",
                    }),
                ),
            );
        case "slice":
            return to.mark(
                to.index.setSlice(
                    slice(
                        one.name,
                        one.ips.map((ip) => `10.10.0.${ip}`),
                    ),
                ),
            );
        case "delete":
            return to.mark(to.index.deleteService(`default/${one.name}`));
        case "forget":
            return to.mark(to.index.deleteSlice(`default/${one.name}-1`));
        case "lost":
            to.ovs.failures.push({ error: new OpenFlowError("TIMEOUT", "timeout", "no answer"), applied: true });
            break;
        case "refused":
            to.ovs.failures.push({ error: new OpenFlowError("REFUSED", "remote", "refused"), applied: false });
            break;
        case "wait":
            break;
    }
}

it("any events end in the flows of a fresh start with the same objects", async () => {
    await fc.assert(
        fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
            const changed = new Start();
            for (const one of events) {
                happen(changed, one);
                if (one.kind === "wait") await idle(changed);
            }
            while (changed.queue.size > 0) await turn();
            const last = new Map<string, Event>();
            for (const one of events) {
                if (one.kind === "service" || one.kind === "delete") last.set(`service ${one.name}`, one);
                if (one.kind === "slice" || one.kind === "forget") last.set(`slice ${one.name}`, one);
            }
            const fresh = new Start();
            for (const one of last.values()) happen(fresh, one);
            while (fresh.queue.size > 0) await turn();
            expect(changed.served).toEqual(fresh.served);
            await Promise.all([changed.queue.close(), fresh.queue.close()]);
        }),
        { numRuns: 150 },
    );
});
