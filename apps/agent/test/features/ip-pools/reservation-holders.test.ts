import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { ipAllocations, type IpAllocation } from "@antrea/crd";
import { formatIp, parseIp } from "@antrea/ip";
import { type NodeState } from "../../../src/features/ip-pools/gone-nodes.ts";
import { newAllocation, type Holder } from "../../../src/features/ip-pools/allocations.ts";
import { ReservationHolders, type MissingAddress } from "../../../src/features/ip-pools/reservation-holders.ts";
import { away, FakeApi } from "./support/fake-api.ts";

const holder: Holder = {
    pod: { namespace: "ns", name: "web-2", uid: "new" },
    nodeName: "a",
    containerId: "c",
    ifName: "eth0",
};
const earlier: Holder = { ...holder, pod: { ...holder.pod, uid: "old" }, nodeName: "far", containerId: "c-old" };
const missing: MissingAddress = {
    place: { name: "web", ordinal: 2 },
    family: 4,
    pools: ["pool1", "pool2"],
    fixed: undefined,
    isDeleting: false,
};
const limit = (): AbortSignal => AbortSignal.timeout(60_000);

let api: FakeApi;
let clock: ManualClock;
let own: IpAllocation[];
let finds: string[];
let state: NodeState;
let holders: ReservationHolders;

function allocation(ip: string, o: { index?: number; pool?: string; who?: Holder } = {}): IpAllocation {
    const owner = { kind: "StatefulSet", namespace: "ns", name: "web", index: o.index ?? 2 } as const;
    return newAllocation(parseIp(ip), o.pool ?? "pool1", o.who ?? earlier, { owner });
}

const put = (ip: string, o?: Parameters<typeof allocation>[1]): unknown => api.put(ipAllocations, allocation(ip, o));
const explain = async (change: Partial<MissingAddress> = {}): Promise<string> => {
    const { code, message } = await holders.explain({ ...missing, ...change }, holder, limit());
    return `${code} ${message}`;
};
const lists = (): number => api.requests.filter((one) => one.startsWith("list")).length;

beforeEach(() => {
    [api, clock, own, finds, state] = [new FakeApi(), new ManualClock(), [], [], { kind: "present" }];
    holders = new ReservationHolders({
        api,
        clock,
        nodes: { stateOf: () => state },
        own: { ofOrdinal: () => own },
        writer: {
            find: async (ip) => {
                finds.push(formatIp(ip));
                return api.find(ipAllocations, { name: formatIp(ip) });
            },
        },
    });
});

describe("why an ordinal lacks its address", () => {
    it("is that none is reserved, or not the fixed one, and of which pools", async () => {
        expect(await explain({ pools: ["pool1"] })).toBe(
            "NOT_RESERVED no address of IPPool pool1 is reserved yet for ordinal 2 of StatefulSet ns/web; see the events of the StatefulSet, and whether antrea-controller is up",
        );
        expect(await explain({ fixed: parseIp("10.2.0.9") })).toMatch(
            /^NOT_RESERVED address 10\.2\.0\.9 is not and no other of IPPools pool1, pool2 is reserved yet for ordinal 2 /,
        );
    });

    it("is the earlier Pod of this Node, whose address of that family is known without a question", async () => {
        own = [
            allocation("fd02::9", { who: { ...earlier, nodeName: "a" } }),
            allocation("10.2.0.9", { who: { ...earlier, nodeName: "a" } }),
        ];
        expect(await explain()).toBe(
            "NOT_RESERVED address 10.2.0.9 of IPPool pool1, kept for ordinal 2 of StatefulSet ns/web, is still held by the earlier Pod ns/web-2 with UID old on this Node; it comes free when kubelet has removed the container of that Pod. If it does not within minutes, see the logs of kubelet and of antrea-agent on Node a",
        );
        expect(await explain({ family: 6 })).toContain("address fd02::9 ");
        expect(api.requests).toEqual([]);
    });

    it.each<[string, NodeState, RegExp]>([
        [
            "that is there",
            { kind: "present" },
            /on Node far; it comes free when that Node has removed the container\. If the Node will not return, delete the Node object, or taint it node\.kubernetes\.io\/out-of-service$/,
        ],
        [
            "out of service",
            { kind: "out-of-service" },
            /on Node far, which is out of service; antrea-controller frees it within seconds: see the log of antrea-controller if it does not$/,
        ],
        [
            "that was deleted",
            { kind: "gone", at: Date.UTC(2026, 0, 1, 12, 0, 30) },
            /on Node far, which was deleted at 12:00:30 UTC; antrea-controller frees it at about 12:05:30 UTC: see the log/,
        ],
        [
            "that does not exist",
            { kind: "gone", at: undefined },
            /on Node far, which no longer exists; antrea-controller releases it 5 minutes after the Node was deleted: see/,
        ],
    ])("is a Pod on a Node %s, and what becomes of that", async (_what, of, text) => {
        put("10.2.0.9");
        state = of;
        expect(await explain()).toMatch(/^HELD_ON_OTHER_NODE address 10\.2\.0\.9 of IPPool pool1, /);
        expect(await explain()).toMatch(text);
    });

    it("is sought among all allocations of sets of that name once, and then by the one that was found", async () => {
        put("10.2.0.7", { index: 1 });
        put("10.2.0.8", { pool: "another" });
        put("10.2.0.9", { pool: "pool2" });
        for (let time = 0; time < 3; time += 1) {
            expect(await explain()).toContain("address 10.2.0.9 of IPPool pool2");
            await clock.advance(5_000);
        }
        expect(api.requests.filter((one) => one.startsWith("list"))).toEqual([
            "list ipallocations spec.owner.name=web,spec.state=Allocated",
        ]);
        expect(finds).toEqual(["10.2.0.9", "10.2.0.9"]);
        // Another's by now: that is no answer for this ordinal.
        put("10.2.0.9", { pool: "pool2", index: 5 });
        expect(await explain()).toMatch(/^NOT_RESERVED no address/);
        expect(lists()).toBe(2);
        await explain();
        expect(finds).toHaveLength(3);
    });

    it("is not sought again for a minute when nobody has it; another ordinal, set, Namespace or family is", async () => {
        await explain();
        await clock.advance(59_999);
        await explain();
        expect(lists()).toBe(1);
        await explain({ place: { name: "web", ordinal: 3 } });
        await clock.advance(1_000);
        await explain({ family: 6, pools: ["pool6"] });
        await clock.advance(1_000);
        await explain({ place: { name: "db", ordinal: 2 } });
        await clock.advance(1_000);
        await holders.explain(missing, { ...holder, pod: { ...holder.pod, namespace: "other" } }, limit());
        expect(lists()).toBe(5);
        await clock.advance(1_000);
        await explain();
        expect(lists()).toBe(6);
    });

    it("is sought once for all who ask within a second, unless that fails", async () => {
        const ask = (ordinal: number): Promise<string> => explain({ place: { name: "web", ordinal } });
        await Promise.all([1, 2, 3].map(ask));
        await clock.advance(999);
        await ask(4);
        expect(lists()).toBe(1);
        await clock.advance(1);
        await ask(5);
        expect(lists()).toBe(2);
        await clock.advance(1_000);
        api.fault = () => ({ refuse: away() });
        await expect(ask(6)).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
        api.fault = () => undefined;
        expect(await ask(6)).toMatch(/^NOT_RESERVED/);
        expect(lists()).toBe(4);
    });

    it("is not waited for by who gave up", async () => {
        api.before = () => new Promise(() => undefined);
        const reason = new Error("gave up");
        const stop = new AbortController();
        const waiting = holders.explain(missing, holder, stop.signal);
        stop.abort(reason);
        await expect(waiting).rejects.toBe(reason);
    });
});
