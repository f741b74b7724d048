import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations } from "@antrea/crd";
import { formatIp, parseIp, parsePrefix, type Prefix } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { type BlockView, type Slots } from "../../../src/features/ip-pools/block-view.ts";
import { Blocks } from "../../../src/features/ip-pools/blocks.ts";
import { newAllocation } from "../../../src/features/ip-pools/allocations.ts";
import { Cooldown } from "../../../src/features/ip-pools/cooldown.ts";
import { silentLogger } from "../../support/logger.ts";
import { FakeApi } from "./support/fake-api.ts";

const block = parsePrefix("10.0.0.0/24");
const slots: Slots = Uint8Array.of(3, 4, 5);
const limit = (): AbortSignal => AbortSignal.timeout(60_000);

let api: FakeApi;
let clock: ManualClock;
let cooldown: Cooldown;
let blocks: Blocks;
let view: BlockView;

function claim(ip: string): void {
    const pod = { namespace: "n", name: "p", uid: `u-${ip}` };
    api.put(
        ipAllocations,
        newAllocation(parseIp(ip), "pool1", { pod, nodeName: "far", containerId: "c", ifName: "eth0" }),
    );
}

/** All that is picked, one after the other, the first or the last of what is free. */
function picked(random: () => number = () => 0): readonly string[] {
    const found: string[] = [];
    for (let ip = view.pick(slots, random); ip !== undefined; ip = view.pick(slots, random)) found.push(formatIp(ip));
    return found;
}

function acquired(of: Prefix): BlockView {
    const found = blocks.acquire(of);
    if (found === undefined) throw new Error("too many views are open");
    return found;
}

const isFree = (ip: string): boolean => view.isFree(parseIp(ip));

beforeEach(() => {
    api = new FakeApi();
    clock = new ManualClock();
    cooldown = new Cooldown({ clock }, { cooldownMs: 30_000 });
    blocks = new Blocks({ api, clock, cooldown, logger: silentLogger });
    view = acquired(block);
});
afterEach(() => blocks.close());

describe("the view of a block", () => {
    it("gives each free address once, until the watch has reported what became of it, or 10 s later", async () => {
        await view.synced(1_000, limit());
        expect(picked()).toEqual(["10.0.0.3", "10.0.0.5", "10.0.0.4"].toSorted());
        await clock.advance(9_999);
        expect(picked()).toEqual([]);
        await clock.advance(1);
        expect(picked(() => 0.99)).toEqual(["10.0.0.5", "10.0.0.4", "10.0.0.3"]);
    });

    it("gives no address that is claimed, and one that is freed only after its rest", async () => {
        claim("10.0.0.4");
        await view.synced(1_000, limit());
        expect([isFree("10.0.0.4"), isFree("10.0.0.3")]).toEqual([false, true]);
        view.note(parseIp("10.0.0.4"));
        api.remove(ipAllocations, "10.0.0.4");
        await eventually(() => isFree("10.0.0.4"));
        expect(picked().toSorted()).toEqual(["10.0.0.3", "10.0.0.5"]);
        expect(view.resting(slots).map(formatIp)).toEqual(["10.0.0.4"]);
        await clock.advance(30_000);
        expect(picked()).toContain("10.0.0.4");
        expect(view.resting(slots)).toEqual([]);
    });

    it("knows an address that it tried as claimed when the watch reports so, for as long as it is", async () => {
        await view.synced(1_000, limit());
        view.note(parseIp("10.0.0.3"));
        claim("10.0.0.3");
        await clock.advance(20_000);
        await eventually(() => !isFree("10.0.0.3"));
        await clock.advance(20_000);
        expect(isFree("10.0.0.3")).toBe(false);
    });

    it("offers what rests with the longest rested first, and nothing of it that is claimed again", async () => {
        for (const ip of ["10.0.0.5", "10.0.0.3", "10.0.0.4"]) {
            cooldown.freed(parseIp(ip));
            await clock.advance(1_000);
        }
        expect(view.resting(slots).map(formatIp)).toEqual(["10.0.0.5", "10.0.0.3", "10.0.0.4"]);
        expect(view.resting(Uint8Array.of(2, 3, 5)).map(formatIp)).toEqual(["10.0.0.5", "10.0.0.3"]);
        claim("10.0.0.3");
        await eventually(() => !isFree("10.0.0.3"));
        expect(view.resting(slots).map(formatIp)).toEqual(["10.0.0.5", "10.0.0.4"]);
    });

    it("keeps nobody waiting for its allocations for longer than asked, nor who gave up, nor when it is closed", async () => {
        api.before = () => new Promise(() => undefined);
        const other = acquired(parsePrefix("10.0.1.0/24"));
        const waiting = other.synced(2_000, limit());
        await clock.advance(2_000);
        await waiting;
        expect(other.informer.hasSynced).toBe(false);
        await expect(other.synced(2_000, AbortSignal.abort(new Error("gave up")))).rejects.toThrow("gave up");
        const last = other.synced(2_000, limit());
        blocks.release(other);
        await last;
        expect(clock.pending).toBe(0);
    });
});

describe("the views of all pools", () => {
    it("are shared, and closed when the last user gives one back; giving back twice takes it from nobody", async () => {
        await view.synced(1_000, limit());
        expect(acquired(block)).toBe(view);
        blocks.release(view);
        expect([blocks.size, api.watches(ipAllocations)]).toEqual([1, 1]);
        blocks.release(view);
        expect(blocks.size).toBe(0);
        await eventually(() => api.watches(ipAllocations) === 0);
        blocks.release(view);
        const next = acquired(block);
        blocks.release(view);
        expect(next).not.toBe(view);
        expect(blocks.size).toBe(1);
    });

    it("end with the agent, all watches of them", async () => {
        const other = acquired(parsePrefix("10.0.1.0/24"));
        await Promise.all([view, other].map((one) => one.synced(1_000, limit())));
        expect(api.watches(ipAllocations)).toBe(2);
        await blocks.close();
        expect([blocks.size, api.watches(ipAllocations)]).toEqual([0, 0]);
    });
});
