import { beforeEach, describe, expect, it } from "@jest/globals";
import { ManualClock } from "@antrea/async/testing";
import { formatIp, parseIp } from "@antrea/ip";
import { KnownInterfaces } from "../../../src/features/pod-network/known-interfaces.ts";
import { Limit } from "../../../src/features/pod-network/limit.ts";
import { addressOf, podRecord } from "../../support/records.ts";
import { type PodInterface, PodInterfaces } from "../../../src/platform/pod-interfaces/index.ts";

const record = podRecord({ addresses: [addressOf("10.10.1.5/24"), addressOf("fd10:10:0:1::5/64")] });
const other = podRecord({ containerId: "cd34".repeat(16), addresses: [addressOf("10.10.1.5/24")] });
const [wanted, second, third] = [32_784, 9, 11];

let released: string[];
let known: KnownInterfaces;
let table: PodInterfaces;

beforeEach(() => {
    released = [];
    table = new PodInterfaces();
    known = new KnownInterfaces({
        podInterfaces: table,
        subnet: { release: (ip, owner) => void released.push(`${formatIp(ip)} ${owner}`) },
    });
    known.note(record, wanted, 0);
});

const used = (): readonly number[] => [...known.ofPorts.used].toSorted((one, another) => one - another);

function current(): PodInterface {
    const found = table.get(record);
    if (found === undefined) throw new Error("not known");
    return found;
}

describe("the port numbers of an interface", () => {
    it("stay when OVS has the port by the number that was asked for", () => {
        known.useUnsettled(record, wanted, wanted);
        known.settle(current(), wanted);
        expect(used()).toEqual([wanted]);
    });

    it("are both taken until the flows have the second one, and then that alone", () => {
        known.useUnsettled(record, wanted, second);
        expect(used()).toEqual([second, wanted]);
        known.settle(current(), second);
        expect(used()).toEqual([second]);
        expect(current().ofPort).toBe(second);
    });

    it("are the desired one and the last, when OVS changes its mind before the flows came", () => {
        known.useUnsettled(record, wanted, second);
        known.useUnsettled(record, wanted, second);
        expect(used()).toEqual([second, wanted]);
        known.useUnsettled(record, wanted, third);
        expect(used()).toEqual([third, wanted]);
        known.useUnsettled(record, wanted, wanted);
        expect(used()).toEqual([wanted]);
    });

    it("that the flows have is not given to another Pod when the port gets a third one", () => {
        known.useUnsettled(record, wanted, second);
        known.settle(current(), second);
        known.useUnsettled(record, second, third);
        expect(used()).toEqual([second, third]);
    });

    it("are all free when nothing of it stands, and none of them is freed again for who has it next", () => {
        known.useUnsettled(record, wanted, second);
        known.forget(current());
        expect(used()).toEqual([]);
        known.note(other, second, 0);
        known.note(record, wanted, 0);
        known.forget(current());
        expect(used()).toEqual([second]);
    });
});

describe("an interface that is being removed", () => {
    it("is one until nothing of it stands; then its addresses are free, by its name", () => {
        table.leave(record, "keep");
        expect([table.isLeaving(record), table.isLeaving(other)]).toEqual([true, false]);
        known.forget(current());
        expect(table.isLeaving(record)).toBe(false);
        expect(table.list()).toEqual([]);
        const owner = `${record.containerId}/eth0`;
        expect(released).toEqual([`10.10.1.5 ${owner}`, `fd10:10:0:1::5 ${owner}`]);
    });

    it("by a DEL stays so when the reconcile, which would keep the claim, goes on; not the other way round", () => {
        expect(table.leave(record, "keep")).toBe("keep");
        expect(table.leave(record, "release")).toBe("release");
        expect(table.leave(record, "keep")).toBe("release");
        known.forget(current());
        expect(table.leave(record, "keep")).toBe("keep");
    });

    it.each([
        ["is being removed", () => void table.leave(record, "keep")],
        ["is isolated", () => table.put({ record: { ...record, isolated: true }, ofPort: wanted, addedAt: 0 })],
    ])("or one that %s does not have its address any more, unless another one has it", (_, end) => {
        const ip = parseIp("fd10:10:0:1::5");
        expect([table.isConnected(ip), table.isConnected(parseIp("10.10.1.6"))]).toEqual([true, false]);
        end();
        expect(table.isConnected(ip)).toBe(false);
        known.note(other, second, 0);
        expect([table.isConnected(ip), table.isConnected(parseIp("10.10.1.5"))]).toEqual([false, true]);
    });
});

describe("the limit of a piece of work", () => {
    it("says what took too long, as a matter of time and not a fault of the caller", async () => {
        const clock = new ManualClock();
        using limit = new Limit(clock, 5_000, "unwiring");
        await clock.advance(4_999);
        expect(limit.signal.aborted).toBe(false);
        await clock.advance(1);
        expect(limit.signal.reason).toMatchObject({
            code: "TOO_SLOW",
            fault: "timeout",
            message: "unwiring took longer than 5 s",
        });
    });

    it("ends with who asked for the work, and leaves no timer when the work is done", () => {
        const clock = new ManualClock();
        const stop = new AbortController();
        {
            using limit = new Limit(clock, 5_000, "unwiring", stop.signal);
            expect(clock.pending).toBe(1);
            stop.abort(new Error("hung up"));
            expect(limit.signal.reason).toBe(stop.signal.reason);
        }
        expect(clock.pending).toBe(0);
    });
});
