import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations } from "@antrea/crd";
import { formatIp, formatPrefix, parseIp } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { Cooldown } from "../../../src/features/ip-pools/cooldown.ts";
import { type KnownPool } from "../../../src/features/ip-pools/pool-cache.ts";
import { PoolScanner, randomBelow, type PoolScan } from "../../../src/features/ip-pools/pool-scan.ts";
import { FakeApi } from "./support/fake-api.ts";

let api: FakeApi;
let clock: ManualClock;
let cooldown: Cooldown;
let random: () => number;
let lists: number;
let overlapping: readonly string[];

beforeEach(() => {
    [api, clock, lists, overlapping] = [new FakeApi(), new ManualClock(), 0, []];
    cooldown = new Cooldown({ clock }, { cooldownMs: 30_000 });
    random = Math.random;
});

function scanner(): PoolScanner {
    const metrics = { relist: () => void (lists += 1), retry: () => undefined };
    return new PoolScanner({
        api,
        clock,
        cooldown,
        metrics,
        random: () => random(),
        overlapping: () => overlapping,
    });
}

function pool(start: string, end: string, free?: number): KnownPool {
    const ipRanges = [{ start, end, gateway: start.includes(":") ? "fd00::1" : "10.255.255.1", prefixLength: 8 }];
    const read = readPool({ metadata: { name: "pool1" }, spec: { ipVersion: start.includes(":") ? 6 : 4, ipRanges } });
    const status = free === undefined ? undefined : { usage: { total: 8, used: 8 - free, reserved: 0, free } };
    return { pool: read, usable: read.addresses, status, version: { uid: "u", generation: 1 }, isDeleting: false };
}

function claim(ip: string, from = "pool1"): void {
    const holder = {
        pod: { namespace: "n", name: "p", uid: `u-${ip}` },
        nodeName: "far",
        containerId: "c",
        ifName: "e",
    };
    api.put(ipAllocations, newAllocation(parseIp(ip), from, holder) as never);
}

function all(scan: PoolScan): readonly string[] {
    const found: string[] = [];
    for (let ip = scan.take(); ip !== undefined; ip = scan.take()) found.push(formatIp(ip));
    return found;
}

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

describe("a list of a whole pool", () => {
    it("shows each address that is free once, whichever pool of those that overlap it is claimed from", async () => {
        overlapping = ["pool2"];
        claim("10.0.0.1");
        claim("10.0.0.3", "pool2");
        claim("10.0.0.5", "pool3");
        const scan = await scanner().scan(pool("10.0.0.1", "10.0.0.5"), limit());
        expect([...all(scan)].sort()).toEqual(["10.0.0.2", "10.0.0.4", "10.0.0.5"]);
        expect(scan.take()).toBeUndefined();
    });

    it("has what rests last, the longest rested first, and the rest in an order of its own", async () => {
        const target = pool("10.0.0.1", "10.0.0.10");
        cooldown.freed(parseIp("10.0.0.1"));
        await clock.advance(1_000);
        cooldown.freed(parseIp("10.0.0.2"));
        const orders = new Set<string>();
        const firsts = new Set<string>();
        // So many that one of the 8 is never first once in 10^16 runs.
        for (let time = 0; time < 300; time += 1) {
            const found = all(await scanner().scan(target, limit()));
            expect(found).toHaveLength(10);
            expect(new Set(found).size).toBe(10);
            expect(found.slice(-2)).toEqual(["10.0.0.1", "10.0.0.2"]);
            orders.add(found.join());
            firsts.add(found[0] ?? "");
        }
        expect(orders.size).toBeGreaterThan(250);
        expect(firsts.size).toBe(8);
    });

    it("remembers the blocks of what it found, 32 of them, and 4,096 addresses of many, anywhere in the pool", async () => {
        const few = await scanner().scan(pool("10.0.0.250", "10.0.1.5"), limit());
        expect(few.blocks.map(formatPrefix).sort()).toEqual(["10.0.0.0/24", "10.0.1.0/24"]);
        const exactly = await scanner().scan(pool("10.0.16.0", "10.0.31.255"), limit());
        expect(new Set(all(exactly)).size).toBe(4_096);
        const many = await scanner().scan(pool("fd00::2:0:0:0:0", "fd00::ffff:ffff:ffff:ffff:ffff"), limit());
        expect(new Set(many.blocks.map(formatPrefix)).size).toBe(32);
        expect(all(many)).toHaveLength(4_096);
    });

    it("is made once for all who want it at a time, and fails only those who give up", async () => {
        const one = scanner();
        const target = pool("10.0.0.1", "10.0.0.5");
        const cancel = new AbortController();
        const [first, second, third] = [
            one.scan(target, cancel.signal),
            one.scan(target, limit()),
            one.scan(target, limit()),
        ];
        cancel.abort(new Error("gave up"));
        await expect(first).rejects.toThrow("gave up");
        expect(await second).toBe(await third);
        expect(await one.scan(target, limit())).toBe(await second);
        expect(lists).toBe(1);
        expect(one.last).toBe(await second);
    });

    it("is made anew 10 s later, and while it is found full later and later, until nobody asked for two minutes", async () => {
        const one = scanner();
        for (let at = 1; at <= 3; at += 1) claim(`10.0.0.${at}`);
        const full = pool("10.0.0.1", "10.0.0.3", 0);
        expect(one.isFresh(full)).toBe(false);
        const waits = async (): Promise<number> => {
            const [began, before] = [clock.monotonic(), lists];
            while (lists === before) {
                await clock.advance(1_000);
                await one.scan(full, limit());
            }
            return (clock.monotonic() - began) / 1_000;
        };
        await one.scan(full, limit());
        expect([await waits(), await waits(), await waits(), await waits(), await waits()]).toEqual([
            10, 20, 40, 60, 60,
        ]);
        await clock.advance(120_000);
        await one.scan(full, limit());
        expect(await waits()).toBe(10);
        // With an address free the interval is short, and stays so.
        api.remove(ipAllocations, "10.0.0.2");
        await clock.advance(20_000);
        await one.scan(full, limit());
        expect(all(await one.scan(full, limit()))).toEqual(["10.0.0.2"]);
        expect(await waits()).toBe(10);
    });
});

describe("a number below a bound", () => {
    it("is any of them, also beyond what a double holds exactly, and never the bound", () => {
        expect(randomBelow(10n, () => 0)).toBe(0n);
        expect(randomBelow(10n, () => 0.55)).toBe(5n);
        expect(randomBelow(10n, () => 0.999_999)).toBe(9n);
        const large = 2n ** 64n - 1n;
        expect(randomBelow(large, () => 1 - 2 ** -53)).toBeLessThan(large);
        // Number(2^64 - 1) is 2^64, which is more than the bound.
        expect(randomBelow(large, () => 1)).toBe(large - 1n);
    });
});
