import { getEventListeners } from "node:events";
import { beforeEach, describe, expect, it } from "@jest/globals";
import { orAborted } from "@antrea/async";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, type AllocationOwner, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { KubeError } from "@antrea/kube";
import { AllocationWriter, type AllocationWriterComponents } from "../../../src/features/ip-pools/allocation-writer.ts";
import {
    objectName,
    namesContainer,
    newAllocation,
    takenBy,
    type Holder,
} from "../../../src/features/ip-pools/allocations.ts";
import { isRetryable, retryUntilAnswered } from "../../../src/features/ip-pools/requests.ts";
import { away, FakeApi, lost } from "./support/fake-api.ts";

const holder: Holder = {
    pod: { namespace: "ns", name: "web-0", uid: "u" },
    nodeName: "a",
    containerId: "c1",
    ifName: "eth0",
};
const rival: Holder = { ...holder, pod: { ...holder.pod, name: "db-0", uid: "v" }, containerId: "c9" };
const set: AllocationOwner = { kind: "StatefulSet", namespace: "ns", name: "web", index: 0 };
const ip = parseIp("10.2.0.12");
const forbidden = new KubeError("FORBIDDEN", "no permission");

let api: FakeApi;
let clock: ManualClock;
let retries: number;
/** What this Node has, by what the writer reports. */
let own: Map<string, IpAllocation>;
let freed: string[];
let writer: AllocationWriter;
let limits: Set<number | undefined>;

beforeEach(() => {
    api = new FakeApi();
    clock = new ManualClock();
    [retries, own, freed, limits] = [0, new Map(), [], new Set()];
    const noted = {
        note: (allocation: IpAllocation) => void own.set(objectName(allocation), allocation),
        noteGone: (allocation: IpAllocation) => void own.delete(objectName(allocation)),
        get: (name: string) => own.get(name),
    };
    const limited: AllocationWriterComponents["api"] = {
        create: (resource, object, o) => (limits.add(o?.timeoutMs), api.create(resource, object, o)),
        update: (resource, object, o) => (limits.add(o?.timeoutMs), api.update(resource, object, o)),
        delete: (resource, key, o) => (limits.add(o?.timeoutMs), api.delete(resource, key, o)),
        find: (resource, key, o) => (limits.add(o?.timeoutMs), api.find(resource, key, o)),
    };
    writer = new AllocationWriter({
        api: limited,
        clock,
        own: noted as unknown as AllocationWriterComponents["own"],
        cooldown: { freed: (address: typeof ip) => void freed.push(formatIp(address)) } as never,
        metrics: { retry: () => void (retries += 1) },
    });
});

const never = (): AbortSignal => new AbortController().signal;
const stored = (): IpAllocation | undefined => api.get(ipAllocations, "10.2.0.12") as IpAllocation | undefined;

/** Lets time pass until the work is over. */
async function done<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const over = (): void => void (isOver = true);
    work.then(over, over);
    while (!isOver) await clock.advance(10);
    return work;
}

function put(who: Holder, owner?: AllocationOwner): IpAllocation {
    return api.put(ipAllocations, newAllocation(ip, "pool1", who, { owner })) as IpAllocation;
}

function reserve(): IpAllocation {
    const { pod: _, ...spec } = newAllocation(ip, "pool1", holder, { owner: set }).spec;
    return api.put(ipAllocations, {
        metadata: { name: "10.2.0.12" },
        spec: { ...spec, state: "Reserved" },
    } as never) as IpAllocation;
}

/** Happens once, just before a request of that kind takes effect. */
function meanwhile(method: string, change: () => void): void {
    let isDone = false;
    api.before = (one) => {
        if (one === method && !isDone) {
            isDone = true;
            change();
        }
        return Promise.resolve();
    };
}

const create = (o: { readExisting?: boolean; signal?: AbortSignal } = {}): Promise<IpAllocation | undefined> =>
    done(writer.create(ip, "pool1", holder, { signal: never(), ...o }));

describe("the creation of an allocation", () => {
    it("is known to this Node before the watch reports it, and no request of it waits for ever", async () => {
        const made = await create();
        expect(made?.spec).toMatchObject({ address: "10.2.0.12", pool: "pool1", pod: { uid: "u", containerID: "c1" } });
        expect(own.get("10.2.0.12")).toEqual(made);
        await done(writer.find(ip, never()));
        await done(writer.free(made ?? put(holder), () => true, never()));
        expect([...limits]).toEqual([12_000]);
    });

    it("of what another has costs one request, and the other keeps it", async () => {
        const theirs = put(rival);
        expect(await create()).toBeUndefined();
        expect(api.requests).toEqual(["create ipallocations 10.2.0.12"]);
        expect(await create({ readExisting: true })).toBeUndefined();
        expect(stored()).toEqual(theirs);
        expect([...own.keys()]).toEqual([]);
    });

    it("finds out that an allocation in its way is of the Pod's earlier sandbox, when it is asked to check", async () => {
        put({ ...holder, containerId: "c0" });
        expect((await create({ readExisting: true }))?.spec.pod?.containerID).toBe("c1");
        expect(own.get("10.2.0.12")?.spec.pod?.containerID).toBe("c1");
    });

    it("has what is freed between the refusal and the check", async () => {
        put(rival);
        meanwhile("find", () => api.remove(ipAllocations, "10.2.0.12"));
        expect((await create({ readExisting: true }))?.spec.pod?.uid).toBe("u");
    });

    it("without an answer is repeated, and finds its own allocation", async () => {
        let times = 0;
        api.fault = (method) => (method === "create" && (times += 1) === 1 ? { lose: lost() } : undefined);
        expect((await create())?.spec.pod?.uid).toBe("u");
        expect(retries).toBe(1);
        expect(writer.unanswered(holder, "pool1")).toBeUndefined();
    });

    it("that was given up without an answer is remembered for the interface, until it is known what became of it", async () => {
        const stop = new AbortController();
        api.fault = (method) => (stop.abort(), method === "create" ? { lose: lost() } : undefined);
        await expect(create({ signal: stop.signal })).rejects.toMatchObject({ outcomeUnknown: true });
        expect(writer.unanswered(holder, "pool1")).toEqual(ip);
        expect(writer.unanswered(holder, "pool2")).toBeUndefined();
        expect(writer.unanswered(rival, "pool1")).toBeUndefined();
        expect(writer.unanswered({ ...holder, ifName: "net1" }, "pool1")).toBeUndefined();
        api.fault = () => undefined;
        // It was done: what stands in the way is checked, unasked.
        expect((await create())?.spec.pod?.uid).toBe("u");
        expect(writer.unanswered(holder, "pool1")).toBeUndefined();
    });

    it("that was given up and turns out to be another's is forgotten", async () => {
        const stop = new AbortController();
        api.fault = () => (stop.abort(), { refuse: away() });
        await expect(create({ signal: stop.signal })).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
        api.fault = () => undefined;
        put(rival);
        expect(await create()).toBeUndefined();
        expect(writer.unanswered(holder, "pool1")).toBeUndefined();
    });

    it("that the API server refuses names its address and pool, and what may be missing", async () => {
        api.fault = () => ({ refuse: forbidden });
        await expect(create()).rejects.toMatchObject({
            name: "IpPoolError",
            code: "REFUSED",
            cause: forbidden,
            message: expect.stringMatching(
                /10\.2\.0\.12 from IPPool pool1.*permissions of antrea-agent.*no permission/,
            ),
        });
        expect(api.requests).toHaveLength(1);
        expect(writer.unanswered(holder, "pool1")).toBeUndefined();
        const aborted = new KubeError("ABORTED", "the agent ends");
        api.fault = () => ({ refuse: aborted });
        await expect(create()).rejects.toBe(aborted);
    });
});

describe("taking an allocation", () => {
    const take = (
        allocation: IpAllocation,
        version?: { uid: string; generation: number },
    ): Promise<IpAllocation | undefined> => done(writer.take(allocation, holder, never(), version));

    it("that is reserved for the Pod's ordinal makes it the container's", async () => {
        expect((await take(reserve()))?.spec).toMatchObject({
            state: "Allocated",
            owner: set,
            pod: { containerID: "c1" },
        });
        expect(own.has("10.2.0.12")).toBe(true);
    });

    it("of another costs no request, and its user is known from then on", async () => {
        const theirs = put(rival);
        expect(await take(theirs)).toBeUndefined();
        expect(api.requests).toEqual([]);
        expect(own.get("10.2.0.12")).toBe(theirs);
    });

    it("that is the container's costs a write only for another definition of its pool", async () => {
        const ours = put(holder);
        expect(await take(ours)).toBe(ours);
        expect(api.requests).toEqual([]);
        const version = { uid: "pool-uid", generation: 3 };
        const written = await take(ours, version);
        expect(written?.spec).toMatchObject({ poolUID: "pool-uid", poolGeneration: 3 });
        expect(api.requests).toEqual(["update ipallocations 10.2.0.12"]);
        await take(written ?? ours, version);
        expect(api.requests).toHaveLength(1);
    });

    it("that somebody else wrote meanwhile goes by what it is then", async () => {
        const old = reserve();
        api.put(ipAllocations, { ...old, metadata: { name: "10.2.0.12", labels: { touched: "yes" } } } as never);
        expect((await take(old))?.metadata?.labels).toEqual({ touched: "yes" });
        api.put(ipAllocations, takenBy(old, rival));
        expect(await take(old)).toBeUndefined();
        expect(stored()?.spec.pod?.uid).toBe("v");
    });

    it("that is gone meanwhile takes nothing, and this Node does not believe to have it", async () => {
        const old = reserve();
        own.set("10.2.0.12", old);
        api.remove(ipAllocations, "10.2.0.12");
        expect(await take(old)).toBeUndefined();
        expect(own.size).toBe(0);
        expect(stored()).toBeUndefined();
    });

    it("that the API server refuses reports it", async () => {
        api.fault = (method) => (method === "update" ? { refuse: forbidden } : undefined);
        await expect(take(reserve())).rejects.toMatchObject({ code: "REFUSED", cause: forbidden });
    });
});

describe("freeing an allocation", () => {
    const free = (allocation: IpAllocation): Promise<void> =>
        done(writer.free(allocation, (current) => namesContainer(current, holder), never()));

    it("deletes it, and its address rests", async () => {
        const ours = put(holder);
        own.set("10.2.0.12", ours);
        await free(ours);
        expect(stored()).toBeUndefined();
        expect([own.size, freed]).toEqual([0, ["10.2.0.12"]]);
    });

    it("gives it back to its StatefulSet, and does not delete it", async () => {
        await free(put(holder, set));
        expect(stored()?.spec).toMatchObject({ state: "Reserved", owner: set });
        expect(stored()?.spec.pod).toBeUndefined();
        expect(freed).toEqual(["10.2.0.12"]);
    });

    it("never deletes the allocation that another Pod made of the address since", async () => {
        const old = put(holder);
        api.remove(ipAllocations, "10.2.0.12");
        const theirs = put(rival);
        await free(old);
        expect(stored()).toEqual(theirs);
        expect([own.get("10.2.0.12")?.spec.pod?.uid, freed]).toEqual(["v", []]);
    });

    it("never deletes the allocation that the next sandbox of the Pod took over since", async () => {
        const old = put(holder);
        api.put(ipAllocations, takenBy(old, { ...holder, containerId: "c2" }));
        await free(old);
        expect(stored()?.spec.pod?.containerID).toBe("c2");
    });

    it("checks again when only its version changed, and frees it", async () => {
        const old = put(holder);
        api.put(ipAllocations, { ...old, metadata: { name: "10.2.0.12", labels: { touched: "yes" } } } as never);
        await free(old);
        expect(stored()).toBeUndefined();
    });

    it("of what is gone is a success, and its address rests all the same", async () => {
        const old = put(holder);
        own.set("10.2.0.12", old);
        api.remove(ipAllocations, "10.2.0.12");
        await free(old);
        expect([own.size, freed]).toEqual([0, ["10.2.0.12"]]);
    });

    it("costs no request when it is not to be freed any more, or its owner is of a kind that is not known", async () => {
        await free(put(rival));
        await free(put(holder, { kind: "Lease", name: "x" } as never));
        expect(api.requests).toEqual([]);
        expect(freed).toEqual([]);
    });

    it("is repeated while the API server is away, and reports when it is refused", async () => {
        const ours = put(holder);
        let times = 0;
        api.fault = () => ((times += 1) < 3 ? { refuse: away() } : undefined);
        await free(ours);
        expect([stored(), retries]).toEqual([undefined, 2]);
        api.fault = () => ({ refuse: forbidden });
        await expect(free(put(holder))).rejects.toMatchObject({ code: "REFUSED" });
        expect(stored()).toBeDefined();
    });
});

describe("an allocation that was to be freed, without an answer", () => {
    /** Frees it by one request, whose answer is lost or which does not arrive. */
    async function abandon(fault: { readonly lose?: KubeError; readonly refuse?: KubeError }): Promise<IpAllocation> {
        const ours = put(holder);
        own.set("10.2.0.12", ours);
        const stop = new AbortController();
        api.fault = () => (stop.abort(), fault);
        await expect(done(writer.free(ours, () => true, stop.signal))).rejects.toThrow();
        api.fault = () => ({});
        expect(own.has("10.2.0.12")).toBe(true);
        return ours;
    }
    const free = (allocation: IpAllocation): Promise<void> => done(writer.free(allocation, () => true, never()));

    it.each([
        ["took effect", { lose: lost() }],
        ["may take effect later", { refuse: away() }],
    ])("and %s, may be free until the API server has answered", async (_, fault) => {
        const ours = await abandon(fault);
        expect(writer.mayBeFreed(ours)).toBe(true);
        await free(ours);
        expect([writer.mayBeFreed(ours), stored(), own.size]).toEqual([false, undefined, 0]);
    });

    it("is another one when it is made again", async () => {
        const ours = await abandon({ lose: lost() });
        const again = await create();
        expect([again?.metadata?.uid === ours.metadata?.uid, writer.mayBeFreed(ours)]).toEqual([false, false]);
    });

    it("is not to be freed any more when the next sandbox of the Pod has taken it", async () => {
        const ours = await abandon({ refuse: away() });
        const taken = await done(writer.take(ours, { ...holder, containerId: "c2" }, never()));
        await done(writer.free(ours, (current) => namesContainer(current, holder), never()));
        expect([writer.mayBeFreed(ours), stored()]).toEqual([false, taken]);
    });

    it("stays one while it is not known which version it has", async () => {
        const ours = put(holder);
        own.set("10.2.0.12", ours);
        meanwhile("delete", () => void api.put(ipAllocations, { ...ours, metadata: { ...ours.metadata, labels: {} } }));
        for (const refusals of [1, 2]) {
            const stop = new AbortController();
            let requests = 0;
            // The first one conflicts with the version that somebody else wrote, which is to be freed then; and again.
            api.fault = () => {
                requests += 1;
                const isRefused = requests > (refusals === 1 ? 2 : 1);
                return isRefused ? (stop.abort(), { refuse: away() }) : {};
            };
            await expect(done(writer.free(ours, () => true, stop.signal))).rejects.toThrow();
            expect(writer.mayBeFreed(ours)).toBe(true);
        }
    });

    it("is none of what the next Pod of its ordinal has taken since", async () => {
        const ours = put(holder, set);
        const stop = new AbortController();
        api.fault = () => (stop.abort(), { lose: lost() });
        await expect(done(writer.free(ours, () => true, stop.signal))).rejects.toThrow();
        api.fault = () => ({});
        const reserved = stored() ?? ours;
        expect([reserved.spec.state, writer.mayBeFreed(reserved)]).toEqual(["Reserved", true]);
        const next = { ...holder, pod: { ...holder.pod, uid: "v" }, containerId: "c2" };
        expect((await done(writer.take(reserved, next, never())))?.spec.pod?.uid).toBe("v");
        expect(writer.mayBeFreed(reserved)).toBe(false);
    });

    it("is none that this Node does not have any more, once there are thousands", async () => {
        const first = await abandon({ lose: lost() });
        own.delete("10.2.0.12");
        const stop = new AbortController();
        api.fault = () => (stop.abort(), { refuse: away() });
        const known: IpAllocation[] = [];
        for (let at = 0; at < 1000; at += 1) {
            const other = parseIp(`10.3.${at >> 8}.${at & 255}`);
            const allocation = api.put(ipAllocations, newAllocation(other, "pool1", holder)) as IpAllocation;
            own.set(formatIp(other), allocation);
            known.push(allocation);
            await expect(writer.free(allocation, () => true, stop.signal)).rejects.toThrow();
        }
        expect(known.filter((one) => writer.mayBeFreed(one))).toHaveLength(1000);
        expect(writer.mayBeFreed(first)).toBe(false);
    });

    it("is not one that was refused or freed", async () => {
        const ours = put(holder);
        expect(writer.mayBeFreed(ours)).toBe(false);
        await free(ours);
        expect(writer.mayBeFreed(ours)).toBe(false);
    });
});

describe("a request that is repeated", () => {
    it.each([
        ["TIMEOUT", true],
        ["CONNECTION_FAILED", true],
        ["SERVER_TIMEOUT", true],
        ["UNAVAILABLE", true],
        ["SERVER_ERROR", true],
        ["TOO_MANY_REQUESTS", true],
        ["UNAUTHORIZED", true],
        ["FORBIDDEN", false],
        ["CONFLICT", false],
        ["NOT_FOUND", false],
        ["ABORTED", false],
    ] as const)("is one that was answered with %s: %s", (code, expected) => {
        expect(isRetryable(new KubeError(code, "x"))).toBe(expected);
        expect(isRetryable(new KubeError(code, "x", { outcomeUnknown: true }))).toBe(true);
        expect(isRetryable(new TypeError(code))).toBe(false);
    });

    it("is made after 50 ms, then later and later, and never more than a second later", async () => {
        const times: number[] = [];
        const work = retryUntilAnswered(
            () => {
                times.push(clock.monotonic());
                return times.length > 8 ? Promise.resolve("answer") : Promise.reject(away());
            },
            { clock, signal: never(), onRepeat: () => undefined },
        );
        expect(await done(work)).toBe("answer");
        const pauses = times.slice(1).map((time, at) => time - (times[at] ?? 0));
        expect(pauses[0]).toBeLessThanOrEqual(61);
        expect(pauses[0]).toBeGreaterThanOrEqual(40);
        expect(Math.max(...pauses)).toBeLessThanOrEqual(1_001);
        expect(Math.max(...pauses)).toBeGreaterThan(700);
    });

    it("ends with what the API server reported last when nobody waits for it any more", async () => {
        const stop = new AbortController();
        const error = away();
        let tries = 0;
        const request = (): Promise<never> => ((tries += 1), Promise.reject(error));
        const work = retryUntilAnswered(request, { clock, signal: stop.signal, onRepeat: () => stop.abort() });
        await expect(done(work)).rejects.toBe(error);
        expect(tries).toBe(1);
    });

    it("keeps nobody waiting who gave up", async () => {
        const stop = new AbortController();
        const reason = new Error("too late");
        const waiting = orAborted(new Promise(() => undefined), stop.signal);
        stop.abort(reason);
        await expect(waiting).rejects.toBe(reason);
        await expect(orAborted(new Promise(() => undefined), stop.signal)).rejects.toBe(reason);
        const { signal } = new AbortController();
        expect(await orAborted(Promise.resolve(7), signal)).toBe(7);
        expect(getEventListeners(signal, "abort")).toEqual([]);
    });
});
