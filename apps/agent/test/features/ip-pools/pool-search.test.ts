import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { blockText, ipAllocations, ipPools, type IpPoolStatus } from "@antrea/crd";
import { formatIp, parseIp, parsePrefix, type IpAddress } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { Blocks } from "../../../src/features/ip-pools/blocks.ts";
import { Cooldown } from "../../../src/features/ip-pools/cooldown.ts";
import { PoolSearch } from "../../../src/features/ip-pools/pool-search.ts";
import { type KnownPool } from "../../../src/features/ip-pools/pool-cache.ts";
import { readPool } from "@antrea/ipam";
import { silentLogger } from "../../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

let api: FakeApi;
let clock: ManualClock;
let blocks: Blocks;
let cooldown: Cooldown;
let relists: number;

const limit = (): AbortSignal => AbortSignal.timeout(60_000);

beforeEach(() => {
    api = new FakeApi();
    clock = new ManualClock();
    relists = 0;
    cooldown = new Cooldown({ clock }, { cooldownMs: 30_000 });
    blocks = new Blocks({ api, clock, cooldown, logger: silentLogger });
});
afterEach(() => blocks.close());

function search(nodeName = "a", random = Math.random): PoolSearch {
    const metrics = { relist: () => void (relists += 1), retry: () => undefined };
    return new PoolSearch({ api, clock, cooldown, blocks, metrics, random, overlapping: () => [] }, { nodeName });
}

function pool(start: string, end: string, status?: IpPoolStatus): KnownPool {
    const gateway = start.includes(":") ? "fd00::1" : "10.255.255.1";
    const ipVersion = start.includes(":") ? 6 : 4;
    const ipRanges = [{ start, end, gateway, prefixLength: ipVersion === 4 ? 8 : 16 }];
    const read = readPool({ metadata: { name: "pool1" }, spec: { ipVersion, ipRanges } });
    return { pool: read, usable: read.addresses, status, version: { uid: "u", generation: 1 }, isDeleting: false };
}

function claim(ip: string, name = "pool1"): void {
    const pod = { namespace: "n", name: "p", uid: `u-${ip}` };
    const holder = { pod, nodeName: "far", containerId: "c", ifName: "eth0" };
    api.put(ipAllocations, newAllocation(parseIp(ip), name, holder) as never);
}

function claimRange(block: string, from = 0, to = 255): void {
    for (let at = from; at <= to; at += 1) claim(`${block}.${at}`);
}

/** The first candidates, as if none of them could be had. */
async function tried(one: PoolSearch, target: KnownPool, count = Infinity): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const ip of one.candidates(target, limit())) {
        found.push(formatIp(ip));
        if (found.length >= count) break;
    }
    return found;
}

async function views(count: number): Promise<void> {
    await eventually(() => blocks.size === count);
    await new Promise((resolve) => setTimeout(resolve, 10));
}

describe("PoolSearch", () => {
    it("tries each address of a small pool once, and lists the pool before it gives up", async () => {
        const target = pool("10.0.0.250", "10.0.1.5");
        const found = await tried(search(), target);
        expect(new Set(found).size).toBe(found.length);
        expect([...found].sort()).toEqual([...target.usable].map(formatIp).sort());
        expect(relists).toBe(1);
    });

    it("begins in a block of its Node's own, and stays there while it has free addresses", async () => {
        const target = pool("10.0.0.0", "10.0.255.255");
        const starts = new Set<string>();
        for (let node = 0; node < 20; node += 1) {
            const one = search(`node-${node}`);
            const found = await tried(one, target, 3);
            expect(new Set(found.map((ip) => blockText(parseIp(ip)))).size).toBe(1);
            starts.add(blockText(parseIp(found[0] ?? "")));
            one.close();
        }
        expect(starts.size).toBeGreaterThan(15);
        await views(0);
    });

    it("does not try what the watch reports is claimed, whichever pool it was claimed from", async () => {
        claimRange("10.0.0", 0, 250);
        claim("10.0.0.252", "another");
        const one = search();
        const target = pool("10.0.0.0", "10.0.0.255");
        const [first = ""] = await tried(one, target, 1);
        await views(1);
        const free = ["10.0.0.251", "10.0.0.253", "10.0.0.254", "10.0.0.255"];
        expect([...(await tried(one, target))].sort()).toEqual(free.filter((ip) => ip !== first));
    });

    it("goes to the blocks of the hints when its own are full, then lists, and uses that list for a while", async () => {
        const target = pool("10.0.0.0", "10.0.255.255", { freeBlocks: ["10.0.9.0/24", "10.9.0.0/24", "garbage"] });
        const one = search();
        const [first = ""] = await tried(one, target, 1);
        const own = first.split(".").slice(0, 3).join(".");
        claimRange(own);
        claimRange("10.0.9", 0, 254);
        await views(1);
        const found = await tried(one, target, 40);
        expect(found).toContain("10.0.9.255");
        expect(found.every((ip) => !ip.startsWith(`${own}.`))).toBe(true);
        expect(relists).toBe(1);
        await tried(one, target, 40);
        expect(relists).toBe(1);
        await clock.advance(10_001);
        const before = api.requests.length;
        await tried(one, { ...target, status: undefined }, 1);
        expect(api.requests.slice(before).filter((request) => request.includes("spec.pool"))).toEqual([]);
    });

    it("finds what the controller names after a list that found nothing, at once", async () => {
        const noneFree: IpPoolStatus = { usage: { total: 1024, used: 1024, reserved: 0, free: 0 }, freeBlocks: [] };
        const target = pool("10.0.0.0", "10.0.3.255", noneFree);
        for (const block of ["10.0.0", "10.0.1", "10.0.2", "10.0.3"]) claimRange(block);
        const one = search();
        await tried(one, target);
        await views(3);
        await clock.advance(11_000);
        expect(await tried(one, target)).toEqual([]);
        // Also in a block that was seen to be full a moment ago.
        for (const block of ["10.0.0", "10.0.1", "10.0.2", "10.0.3"]) {
            await clock.advance(1_000);
            const before = relists;
            api.remove(ipAllocations, `${block}.7`);
            const status = { usage: { total: 1024, used: 1023, reserved: 0, free: 1 }, freeBlocks: [`${block}.0/24`] };
            await new Promise((resolve) => setTimeout(resolve, 20));
            expect(await tried(one, { ...target, status })).toContain(`${block}.7`);
            expect(relists - before).toBeLessThanOrEqual(1);
            claim(`${block}.7`);
        }
    });

    it("finds what came free while the controller is away: after no longer than the pool was full, and 60 s at most", async () => {
        const noneFree: IpPoolStatus = { usage: { total: 1024, used: 1024, reserved: 0, free: 0 }, freeBlocks: [] };
        const target = pool("10.0.0.0", "10.0.5.255", noneFree);
        for (let block = 0; block < 6; block += 1) claimRange(`10.0.${block}`);
        const one = search();
        await clock.advance(100_000);
        for (let at = 0; at < 3; at += 1) await tried(one, target);
        await clock.advance(11_000);
        await tried(one, target);
        for (let block = 0; block < 6; block += 1) api.remove(ipAllocations, `10.0.${block}.7`);
        await clock.advance(21_000);
        expect((await tried(one, target)).length).toBeGreaterThan(0);
    });

    it("lists a pool at most once in 10 s, less and less often while the controller reports that it is full, for all who wait", async () => {
        claimRange("10.0.0");
        const full: IpPoolStatus = { usage: { total: 256, used: 256, reserved: 0, free: 0 } };
        const target = pool("10.0.0.0", "10.0.0.255");
        const one = search();
        await Promise.all([1, 2, 3, 4].map(() => tried(one, target)));
        await tried(one, target);
        expect(relists).toBe(1);
        const seconds: number[] = [];
        for (let second = 1; second <= 200; second += 1) {
            await clock.advance(1_000);
            const before = relists;
            await tried(one, { ...target, status: full });
            if (relists > before) seconds.push(second);
        }
        expect(seconds).toEqual([10, 30, 70, 130, 190]);
        await tried(one, target);
        expect(relists).toBe(7);
    });

    it("keeps at most three views a pool, and shares them between pools", async () => {
        const one = search("a");
        const two = search("a");
        const target = pool("10.0.0.0", "10.0.255.255");
        await tried(one, target, 1);
        await tried(two, target, 1);
        expect(blocks.size).toBe(1);
        two.close();
        expect(blocks.size).toBe(1);
        await tried(one, target, 900);
        expect(blocks.size).toBeLessThanOrEqual(3);
        one.close();
        expect(blocks.size).toBe(0);
    });

    it("offers what rests only when nothing else is left, the longest rested first", async () => {
        const one = search();
        const target = pool("10.0.0.1", "10.0.0.6");
        await tried(one, target, 1);
        await views(1);
        await clock.advance(11_000);
        cooldown.freed(parseIp("10.0.0.5"));
        await clock.advance(1_000);
        cooldown.freed(parseIp("10.0.0.2"));
        const found = await tried(one, target);
        expect(found.slice(-2)).toEqual(["10.0.0.5", "10.0.0.2"]);
        expect(found).toHaveLength(6);
    });

    it("works in ranges of any size without visiting their addresses", async () => {
        const target = pool("fd00::2:0:0:0:0", "fd00::ffff:ffff:ffff:ffff:ffff");
        const found = await tried(search(), target, 3);
        expect(found.every((ip) => target.usable.has(parseIp(ip)))).toBe(true);
        expect(new Set(found.map((ip) => blockText(parseIp(ip)))).size).toBe(1);
    });

    it("follows the pool when it changes, and ends at once when nothing is to be had", async () => {
        const one = search();
        await tried(one, pool("10.0.0.0", "10.0.0.255"), 1);
        const moved = await tried(one, pool("10.0.7.0", "10.0.7.9"));
        expect(moved).toHaveLength(10);
        const empty = readPool({ metadata: { name: "pool1" }, spec: { ipVersion: 4, ipRanges: [] } });
        const version = { uid: "u", generation: 2 };
        expect(
            await tried(one, { pool: empty, usable: empty.addresses, status: undefined, version, isDeleting: false }),
        ).toEqual([]);
    });

    it("goes on when another closes its views meanwhile", async () => {
        const one = search();
        const target = pool("10.0.0.0", "10.0.0.9");
        const found: IpAddress[] = [];
        for await (const ip of one.candidates(target, limit())) {
            if (found.length === 0) one.close();
            found.push(ip);
        }
        expect(found.length).toBeGreaterThan(0);
    });

    it("does not list while the views are complete", async () => {
        const one = search();
        const target = pool("10.0.0.0", "10.0.0.255");
        api.put(ipPools, { metadata: { name: "pool1" } });
        await tried(one, target, 1);
        await views(1);
        claimRange("10.0.0", 0, 254);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await clock.advance(11_000);
        expect(await tried(one, target, 1)).toEqual(["10.0.0.255"]);
        expect(relists).toBe(0);
    });

    it("offers what rests without a list when it sees all blocks of the pool", async () => {
        const one = search();
        const target = pool("10.0.0.0", "10.0.0.255");
        await tried(one, target, 1);
        await views(1);
        claimRange("10.0.0", 1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await clock.advance(11_000);
        claim("10.0.0.7");
        cooldown.freed(parseIp("10.0.0.7"));
        api.remove(ipAllocations, "10.0.0.7");
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(await tried(one, target, 1)).toEqual(["10.0.0.7"]);
        expect(relists).toBe(0);
    });

    it("rather lists the pool than offers what rests while it sees only some of the blocks", async () => {
        for (let block = 0; block < 9; block += 1) claimRange(`10.0.${block}`);
        const target = pool("10.0.0.0", "10.0.8.255");
        // Always the lowest block: the highest is never opened, unless it is the Node's own.
        const one = search("a", () => 0);
        const [first = ""] = await tried(one, target, 1);
        const own = first === "" ? "" : blockText(parseIp(first));
        await views(1);
        await clock.advance(11_000);
        const free = own === "10.0.8.0/24" ? "10.0.7.9" : "10.0.8.9";
        const resting = "10.0.0.9";
        for (const ip of [free, resting]) api.remove(ipAllocations, ip);
        cooldown.freed(parseIp(resting));
        const found = await tried(one, target);
        expect(found.filter((ip) => ip === free || ip === resting)).toEqual([free, resting]);
        expect(relists).toBe(1);
    });

    it("watches no block that the controller names, but that is not of the pool or is known to be full", async () => {
        const one = search();
        const target = pool("10.0.0.0", "10.0.3.255");
        const [first = ""] = await tried(one, target, 1);
        const own = first.split(".").slice(0, 3).join(".");
        claimRange(own);
        await views(1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        const freeBlocks = ["10.9.0.0/24", `${own}.0/24`];
        await tried(one, { ...target, status: { freeBlocks } }, 1);
        await views(2);
        const listed = api.requests.filter((request) => request.startsWith("list"));
        expect(new Set(listed).size).toBe(2);
        expect(listed).toHaveLength(2);
        expect(listed).not.toContain("list ipallocations spec.block=10.9.0.0/24");
    });

    it("opens three further blocks at most before it lists the pool", async () => {
        for (let block = 0; block < 20; block += 1) claimRange(`10.0.${block}`);
        expect(await tried(search(), pool("10.0.0.0", "10.0.19.255"), 1)).toHaveLength(1);
        const lists = (): number =>
            api.requests.filter((one) => one.startsWith("list") && one.includes("block")).length;
        await views(1);
        await clock.advance(11_000);
        await tried(search(), pool("10.0.0.0", "10.0.19.255"));
        expect(relists).toBe(1);
        expect(lists()).toBe(4);
    });

    it.each([
        ["the first", 0, "10.0.3"],
        ["the last", 0.99, "10.0.5"],
    ])("takes any block that the controller names, here %s", async (_which, drawn, expected) => {
        const freeBlocks = ["10.0.3.0/24", "10.0.4.0/24", "10.0.5.0/24"];
        const target = pool("10.0.0.0", "10.0.255.255", { freeBlocks });
        const one = search("a", () => drawn);
        const [first = ""] = await tried(one, target, 1);
        const own = first.split(".").slice(0, 3).join(".");
        expect(freeBlocks).not.toContain(`${own}.0/24`);
        claimRange(own);
        await views(1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect((await tried(one, target, 1))[0]).toMatch(new RegExp(`^${expected}\\.`));
    });

    it.each([
        ["a few blocks", "10.0.0.0", "10.0.3.255"],
        ["more blocks than can be counted", "fd00::2:0:0:0:0", "fd00::ffff:ffff:ffff:ffff:ffff"],
    ])("goes on in another block when nobody names one, in a pool of %s", async (_size, start, end) => {
        const one = search();
        const target = pool(start, end);
        const [first = ""] = await tried(one, target, 1);
        const { value } = parseIp(first);
        const { family } = parseIp(first);
        for (let at = 0n; at < 256n; at += 1n) claim(formatIp({ family, value: (value & ~0xffn) + at }));
        await views(1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        const [next = first] = await tried(one, target, 1);
        expect(blockText(parseIp(next))).not.toBe(blockText(parseIp(first)));
        expect(target.usable.has(parseIp(next))).toBe(true);
        expect(relists).toBe(0);
    });

    it("keeps the views of blocks that a changed pool has still, and closes the others", async () => {
        const one = search("a", () => 0);
        const wide = pool("10.0.0.0", "10.0.3.255", { freeBlocks: ["10.0.1.0/24", "10.0.2.0/24"] });
        const [first = ""] = await tried(one, wide, 1);
        claimRange(first.split(".").slice(0, 3).join("."));
        await views(1);
        await new Promise((resolve) => setTimeout(resolve, 20));
        await tried(one, wide, 1);
        await views(2);
        const lists = (): number => api.requests.filter((request) => request.startsWith("list")).length;
        const before = lists();
        const next = (await tried(one, wide, 1))[0] ?? "";
        const block = next.split(".").slice(0, 3).join(".");
        const narrow = pool(`${block}.0`, `${block}.255`);
        expect((await tried(one, narrow, 1))[0]).toMatch(new RegExp(`^${block}\\.`));
        expect(lists()).toBe(before);
        expect(blocks.size).toBe(1);
    });

    describe("while other pools have all views that an agent may have", () => {
        const taken = (count: number): void => {
            for (let at = 0; at < count; at += 1) blocks.acquire(parsePrefix(`10.9.${at}.0/24`));
        };

        it("opens none, tries a few addresses at random, and lists the pool then", async () => {
            taken(16);
            claimRange("10.0.0", 0, 250);
            const target = pool("10.0.0.0", "10.0.0.255");
            const found = await tried(
                search("a", () => 0.5),
                target,
            );
            expect(blocks.size).toBe(16);
            expect(relists).toBe(1);
            // One at random, as this chance draws one only, then what the list has.
            expect(found[0]).toBe("10.0.0.128");
            expect([...found.slice(1)].sort()).toEqual([251, 252, 253, 254, 255].map((at) => `10.0.0.${at}`));
        });

        it("asks for no list while one of the addresses at random is free", async () => {
            taken(16);
            expect(await tried(search(), pool("10.0.0.0", "10.0.255.255"), 1)).toHaveLength(1);
            expect(relists).toBe(0);
        });

        it("goes on in another block in place of its own one", async () => {
            taken(15);
            const one = search();
            const target = pool("10.0.0.0", "10.0.255.255", { freeBlocks: ["10.0.9.0/24"] });
            const [first = ""] = await tried(one, target, 1);
            claimRange(first.split(".").slice(0, 3).join("."));
            await views(16);
            await new Promise((resolve) => setTimeout(resolve, 20));
            expect((await tried(one, target, 1))[0]).toMatch(/^10\.0\.9\./);
            expect(blocks.size).toBe(16);
        });

        it("keeps a view that another pool uses too, as giving it up makes no room, and what it knows", async () => {
            taken(15);
            // Always the lowest address of the pool, if one is drawn.
            const one = search("a", () => 0);
            const target = pool("10.0.0.0", "10.0.1.255");
            const [first = ""] = await tried(one, target, 1);
            const own = blockText(parseIp(first));
            const shared = blocks.acquire(parsePrefix(own));
            for (const block of ["10.0.0", "10.0.1"]) claimRange(block);
            await views(16);
            const resting = own.replace("0/24", "9");
            api.remove(ipAllocations, resting);
            await new Promise((resolve) => setTimeout(resolve, 20));
            expect(await tried(one, { ...target, status: { freeBlocks: ["10.0.0.0/24", "10.0.1.0/24"] } })).toEqual([
                resting,
            ]);
            if (shared !== undefined) blocks.release(shared);
            expect(blocks.size).toBe(16);
        });

        it("gives up the oldest view that it alone uses", async () => {
            taken(14);
            const one = search("a", () => 0);
            const target = pool("10.0.0.0", "10.0.3.255", { freeBlocks: ["10.0.3.0/24"] });
            const [first = ""] = await tried(one, target, 1);
            expect(blockText(parseIp(first))).not.toBe("10.0.3.0/24");
            blocks.acquire(parsePrefix(blockText(parseIp(first))));
            for (const block of ["10.0.0", "10.0.1", "10.0.2", "10.0.3"]) claimRange(block);
            await views(15);
            await new Promise((resolve) => setTimeout(resolve, 20));
            // Its second view is the last one that an agent may have; the third takes its place.
            const opened = (): readonly string[] =>
                api.requests.filter((request) => request.startsWith("list") && request.includes("block=10.0."));
            await tried(one, target);
            expect(opened().length).toBeGreaterThan(2);
            expect(blocks.size).toBe(16);
            one.close();
            expect(blocks.size).toBe(15);
        });
    });
});
