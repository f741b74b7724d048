import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import {
    isAddCompleted,
    PodInterfaces,
    type PodInterface,
    type PodInterfaceChange,
} from "../../../src/platform/pod-interfaces/index.ts";
import { addressOf, podRecord } from "../../support/records.ts";

const record = podRecord({ addresses: [addressOf("10.10.1.5/24")] });
const wired: PodInterface = { record, ofPort: 32_784, addedAt: Infinity };

let table: PodInterfaces;
let changes: string[];

beforeEach(() => {
    table = new PodInterfaces();
    changes = [];
});

function describeChanges(): Disposable {
    return table.subscribe(({ type, known }) => {
        const state = table.isLeaving(known.record) ? "leaving" : known.record.isolated === true ? "isolated" : "";
        changes.push(`${type} ${known.addedAt} ${state}`.trim());
    });
}

describe("who subscribes to the Pod interfaces", () => {
    it("hears of each change once, when the table has it", () => {
        using _ = describeChanges();
        table.put(wired);
        table.put({ ...wired, addedAt: 7 });
        table.put({ ...wired, addedAt: 7, record: { ...record, isolated: true } });
        expect(table.leave(record, "keep")).toBe("keep");
        expect(table.leave(record, "release")).toBe("release");
        table.remove(record);
        table.remove(record);
        expect(changes).toEqual([
            "added Infinity",
            "changed 7",
            "changed 7 isolated",
            "changed 7 leaving",
            "removed 7 isolated",
        ]);
        expect([table.list(), table.get(record), table.isLeaving(record)]).toEqual([[], undefined, false]);
    });

    it("hears nothing of an interface that was never in the table, nor after it has ended", () => {
        {
            using _ = describeChanges();
            table.leave(record, "release");
            table.setUndecided(record);
            table.remove(record);
        }
        table.put(wired);
        expect(changes).toEqual([]);
    });

    it("hears when an ADD has completed, and what the interface was before", () => {
        const seen: PodInterfaceChange[] = [];
        using _ = table.subscribe((change) => void seen.push(change));
        const answered = { ...wired, addedAt: 7 };
        table.put(wired);
        table.put({ ...wired, ofPort: 9 });
        table.put(answered);
        table.leave(record, "keep");
        table.put({ ...answered, ofPort: 9 });
        table.put(wired);
        table.remove(record);
        table.put({ ...wired, addedAt: 0 });
        expect(seen.map(isAddCompleted)).toEqual([false, false, true, false, false, false, false, false]);
        expect(seen.slice(0, 4).map(({ before }) => before)).toEqual([
            undefined,
            wired,
            { ...wired, ofPort: 9 },
            answered,
        ]);
    });

    it("is one of several, also with the same function", () => {
        const seen: string[] = [];
        const listener = ({ type }: { readonly type: string }): void => void seen.push(type);
        const first = table.subscribe(listener);
        using _ = table.subscribe(listener);
        table.put(wired);
        first[Symbol.dispose]();
        table.remove(record);
        expect(seen).toEqual(["added", "added", "removed"]);
    });
});

it("a container has its interfaces, each with its latest record, until they are removed", () => {
    const other = { ...record, ifName: "eth7" };
    table.put(wired);
    table.put({ ...wired, record: other });
    table.put({ ...wired, record: { ...record, isolated: true } });
    table.put({ ...wired, record: { ...record, containerId: "another" } });
    const found = (): readonly (readonly [string, boolean])[] =>
        table.ofContainer(record.containerId).map((one) => [one.record.ifName, one.record.isolated === true]);
    expect(found()).toEqual([
        ["eth0", true],
        ["eth7", false],
    ]);
    table.remove(record);
    expect(found()).toEqual([["eth7", false]]);
    table.remove(other);
    expect([found(), table.ofContainer("another")]).toEqual([[], [expect.anything()]]);
});

it("an address is connected while an interface has it that is neither isolated nor being removed", () => {
    const ip = parseIp("10.10.1.5");
    expect(table.isConnected(ip)).toBe(false);
    table.put(wired);
    expect([table.isConnected(ip), table.isConnected(parseIp("10.10.1.6"))]).toEqual([true, false]);
    table.put({ ...wired, record: { ...record, isolated: true } });
    expect([table.isConnected(ip), table.isIsolated(record)]).toEqual([false, true]);
    table.put(wired);
    table.leave(record, "keep");
    expect([table.isConnected(ip), table.isIsolated(record)]).toEqual([false, false]);
});

it("the Node must reach an interface that is connected or being reconnected, unless it is being removed", () => {
    const isReachable = (): boolean => table.reachable().length === 1;
    table.put(wired);
    expect(isReachable()).toBe(true);
    table.put({ ...wired, record: { ...record, isolated: true } });
    expect(isReachable()).toBe(false);
    table.setConnecting(record, true);
    expect(isReachable()).toBe(true);
    table.leave(record, "keep");
    expect(isReachable()).toBe(false);
});

it("the Node reaches an address elsewhere while another interface that it must reach has it", () => {
    const other = podRecord({ containerId: "other", addresses: record.addresses });
    const ip = parseIp("10.10.1.5");
    const isReachedElsewhere = (): boolean => table.isReachedElsewhere(record, ip);
    table.put(wired);
    expect(isReachedElsewhere()).toBe(false);
    table.put({ ...wired, record: { ...other, isolated: true } });
    expect(isReachedElsewhere()).toBe(false);
    table.setConnecting(other, true);
    expect(isReachedElsewhere()).toBe(true);
    table.put({ ...wired, record: other });
    expect(isReachedElsewhere()).toBe(true);
    table.leave(other, "release");
    expect(isReachedElsewhere()).toBe(false);
});

describe("an interface that is being removed", () => {
    const other = podRecord({ containerId: "cd34".repeat(16), addresses: [addressOf("10.10.1.5/24")] });

    it("is one until nothing of it stands", () => {
        table.put(wired);
        table.put({ ...wired, record: other });
        table.leave(record, "keep");
        expect([table.isLeaving(record), table.isLeaving(other)]).toEqual([true, false]);
        table.remove(record);
        expect([table.isLeaving(record), table.list()]).toEqual([false, [{ ...wired, record: other }]]);
        table.put(wired);
        expect(table.isLeaving(record)).toBe(false);
    });

    it("by a DEL stays so when the reconcile, which would keep the allocation, goes on; not the other way round", () => {
        table.put(wired);
        expect(table.leave(record, "keep")).toBe("keep");
        expect(table.leave(record, "release")).toBe("release");
        expect(table.leave(record, "keep")).toBe("release");
        table.remove(record);
        expect(table.leave(record, "keep")).toBe("keep");
    });
});

describe("an address of two interfaces", () => {
    const two = podRecord({ addresses: [addressOf("10.10.1.5/24"), addressOf("fd10:10:0:1::5/64")] });
    const other = podRecord({ containerId: "cd34".repeat(16), addresses: [addressOf("10.10.1.5/24")] });
    const [v4, v6] = [parseIp("10.10.1.5"), parseIp("fd10:10:0:1::5")];
    const isolated = (one: typeof record): PodInterface => ({ ...wired, record: { ...one, isolated: true } });
    const users = (): readonly (string | undefined)[] =>
        [two, other].map((one) => table.otherUser(one, v4)?.record.containerId);
    const [id, otherId] = [two.containerId, other.containerId];

    it.each([
        ["is being removed", () => void table.leave(two, "keep")],
        ["is isolated", () => table.put(isolated(two))],
        ["was removed", () => table.remove(two)],
    ])("is not connected by one that %s, but by the other", (_, end) => {
        table.put({ ...wired, record: two });
        expect([v4, v6].map((ip) => table.isConnected(ip))).toEqual([true, true]);
        end();
        expect([v4, v6].map((ip) => table.isConnected(ip))).toEqual([false, false]);
        table.put({ ...wired, record: other });
        expect([v4, v6].map((ip) => table.isConnected(ip))).toEqual([true, false]);
    });

    it("is used by one that is connected, is being removed or is being connected again, and not by an isolated one", () => {
        table.put({ ...wired, record: two });
        expect(users()).toEqual([undefined, id]);
        table.put(isolated(other));
        expect(users()).toEqual([undefined, id]);
        table.leave(two, "release");
        expect(users()).toEqual([undefined, id]);
        table.put(isolated(two));
        expect(users()).toEqual([undefined, undefined]);
        table.setConnecting(other, true);
        expect([...users(), table.isConnected(v4)]).toEqual([otherId, undefined, false]);
        table.put({ ...wired, record: other });
        expect([...users(), table.isConnected(v4)]).toEqual([otherId, undefined, true]);
    });

    it("is not used by one whose connecting has ended, failed or with its record, or that was removed", () => {
        table.put({ ...wired, record: two });
        const connecting = [true, false].map((isConnecting) => {
            table.put(isolated(other));
            table.setConnecting(other, isConnecting);
            return users()[0];
        });
        expect(connecting).toEqual([otherId, undefined]);
        table.setConnecting(other, true);
        table.put({ ...wired, record: other });
        table.put(isolated(other));
        expect(users()[0]).toBeUndefined();
        table.setConnecting(other, true);
        table.remove(other);
        table.put(isolated(other));
        expect(users()[0]).toBeUndefined();
    });

    it("goes to the interface whose record has it now", () => {
        table.put({ ...wired, record: two });
        table.put({ ...wired, record: { ...two, addresses: other.addresses } });
        expect([table.otherUser(other, v4)?.record.containerId, table.otherUser(other, v6)]).toEqual([id, undefined]);
        table.put({ ...wired, record: { ...two, addresses: [] } });
        expect(table.otherUser(other, v4)).toBeUndefined();
    });
});

it("who subscribes hears once that an interface is being connected, and when that has failed", () => {
    table.put({ ...wired, record: { ...record, isolated: true } });
    using _ = describeChanges();
    for (const isConnecting of [true, true, false, false]) table.setConnecting(record, isConnecting);
    table.setConnecting(podRecord({ containerId: "cd34".repeat(16) }), true);
    expect(changes).toEqual(["changed Infinity isolated", "changed Infinity isolated"]);
});

it("an interface that this start isolated is undecided until it is removed", () => {
    table.put(wired);
    expect(table.isUndecided(record)).toBe(false);
    table.setUndecided(record);
    expect(table.isUndecided(record)).toBe(true);
    table.remove(record);
    table.put(wired);
    expect(table.isUndecided(record)).toBe(false);
});
