import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp, type IpAddress } from "@antrea/ip";
import { eventually } from "@antrea/kube/testing";
import { AllocationWriter } from "../../../src/features/ip-pools/allocation-writer.ts";
import { namesContainer, newAllocation, takenBy, type Holder } from "../../../src/features/ip-pools/allocations.ts";
import { Cooldown } from "../../../src/features/ip-pools/cooldown.ts";
import { OwnAllocations } from "../../../src/features/ip-pools/own-allocations.ts";
import { silentLogger } from "../../support/logger.ts";
import { away, FakeApi, type Backup } from "./support/fake-api.ts";

const holder: Holder = {
    pod: { namespace: "ns", name: "p", uid: "u" },
    nodeName: "a",
    containerId: "c1",
    ifName: "eth0",
};

let api: FakeApi;
let clock: ManualClock;
let stop: AbortController;
let freed: string[];
let own: OwnAllocations;

function allocation(ip: string, who: Partial<Holder> = {}): IpAllocation {
    return newAllocation(parseIp(ip), "pool", { ...holder, ...who });
}

function stored(ip: string, who: Partial<Holder> = {}): IpAllocation {
    return api.put(ipAllocations, allocation(ip, who)) as IpAllocation;
}

function addresses(): readonly string[] {
    return own
        .list()
        .map(({ spec }) => spec.address)
        .sort();
}

async function start(): Promise<void> {
    own.informer.start(stop.signal);
    await own.synced(stop.signal);
}

beforeEach(() => {
    api = new FakeApi();
    clock = new ManualClock();
    stop = new AbortController();
    freed = [];
    const components = { api, clock, logger: silentLogger, freed: (ip: IpAddress) => void freed.push(formatIp(ip)) };
    own = new OwnAllocations(components, { nodeName: "a" });
});
afterEach(() => {
    stop.abort();
    return own.informer.close();
});

describe("OwnAllocations", () => {
    it("knows the allocations of this Node only, and finds them by Pod, container and ordinal", async () => {
        stored("10.0.0.1");
        stored("fd00::1");
        stored("10.0.0.2", { ifName: "eth1" });
        stored("10.0.0.3", { nodeName: "b" });
        const owner = { kind: "StatefulSet", namespace: "ns", name: "web", index: 2 } as const;
        api.put(ipAllocations, { ...allocation("10.0.0.4"), spec: { ...allocation("10.0.0.4").spec, owner } } as never);
        await start();
        expect(addresses()).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.4", "fd00::1"]);
        expect(own.ofPod("u", "eth1").map(({ spec }) => spec.address)).toEqual(["10.0.0.2"]);
        expect(own.ofPod("", "eth0")).toEqual([]);
        expect(own.ofContainer({ containerId: "c1", ifName: "eth1" })).toHaveLength(1);
        expect(own.ofAnyInterface("c1")).toHaveLength(4);
        expect(own.ofOrdinal("ns", { name: "web", ordinal: 2 })).toHaveLength(1);
        expect(own.ofOrdinal("ns", { name: "web", ordinal: 1 })).toHaveLength(0);
    });

    it("lets the late answer to an earlier write undo no later one", async () => {
        await start();
        const given = stored("10.0.0.1");
        own.note(given);
        expect(own.ofAnyInterface("c1")).toHaveLength(1);
        const taken = api.put(ipAllocations, takenBy(given, { ...holder, containerId: "c2" })) as IpAllocation;
        own.note(taken);
        own.noteGone(given);
        expect(own.ofContainer({ containerId: "c2", ifName: "eth0" })).toEqual([taken]);
    });

    it("counts an own write at once, and lets no late event undo it", async () => {
        await start();
        api.holdEvents();
        const created = stored("10.0.0.1");
        own.note(created);
        expect(addresses()).toEqual(["10.0.0.1"]);
        const adopted = api.put(ipAllocations, takenBy(created, { ...holder, containerId: "c2" })) as IpAllocation;
        own.note(adopted);
        api.releaseEvents();
        await new Promise((resolve) => setTimeout(resolve, 20));
        expect(own.get("10.0.0.1")?.spec.pod?.containerID).toBe("c2");
    });

    it("forgets an own deletion at once, and lets no late event bring the allocation back", async () => {
        await start();
        api.holdEvents();
        const created = stored("10.0.0.1");
        own.note(created);
        const adopted = api.put(ipAllocations, takenBy(created, { ...holder, containerId: "c2" })) as IpAllocation;
        own.note(adopted);
        api.remove(ipAllocations, "10.0.0.1");
        own.noteGone(adopted);
        expect(addresses()).toEqual([]);
        const seen: string[][] = [];
        const spy = setInterval(() => seen.push([...addresses()]), 1);
        api.releaseEvents();
        await new Promise((resolve) => setTimeout(resolve, 30));
        clearInterval(spy);
        expect(seen.flat()).toEqual([]);
    });

    it("knows an allocation that was reserved and taken again, although its UID had left", async () => {
        await start();
        const created = stored("10.0.0.1");
        own.note(created);
        own.noteGone(created);
        own.note(api.put(ipAllocations, takenBy(created, { ...holder, containerId: "c3" })) as IpAllocation);
        expect(own.get("10.0.0.1")?.spec.pod?.containerID).toBe("c3");
    });

    it("reports when another deletes an allocation, and that the address was freed", async () => {
        stored("10.0.0.1");
        await start();
        const gone: string[] = [];
        own.onGone(({ spec }) => void gone.push(spec.address));
        api.remove(ipAllocations, "10.0.0.1");
        await eventually(() => gone.length > 0);
        expect(addresses()).toEqual([]);
        expect(freed).toEqual(["10.0.0.1"]);
    });

    it("reports at once that an allocation is gone when another object of its name is this Node's", async () => {
        stored("10.0.0.1");
        await start();
        const gone: string[] = [];
        own.onGone(({ spec }) => void gone.push(spec.pod?.uid ?? ""));
        // deleted by force, and claimed for another Pod here before the watch delivers that
        const next = { ...allocation("10.0.0.1", { pod: { ...holder.pod, uid: "v" }, containerId: "c2" }) };
        own.note({ ...next, metadata: { ...next.metadata, uid: "next", resourceVersion: "900" } });
        expect(gone).toEqual(["u"]);
        expect(own.ofContainer({ containerId: "c1", ifName: "eth0" })).toEqual([]);
        // the watch, which is late, reports a change of the object before
        const late = stored("10.0.0.1");
        stored("10.0.0.9");
        await eventually(() => own.get("10.0.0.9") !== undefined);
        expect(Number(late.metadata?.resourceVersion)).toBeLessThan(900);
        expect(own.get("10.0.0.1")?.spec.pod?.uid).toBe("v");
        expect(gone).toEqual(["u"]);
    });

    it("does not take an allocation that another Node has by now for its own", async () => {
        await start();
        own.note(stored("10.0.0.1"));
        own.note(stored("10.0.0.1", { nodeName: "b" }));
        expect(addresses()).toEqual([]);
    });

    it("forgets, a minute later, what it wrote and what was gone before the watch could report it", async () => {
        await start();
        own.note({
            ...allocation("10.0.0.9"),
            metadata: { name: "10.0.0.9", uid: "never-reported", resourceVersion: "50" },
        });
        stored("10.0.0.1");
        await eventually(() => addresses().length === 2);
        own.settle();
        expect(addresses()).toEqual(["10.0.0.1", "10.0.0.9"]);
        await clock.advance(61_000);
        own.settle();
        expect(addresses()).toEqual(["10.0.0.1", "10.0.0.9"]);
        for (const ip of ["10.0.0.2", "10.0.0.3"]) {
            stored(ip);
            await eventually(() => addresses().includes(ip));
            own.settle();
            expect(addresses()).toContain("10.0.0.9");
            await clock.advance(20_000);
        }
        stored("10.0.0.4");
        await eventually(() => addresses().includes("10.0.0.4"));
        own.settle();
        expect(addresses()).toEqual(["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]);
    });

    it("forgets what it wrote and a list that began after that does not have", async () => {
        const noted = (ip: string): void =>
            own.note({ ...allocation(ip), metadata: { name: ip, uid: `uid-${ip}`, resourceVersion: "50" } });
        noted("10.0.0.9");
        const notified: string[] = [];
        own.onGone(({ spec }) => notified.push(spec.address));
        await clock.advance(1);
        // The answer of a create that came while the list was under way: the list may be older.
        api.before = (method) => Promise.resolve(method === "list" ? noted("10.0.0.8") : undefined);
        stored("10.0.0.1");
        await start();
        expect(addresses()).toEqual(["10.0.0.1", "10.0.0.8"]);
        expect(notified).toEqual(["10.0.0.9"]);
    });

    it("reports why they are not known while they are not, and nothing once they are", async () => {
        const error = away();
        api.fault = () => ({ refuse: error });
        expect(own.lastError).toBeUndefined();
        own.informer.start(stop.signal);
        await eventually(() => own.lastError === error);
        api.fault = () => undefined;
        for (let second = 0; second < 60 && own.lastError !== undefined; second += 1) await clock.advance(1_000);
        await own.synced(stop.signal);
        expect(own.lastError).toBeUndefined();
        expect(own.size).toBe(0);
    });

    it("drops an allocation that was kept for its StatefulSet, by the answer and by the watch", async () => {
        const owner = { kind: "StatefulSet", namespace: "ns", name: "web", index: 2 } as const;
        await start();
        const reserve = (given: IpAllocation): IpAllocation => {
            const { pod: _, ...spec } = given.spec;
            api.remove(ipAllocations, given.spec.address);
            const { name, uid } = given.metadata ?? {};
            const reserved = { metadata: { name, uid }, spec: { ...spec, owner, state: "Reserved" as const } };
            return api.put(ipAllocations, reserved as never) as IpAllocation;
        };
        const given = stored("10.0.0.1");
        own.note(given);
        own.note(reserve(given));
        expect(addresses()).toEqual([]);
        expect(own.ofPod("u", "eth0")).toEqual([]);
    });

    it("lets the late answer to an earlier write neither undo a later one nor bring back what is gone", async () => {
        await start();
        api.holdEvents();
        const created = stored("10.0.0.1");
        const adopted = api.put(ipAllocations, takenBy(created, { ...holder, containerId: "c2" })) as IpAllocation;
        own.note(adopted);
        own.note(created);
        expect(own.get("10.0.0.1")?.spec.pod?.containerID).toBe("c2");
        own.noteGone(adopted);
        own.noteGone(created);
        api.releaseEvents();
        stored("10.0.0.9");
        await eventually(() => own.get("10.0.0.9") !== undefined);
        expect(addresses()).toEqual(["10.0.0.9"]);
    });

    it("lets no late answer bring back what the watch has reported and ended already, but what was asked for after that", async () => {
        await start();
        const created = stored("10.0.0.1");
        await eventually(() => own.get("10.0.0.1") !== undefined);
        api.remove(ipAllocations, "10.0.0.1");
        await eventually(() => own.get("10.0.0.1") === undefined);
        own.note(created, clock.monotonic());
        expect(addresses()).toEqual([]);
        // etcd was restored from a backup: it is there again.
        await clock.advance(1);
        own.note(created, clock.monotonic());
        expect(addresses()).toEqual(["10.0.0.1"]);
    });

    it("hears the end of an allocation that was taken from this Node, or deleted, once, and not of one that it wrote since", async () => {
        await start();
        const gone: string[] = [];
        const listener = own.onGone(({ spec }) => void gone.push(spec.pod?.containerID ?? ""));
        const given = stored("10.0.0.1");
        await eventually(() => own.get("10.0.0.1") !== undefined);
        stored("10.0.0.1", { nodeName: "b" });
        await eventually(() => gone.length > 0);
        expect([gone, freed]).toEqual([["c1"], ["10.0.0.1"]]);
        // Taken back here: what the watch still has to say of the time before is no end of that.
        api.holdEvents();
        stored("10.0.0.1", { nodeName: "b" });
        own.note(api.put(ipAllocations, takenBy(given, { ...holder, containerId: "c3" })) as IpAllocation);
        api.releaseEvents();
        stored("10.0.0.9");
        await eventually(() => own.get("10.0.0.9") !== undefined);
        expect(own.get("10.0.0.1")?.spec.pod?.containerID).toBe("c3");
        expect(gone).toEqual(["c1"]);
        listener[Symbol.dispose]();
        api.remove(ipAllocations, "10.0.0.9");
        await eventually(() => own.get("10.0.0.9") === undefined);
        expect(gone).toEqual(["c1"]);
    });

    it("does not take the late deletion of the object before for the end of the next one of its name", async () => {
        stored("10.0.0.1");
        await start();
        const next = { ...allocation("10.0.0.1"), metadata: { name: "10.0.0.1", uid: "next", resourceVersion: "900" } };
        own.note(next);
        api.remove(ipAllocations, "10.0.0.1");
        stored("10.0.0.9");
        await eventually(() => own.get("10.0.0.9") !== undefined);
        expect(own.get("10.0.0.1")?.metadata?.uid).toBe("next");
        expect(freed).toEqual([]);
    });

    it("follows the watch to another object of a name when that is newer, or what was written is a minute old", async () => {
        await start();
        const noted = (ip: string, resourceVersion: string): void =>
            own.note({ ...allocation(ip), metadata: { name: ip, uid: "mine", resourceVersion } });
        noted("10.0.0.1", "50");
        stored("10.0.0.1");
        await eventually(() => own.get("10.0.0.1")?.metadata?.uid !== "mine");
        // After etcd was restored from a backup versions are lower than before.
        noted("10.0.0.2", "900");
        await clock.advance(60_001);
        stored("10.0.0.2");
        await eventually(() => own.get("10.0.0.2")?.metadata?.uid !== "mine");
    });

    it("believes the watch again, a minute after it heard that an allocation is gone", async () => {
        await start();
        const restored = {
            ...allocation("10.0.0.1"),
            metadata: { name: "10.0.0.1", uid: "same", resourceVersion: "900" },
        };
        own.note(restored);
        own.noteGone(restored);
        const again = (): void =>
            void api.put(ipAllocations, { ...restored, metadata: { name: "10.0.0.1", uid: "same" } });
        again();
        stored("10.0.0.8");
        await eventually(() => own.get("10.0.0.8") !== undefined);
        expect(own.get("10.0.0.1")).toBeUndefined();
        await clock.advance(60_001);
        // Whatever is heard of next, of whichever allocation.
        own.noteGone(allocation("10.0.0.7"));
        again();
        await eventually(() => own.get("10.0.0.1") !== undefined);
    });

    it("forgets nothing that it wrote while it has no watch, however long ago that was", async () => {
        own.note({
            ...allocation("10.0.0.9"),
            metadata: { name: "10.0.0.9", uid: "never-reported", resourceVersion: "50" },
        });
        await clock.advance(60_001);
        own.settle();
        expect(addresses()).toEqual(["10.0.0.9"]);
    });

    it("does not lose the next object of a name to the end of the one before", async () => {
        await start();
        const before = stored("10.0.0.1");
        own.note(before);
        own.note({ ...allocation("10.0.0.1"), metadata: { name: "10.0.0.1", uid: "next", resourceVersion: "900" } });
        own.noteGone(before);
        expect(own.get("10.0.0.1")?.metadata?.uid).toBe("next");
    });

    it("keeps what the watch reported before the answer to the write came, however late that was", async () => {
        await start();
        const given = stored("10.0.0.1");
        await eventually(() => own.get("10.0.0.1") !== undefined);
        own.note(given);
        await clock.advance(60_001);
        own.settle();
        expect(addresses()).toEqual(["10.0.0.1"]);
    });
});

describe("OwnAllocations after etcd was restored from a backup", () => {
    const later = { pod: { ...holder.pod, uid: "later" }, containerId: "c2" };
    const owner = { kind: "StatefulSet", namespace: "ns", name: "web", index: 0 } as const;
    let writer: AllocationWriter;
    let backup: Backup;

    function asPut(given: IpAllocation): IpAllocation {
        return api.put(ipAllocations, given) as IpAllocation;
    }

    /** Pod "u" has 10.0.0.1 in the backup; since then the Pod "later" has it. */
    async function startWithBackup(): Promise<void> {
        const given = asPut({ ...allocation("10.0.0.1"), spec: { ...allocation("10.0.0.1").spec, owner } });
        backup = api.save();
        for (let at = 0; at < 10; at += 1) asPut(allocation("10.0.0.99", { nodeName: "b", containerId: `c${at}` }));
        asPut(takenBy(given, { ...holder, ...later }));
        await start();
        expect(own.get("10.0.0.1")?.spec.pod?.uid).toBe("later");
        const cooldown = new Cooldown({ clock }, { cooldownMs: 1_000 });
        writer = new AllocationWriter({ api, own, cooldown, clock, metrics: { retry: () => undefined } });
        await clock.advance(1);
    }

    async function relisted(): Promise<void> {
        const lists = (): number => api.requests.filter((line) => line.startsWith("list ipallocations")).length;
        const before = lists();
        await eventually(async () => {
            await clock.advance(1_000);
            return lists() > before && api.watches(ipAllocations) > 0;
        });
    }

    it("takes what a list has, also if its versions are older, and reports who lost an address", async () => {
        await startWithBackup();
        const gone: string[] = [];
        own.onGone(({ spec }) => gone.push(spec.pod?.uid ?? ""));
        api.restore(backup);
        await relisted();
        expect(own.get("10.0.0.1")?.spec.pod?.uid).toBe("u");
        expect(own.ofPod("u", "eth0")).toHaveLength(1);
        expect(own.ofPod("later", "eth0")).toEqual([]);
        expect(gone).toEqual(["later"]);
    });

    it("knows an allocation again that had left this Node after the backup", async () => {
        await startWithBackup();
        own.noteGone(api.get(ipAllocations, "10.0.0.1") as IpAllocation);
        expect(addresses()).toEqual([]);
        await clock.advance(1);
        api.restore(backup);
        await relisted();
        expect(addresses()).toEqual(["10.0.0.1"]);
    });

    it("keeps what it wrote while the list was under way: the list may be older", async () => {
        await startWithBackup();
        const gone: string[] = [];
        own.onGone(({ spec }) => gone.push(spec.pod?.containerID ?? ""));
        api.restore(backup);
        const list = api.list;
        api.list = async (resource, o) => {
            const result = await list(resource, o);
            own.note(asPut(takenBy(result.items[0] as unknown as IpAllocation, { ...holder, containerId: "c3" })));
            return result;
        };
        await relisted();
        expect(own.get("10.0.0.1")?.spec.pod?.containerID).toBe("c3");
        expect(gone).not.toContain("c3");
    });

    it("takes what a request finds, before any list", async () => {
        await startWithBackup();
        api.restore(backup);
        const known = own.get("10.0.0.1");
        // DEL of the later container: the allocation of the backup is not its
        await writer.free(known!, (now) => namesContainer(now, { containerId: "c2", ifName: "eth0" }), stop.signal);
        expect(own.get("10.0.0.1")?.spec.pod?.uid).toBe("u");
    });

    it("keeps the answers to its own writes, whose versions are lower than those before", async () => {
        await startWithBackup();
        api.restore(backup);
        const found = await writer.find(parseIp("10.0.0.1"), stop.signal);
        await clock.advance(1);
        await writer.take(found!, { ...holder, containerId: "c3" }, stop.signal);
        expect(own.ofContainer({ containerId: "c3", ifName: "eth0" })).toHaveLength(1);
        await clock.advance(1);
        await writer.free(own.get("10.0.0.1")!, () => true, stop.signal);
        expect(addresses()).toEqual([]);
    });
});
