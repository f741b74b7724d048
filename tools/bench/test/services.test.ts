import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { type Message } from "@antrea/openflow";
import type { Helper } from "../helper.ts";
import { Bundles, isEcho, isWrite, type Written } from "../services/bundles.ts";
import { clusterIp, endpointsOf, replacementIp, serviceAt, serviceName, sliceAt } from "../services/service-objects.ts";
import { sizesOf } from "../services/sizes.ts";
import { sampleOf, secondsUntilServed } from "../services/until-served.ts";

describe("sizes", () => {
    it.each([undefined, "", "10000"])("are the published ones for %j", (text) => {
        expect(sizesOf(text)).toMatchObject({ services: 10_000, starts: 3, changes: 200, burst: 1_000 });
    });

    it("are smaller throughout for few Services, which then suffice for all changes", () => {
        const { services, changes, burst, turns } = sizesOf("100");
        expect([services, changes, burst, turns]).toEqual([100, 20, 50, 1]);
    });

    it.each(["99", "60001", "1e2.5", "many"])("are refused: %s", (text) => {
        expect(() => sizesOf(text)).toThrow("BENCH_SERVICES");
    });
});

describe("Services", () => {
    const indexes = Array.from({ length: 6_000 }, (_, at) => (at < 3_000 ? at : 57_000 - 3_000 + at));

    it("have names in the order of their indexes, and ClusterIPs of their own in the Service CIDR", () => {
        const names = indexes.map(serviceName);
        expect(names.toSorted().join()).toBe(names.join());
        const ips = indexes.map(clusterIp);
        expect(new Set(ips).size).toBe(indexes.length);
        expect(ips.every((ip) => ip.startsWith("10.96."))).toBe(true);
        expect(ips).not.toContain("10.96.0.1"); // that of the API server
    });

    it("have endpoints that are of no other Service, and that no replacement is", () => {
        const endpoints = new Set(indexes.flatMap(endpointsOf));
        expect(endpoints.size).toBe(60_000);
        expect(indexes.some((number) => endpoints.has(replacementIp(number)))).toBe(false);
    });

    it("are what Kubernetes has of them", () => {
        expect(serviceAt(7).spec).toEqual({
            clusterIP: "10.96.2.7",
            selector: { app: "service-00007" },
            ports: [{ port: 80, protocol: "TCP" }],
        });
        const slice = sliceAt(7, ["10.32.0.70"]);
        expect(slice.metadata?.labels?.["kubernetes.io/service-name"]).toBe("service-00007");
        expect(slice.endpoints).toMatchObject([{ addresses: ["10.32.0.70"], conditions: { ready: true } }]);
    });

    it.each([
        [10, Array.from({ length: 10 }, (_, index) => index)],
        [128, Array.from({ length: 64 }, (_, at) => 2 * at + 1)],
    ])("of %i a sample goes up to the last one", (count, expected) => expect(sampleOf(count)).toEqual(expected));
});

describe("the time until Services are served", () => {
    const now = (): number => performance.timeOrigin + performance.now();
    const all = new Set(Array.from({ length: 100 }, (_, index) => clusterIp(index)));
    const nodeWith = (...polls: ReadonlySet<string>[]): Parameters<typeof secondsUntilServed>[0] => {
        const startedAt = now();
        const client = { ask: () => Promise.resolve(startedAt + 20) } as unknown as Helper;
        return { client, startedAt, served: () => sleep(50, polls.shift() ?? all) };
    };

    it("is that of the last answer, if all are there by then", async () => {
        expect(await secondsUntilServed(nodeWith(all), 100)).toBeCloseTo(0.02, 6);
    });

    it("goes to the end of the poll that finds all, if some came later", async () => {
        expect(await secondsUntilServed(nodeWith(new Set(), new Set()), 100)).toBeGreaterThan(0.145);
    });
});

describe("bundles", () => {
    const toService = { eth_type: 0x0800, ipv4_dst: 0x0a60_0207 };
    const flow = (group: number): Message => ({
        xid: 1,
        type: "flow_mod",
        mod: {
            command: "add",
            flow: { table: 46, priority: 200, match: toService, actions: [{ type: "group", group }] },
        },
    });
    const groupMod = (id: number): Message => ({
        xid: 1,
        type: "group_mod",
        mod: { command: "delete", group: { id } },
    });
    const inside = (bundleId: number, message: Message): Message => ({
        xid: 1,
        type: "bundle_add",
        bundleId,
        flags: 0,
        message,
    });
    const reply = (bundleId: number, control: number): Message => ({
        xid: 1,
        type: "bundle_control",
        control: { bundleId, control, flags: 0 },
    });

    function written(bundles: Bundles, bundleId: number, ...messages: readonly Message[]): Written | undefined {
        for (const message of messages) bundles.requested(inside(bundleId, message));
        return bundles.replied(reply(bundleId, 5), 12);
    }

    it("count once the switch has applied them", () => {
        const bundles = new Bundles();
        bundles.requested(inside(1, flow(9)));
        expect(bundles.replied(reply(1, 1), 11)).toBeUndefined(); // it has opened the bundle
        expect(bundles.replied(reply(1, 5), 12)).toEqual({ at: 12, of: ["10.96.2.7"] });
        expect(bundles.replied(reply(1, 5), 13)).toBeUndefined();
    });

    it("attribute a group to the Service of its flow, before and after that", () => {
        const bundles = new Bundles();
        expect(written(bundles, 1, groupMod(9), flow(9))?.of).toEqual(["10.96.2.7", "10.96.2.7"]);
        expect(written(bundles, 2, groupMod(9), groupMod(10))?.of).toEqual(["10.96.2.7", ""]);
    });

    it("attribute a flow to a prefix to no Service", () => {
        const route = { eth_type: 0x0800, ipv4_dst: { value: 0x0a60_0000, mask: 0xffff_0000 } };
        const mod = { command: "add", flow: { table: 80, priority: 200, match: route, actions: [] } } as const;
        expect(written(new Bundles(), 1, { xid: 1, type: "flow_mod", mod })?.of).toEqual([""]);
    });

    it("are read from these messages, and echoes are none", () => {
        const frame = (type: number): Uint8Array => Uint8Array.of(6, type, 0, 8, 0, 0, 0, 1);
        expect([14, 15, 33, 34].every((type) => Bundles.reads(frame(type)))).toBe(true);
        expect([18, 20].some((type) => Bundles.reads(frame(type)))).toBe(false);
        expect([14, 15, 29, 34].every((type) => isWrite(frame(type)))).toBe(true);
        expect([18, 20, 33].some((type) => isWrite(frame(type)))).toBe(false); // requests of statistics, a barrier, a bundle
        expect([isEcho(frame(2)), isEcho(frame(3)), isEcho(frame(14))]).toEqual([true, true, false]);
    });
});
