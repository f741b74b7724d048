import { beforeEach, describe, expect, it } from "@jest/globals";
import { type IpAllocation } from "@antrea/crd";
import { parseIp } from "@antrea/ip";
import { MemoryLog } from "@antrea/runtime/testing";
import { UnclaimedAddresses } from "../../../src/features/ip-pools/unclaimed-addresses.ts";
import { type PoolInterface } from "../../../src/features/ip-pools/wiring.ts";

const text = "10.2.0.77";
const ip = parseIp(text);
const other = parseIp("10.2.0.78");
const wired = wire("c-p1");
const anothers = {
    spec: {
        address: text,
        block: "10.2.0.0/24",
        pool: "pool1",
        state: "Allocated",
        owner: { kind: "Pod", namespace: "default", name: "p2", uid: "uid-p2" },
        pod: { namespace: "default", name: "p2", uid: "uid-p2", nodeName: "b", containerID: "c-p2", interface: "eth0" },
    },
} as const satisfies IpAllocation;

let log: MemoryLog;
/** Of the Node with the address in its podCIDR, if any. */
let holder: string | undefined;
let isolated: Set<string>;
let undecided: Set<string>;
let connected: boolean;
let counted: number;
let unclaimed: UnclaimedAddresses;

function wire(containerId: string): PoolInterface {
    const identity = { podNamespace: "default", podName: "p1", podUid: "uid-p1" };
    const addresses = [ip, other].map((one) => ({ ip: one, pool: "", prefixLength: 24, gateway: parseIp("10.2.0.1") }));
    return { containerId, ifName: "eth0", ...identity, addresses, vlan: 0 };
}

beforeEach(() => {
    log = new MemoryLog();
    holder = undefined;
    isolated = new Set();
    undecided = new Set();
    connected = false;
    counted = 0;
    unclaimed = new UnclaimedAddresses({
        wiring: {
            isolate: ({ containerId }) => Promise.resolve(void isolated.add(containerId)),
            isIsolated: ({ containerId }) => isolated.has(containerId),
            isConnected: () => connected,
            isUndecided: ({ containerId }) => undecided.has(containerId),
        },
        holders: {
            heldElsewhere: (ips) => (holder === undefined ? [] : ips.map((one) => ({ ip: one, node: holder! }))),
        },
        events: {
            heldElsewhere: () => true,
            inAnothersSubnet: () => true,
            poolChanged: () => true,
            staysIsolated: () => true,
        },
        metrics: { heldElsewhere: () => void (counted += 1) },
        logger: log.logger,
    });
});

/** As a pass checks an interface that has neither allocation nor pool: whether it may have its traffic. */
async function check(of: PoolInterface = wired): Promise<boolean> {
    const wasIsolated = isolated.has(of.containerId);
    if (await unclaimed.isolateIfElsewhere(of, ip, { pool: undefined, wasIsolated })) return false;
    const isFree = await unclaimed.mayKeep(of, ip, { wasIsolated });
    if (isFree) isolated.delete(of.containerId);
    return isFree;
}

describe("an isolated interface whose address has neither allocation nor pool", () => {
    it("returns when it was isolated for a podCIDR that is gone", async () => {
        holder = "b";
        expect([await check(), isolated.size]).toEqual([false, 1]);
        holder = undefined;
        expect([await check(), isolated.size]).toEqual([true, 0]);
    });

    it("stays so when it was isolated for another before that podCIDR came", async () => {
        await unclaimed.isolateFor(wired, ip, anothers);
        holder = "b";
        expect(await check()).toBe(false);
        holder = undefined;
        expect([await check(), await check(), isolated.size]).toEqual([false, false, 1]);
    });

    it("stays so when a pool had the address meanwhile", async () => {
        expect(await check()).toBe(true);
        unclaimed.hasPool(wired, ip);
        isolated.add("c-p1");
        undecided.add("c-p1");
        expect(await check()).toBe(false);
    });

    it("returns when it was isolated at the rebuild, but for an address that another uses", async () => {
        isolated.add("c-p1");
        undecided.add("c-p1");
        connected = true;
        expect(await check()).toBe(false);
        connected = false;
        expect(await check()).toBe(true);
    });

    it("is known by its container and its address: what another may do is not its own", async () => {
        holder = "b";
        await check();
        holder = undefined;
        const second = wire("c-p2");
        isolated.add("c-p2");
        expect([await check(second), await check()]).toEqual([false, true]);
        isolated.add("c-p1");
        expect(await unclaimed.mayKeep(wired, other, { wasIsolated: true })).toBe(false);
    });

    it("is forgotten with its interface", async () => {
        expect(await check()).toBe(true);
        unclaimed.keep([]);
        isolated.add("c-p1");
        expect(await check()).toBe(false);
    });

    it("is remembered while its interface is there", async () => {
        expect(await check()).toBe(true);
        unclaimed.keep([wired]);
        isolated.add("c-p1");
        expect(await check()).toBe(true);
    });
});

describe("the log", () => {
    const pod = { pod: "default/p1", address: text };

    it.each([
        ["and no IPPool", undefined, {}],
        ["and the IPPool", "pool1", { pool: "pool1" }],
    ])("names the Node whose podCIDR has the address, %s", async (_, pool, fields) => {
        holder = "b";
        await unclaimed.isolateIfElsewhere(wired, ip, { pool, wasIsolated: false });
        const message =
            "a Pod interface is isolated: its address has no allocation and is in the podCIDR of another Node";
        expect(log.messages("error")).toEqual([message]);
        expect(log.records[0]).toMatchObject({ ...pod, node: "b", ...fields });
        expect(Object.keys(log.records[0] ?? {}).includes("pool")).toBe(pool !== undefined);
        expect(counted).toBe(1);
    });

    it("names who has the allocation", async () => {
        await unclaimed.isolateFor(wired, ip, anothers);
        expect(log.messages("error")).toEqual(["a Pod interface is isolated: its address is allocated to another Pod"]);
        expect(log.records[0]).toMatchObject({ ...pod, holder: expect.stringContaining("default/p2") });
    });

    it("reports once that an interface stays isolated", async () => {
        isolated.add("c-p1");
        await check();
        await check();
        expect(log.messages("warn")).toEqual([
            "a Pod interface stays isolated: its address has no allocation, is in no IPPool, and may be assigned to another Pod",
        ]);
        expect(log.records[0]).toMatchObject(pod);
    });

    it("reports who has the address, that nothing determines it, and who has it then: each once", async () => {
        const messages = (): number[] => [log.messages("error").length, log.messages("warn").length];
        await unclaimed.isolateFor(wired, ip, anothers);
        await unclaimed.isolateFor(wired, ip, anothers);
        expect(messages()).toEqual([1, 0]);
        await check();
        await check();
        expect(messages()).toEqual([1, 1]);
        await unclaimed.isolateFor(wired, ip, anothers);
        await unclaimed.isolateFor(wired, ip, anothers);
        expect(messages()).toEqual([2, 1]);
        expect(counted).toBe(2);
    });
});
