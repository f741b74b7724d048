import { setImmediate as turn } from "node:timers/promises";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { Table } from "@antrea/flows";
import { formatIp } from "@antrea/ip";
import { OpenFlowError } from "@antrea/openflow";
import { fnv1a } from "../../../src/platform/fnv1a.ts";
import { service, slice, Start } from "./start.ts";

const key = "default/web";

let start: Start;
beforeEach(() => {
    start = new Start();
});

async function set(...ips: readonly string[]): Promise<void> {
    start.mark(start.index.setSlice(slice("web", ips)));
    await start.queue.idle();
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
        await start.queue.idle();
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
        await start.queue.idle();
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
        await start.queue.idle();
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
        await start.queue.idle();
        expect([unserved(), start.sync.installed.size]).toEqual([[`${key} InvalidServicePort`], 0]);
        start.mark(start.index.setService(whole));
        await start.queue.idle();
        expect([unserved(), start.sync.installed.size]).toEqual([[], 1]);
        start.mark(start.index.setService(bad));
        await start.queue.idle();
        start.mark(start.index.deleteService(key));
        await start.queue.idle();
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
        await start.queue.idle();
        expect([[...prepared], start.served]).toEqual([[key], []]);
        start.mark(start.index.deleteService(key));
        await start.queue.idle();
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
        await start.queue.idle();
        expect(installed()).toEqual(["PortUsedByNode"]);
        reasons = [];
        start.mark([key]);
        await start.queue.idle();
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
        // the Service has a moment of its own for it
        start.now = 60_000 - (fnv1a("uid-web") % 60_000);
        start.mark(start.index.setService(service("web", { sessionAffinity, sessionAffinityConfig })));
        await set("10.10.0.2", "10.10.0.3");
        expect(start.requeued.get(key)).toBe(60_000);
        const before = start.served;
        start.now += 60_001;
        start.mark([key]);
        await start.queue.idle();
        expect(start.requeued.get(key)).toBe(59_999);
        const changed = start.served.filter((line) => !before.includes(line));
        expect([start.served.length, changed.length]).toEqual([before.length, 1]);
    });

    it("follow another zone of the Node all, and leave time for others after as many as are under way at once", async () => {
        const [count, concurrency] = [2_000, 256];
        start = new Start(undefined, concurrency);
        const inZone = (zone: string): ReadonlySet<string> =>
            start.index.setNode({ metadata: { name: "here", labels: { "topology.kubernetes.io/zone": zone } } });
        inZone("a");
        for (let at = 0; at < count; at += 1) {
            start.index.setService(service(`s${at}`, { clusterIPs: [`10.97.${at >> 8}.${at & 0xff}`] }));
            const endpoints = ["a", "b"].map((zone) => ({
                addresses: [zone === "a" ? "10.10.0.2" : "10.10.0.3"],
                hints: { forZones: [{ name: zone }] },
            }));
            start.index.setSlice({ ...slice(`s${at}`, []), endpoints });
        }
        start.mark(start.index.keys);
        await start.queue.idle();
        const served = start.index.served.bind(start.index);
        let computed = 0;
        start.index.served = (one) => {
            computed += 1;
            return served(one);
        };
        const touched = inZone("b");
        expect([touched.size, computed]).toEqual([count, 0]);
        start.mark(touched);
        const atOnce: number[] = [];
        while (start.queue.size > 0) {
            const before = computed;
            await turn();
            atOnce.push(computed - before);
        }
        expect(computed).toBe(count);
        expect(Math.max(...atOnce)).toBeLessThanOrEqual(concurrency);
        const chosen = Array.from(start.sync.installed.values(), ({ ports }) =>
            ports.flatMap(({ endpoints }) => endpoints.cluster.map(({ ip }) => formatIp(ip))).join(),
        );
        expect(new Set(chosen)).toEqual(new Set(["10.10.0.3"]));
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
        await start.queue.idle();
        expect([...start.sync.installed.keys()]).toEqual(["default/younger"]);
        expect(start.served.join()).toContain("nat(dst=10.10.0.7:8080)");
        expect(start.served).toHaveLength(1);
    });
});
