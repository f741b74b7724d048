import { beforeEach, describe, expect, it } from "@jest/globals";
import { formatIp } from "@antrea/ip";
import { type CtFlush } from "@antrea/openflow";
import { type ServedService } from "@antrea/services";
import { UnixctlError } from "../../../../src/platform/ovs/datapath/index.ts";
import { UdpCleanUp } from "../../../../src/features/services/udp/udp-clean-up.ts";
import { endpointsAt, portAt, serviceWith } from "../examples.ts";

const { signal } = new AbortController();
const dns = (...endpoints: readonly string[]): ServedService =>
    serviceWith([portAt("10.96.0.10", endpointsAt(...endpoints), { protocol: "UDP", port: 53 })]);

/** By client port: the endpoint. */
let connections: Map<number, string>;
let flushed: CtFlush[][];
/** How many connections a flush skips. */
let skipped: number;
let dumps: number;
let served: ServedService;
let now: number;
let cleanUp: UdpCleanUp;
let zones: readonly number[];

const line = ([port, endpoint]: readonly [number, string]): string =>
    `udp,orig=(src=10.10.1.9,dst=10.96.0.10,sport=${port},dport=53),` +
    `reply=(src=${endpoint},dst=10.10.1.9,sport=8080,dport=${port}),zone=65520,mark=19`;

function flush(flushes: readonly CtFlush[]): Promise<void> {
    flushed.push([...flushes]);
    for (const { original, reply } of flushes) {
        for (const [port, endpoint] of connections) {
            if (original?.srcPort !== undefined && original.srcPort !== port) continue;
            if (reply?.src !== undefined && formatIp(reply.src) !== endpoint) continue;
            if (skipped > 0) skipped -= 1;
            else connections.delete(port);
        }
    }
    return Promise.resolve();
}

function make(dump: () => Promise<readonly string[]>): void {
    const clock = { monotonic: () => now };
    cleanUp = new UdpCleanUp({
        flush,
        dump,
        possible: () => [served],
        host: undefined,
        zones: () => zones,
        onFlushed: () => undefined,
        clock,
    });
}

beforeEach(() => {
    connections = new Map([
        [1, "10.10.1.2"],
        [2, "10.10.1.3"],
        [3, "10.10.1.2"],
    ]);
    [flushed, skipped, dumps, now] = [[], 0, 0, 5_000];
    zones = [65520];
    served = dns("10.10.1.3");
    make(() => {
        dumps += 1;
        return Promise.resolve([[...connections].map(line).join("\n")]);
    });
});

/** Passes until nothing is due; gives when that was, in milliseconds after the first. */
async function passes(): Promise<readonly number[]> {
    const times: number[] = [];
    const began = now;
    for (;;) {
        times.push(now - began);
        const { againInMs } = await cleanUp.pass(signal);
        if (againInMs === undefined) return times;
        now += againInMs;
    }
}

/** Begins where nothing is stale. */
async function begin(): Promise<void> {
    const stale = connections;
    connections = new Map();
    cleanUp.begin();
    await passes();
    [connections, dumps, flushed] = [stale, 0, []];
}

describe("clean-up of UDP connections", () => {
    it("waits until OVS has all Services: others would seem stale", async () => {
        served = dns();
        expect(cleanUp.changed(undefined, dns("10.10.1.2"))).toBe(false);
        expect(await passes()).toEqual([0]);
        expect([flushed, dumps]).toEqual([[], 0]);
        served = dns("10.10.1.3");
        cleanUp.begin();
        await passes();
        expect([...connections.keys()]).toEqual([2]);
    });

    it("compares anew when there is one more zone, where nothing was removed before", async () => {
        expect(cleanUp.zoneAdded()).toBe(false);
        const inZone = connections;
        connections = new Map();
        cleanUp.begin();
        await passes();
        connections = inZone;
        expect(await passes()).toEqual([0]);
        expect([...connections.keys()]).toEqual([1, 2, 3]);
        expect(cleanUp.zoneAdded()).toBe(true);
        expect(await passes()).toEqual([0]);
        expect([...connections.keys()]).toEqual([2]);
    });

    it("a new zone puts off no comparison of a change", async () => {
        await begin();
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        await cleanUp.pass(signal);
        now += 100;
        cleanUp.zoneAdded();
        expect(await passes()).toEqual([0, 100, 1_100]);
    });

    it("does nothing without a change", async () => {
        await begin();
        expect(cleanUp.changed(dns("10.10.1.3"), dns("10.10.1.3", "10.10.1.4"))).toBe(false);
        expect(await passes()).toEqual([0]);
        expect([flushed, dumps]).toEqual([[], 0]);
    });

    it("removes those of an endpoint that is gone by one request at once, and compares soon and later", async () => {
        await begin();
        expect(cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served)).toBe(true);
        await cleanUp.pass(signal);
        expect([...connections.keys()]).toEqual([2]);
        expect([flushed.length, dumps]).toEqual([1, 0]);
        now += 100;
        await cleanUp.pass(signal);
        expect(dumps).toBe(0);
        expect(await passes()).toEqual([0, 100, 1_100]);
        expect([flushed.length, dumps]).toEqual([1, 2]);
        expect(await passes()).toEqual([0]);
    });

    it("spares an endpoint that comes back before its flush is sent", async () => {
        await begin();
        served = dns("10.10.1.2", "10.10.1.3");
        cleanUp.changed(served, dns("10.10.1.3"));
        cleanUp.changed(dns("10.10.1.3"), served);
        await passes();
        expect([[...connections.keys()], flushed]).toEqual([[1, 2, 3], []]);
    });

    it("removes what a cached flow has begun meanwhile", async () => {
        await begin();
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        await cleanUp.pass(signal);
        now += 500;
        await cleanUp.pass(signal);
        connections.set(4, "10.10.1.2");
        await passes();
        expect([...connections.keys()]).toEqual([2]);
    });

    it("compares in time although changes never cease", async () => {
        await begin();
        for (let at = 0; at < 20; at += 1) {
            cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
            await cleanUp.pass(signal);
            now += 50;
        }
        expect(dumps).toBe(4);
    });

    it("removes one by one what the datapath skipped", async () => {
        await begin();
        skipped = 3;
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        await passes();
        expect([...connections.keys()]).toEqual([2]);
        expect(flushed.map((all) => all.length)).toEqual([1, 2, 1]);
        expect(flushed[1]?.map(({ original }) => original?.srcPort)).toEqual([1, 3]);
    });

    it("of very many reads and removes some at a time, and leaves time for all else", async () => {
        connections = new Map(Array.from({ length: 1_200 }, (_, at) => [at, "10.10.1.2"]));
        cleanUp.begin();
        let [turns, isDone] = [0, false];
        const count = (): void => {
            turns += 1;
            if (!isDone) setImmediate(count);
        };
        count();
        await cleanUp.pass(signal);
        isDone = true;
        expect(connections.size).toBe(0);
        expect(flushed.map((all) => all.length)).toEqual([500, 500, 200]);
        expect(turns).toBeGreaterThan(2);
    });

    it("removes them in the zone of each VLAN, and compares at once if these are many", async () => {
        await begin();
        zones = [4096, 4098];
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        await cleanUp.pass(signal);
        expect(flushed.map((all) => all.map(({ zone }) => zone))).toEqual([[4096, 4098]]);
        zones = Array.from({ length: 10 }, (_, vlan) => 4096 + vlan);
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        await cleanUp.pass(signal);
        expect([flushed.length, dumps]).toEqual([1, 1]);
    });

    it("of ten changes and more compares at once instead", async () => {
        await begin();
        const gone = Array.from({ length: 10 }, (_, at) => `10.10.2.${at}`);
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3", ...gone), served);
        expect(await passes()).toEqual([0, 1_200]);
        expect([...connections.keys()]).toEqual([2]);
        expect(flushed.map((all) => all.length)).toEqual([2]);
    });

    it("finds what became stale while the agent was away", async () => {
        cleanUp.begin();
        expect(await passes()).toEqual([0, 1_200]);
        expect([...connections.keys()]).toEqual([2]);
    });

    it("gives up after some tries, and goes on with the next pass", async () => {
        skipped = 1_000;
        cleanUp.begin();
        await expect(cleanUp.pass(signal)).rejects.toMatchObject({ code: "STALE_LEFT" });
        skipped = 0;
        await cleanUp.pass(signal);
        expect([...connections.keys()]).toEqual([2]);
    });

    it("repeats the requests if there are too many connections to read", async () => {
        skipped = 5;
        make(() => Promise.reject(new UnixctlError("ANSWER_TOO_LONG", "environment", "too long")));
        cleanUp.begin();
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        await passes();
        expect([...connections.keys()]).toEqual([2]);
        const sent = flushed.length;
        cleanUp.begin();
        await passes();
        expect(flushed.length).toBe(sent);
    });

    it("fails with the datapath, and goes on with the next pass", async () => {
        make(() => Promise.reject(new UnixctlError("NOT_RUNNING", "environment", "away")));
        cleanUp.begin();
        cleanUp.changed(dns("10.10.1.2", "10.10.1.3"), served);
        for (let times = 0; times < 2; times += 1) {
            await expect(cleanUp.pass(signal)).rejects.toMatchObject({ code: "NOT_RUNNING" });
        }
        // sent once, and compared when that is possible
        expect(flushed).toHaveLength(1);
    });
});
