import { beforeEach, describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { PodInterfaces, type PodInterface } from "../../../src/platform/pod-interfaces/index.ts";
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

it("an interface that this start isolated stays known as undecided", () => {
    table.put(wired);
    expect(table.isUndecided(record)).toBe(false);
    table.setUndecided(record);
    expect(table.isUndecided(record)).toBe(true);
});
