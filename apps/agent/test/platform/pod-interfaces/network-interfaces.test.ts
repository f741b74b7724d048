import { beforeEach, expect, it } from "@jest/globals";
import { NetworkInterfaces, type NetworkRecord } from "../../../src/platform/pod-interfaces/index.ts";
import { networkRecord } from "../../support/records.ts";

let table: NetworkInterfaces;

beforeEach(() => {
    table = new NetworkInterfaces();
});

function recordOf(containerId: string, ifName: string): NetworkRecord {
    return networkRecord({ containerId, ifName, hostIfName: `${containerId}-${ifName}` });
}

const names = (): readonly string[] => table.list().map(({ record }) => record.hostIfName);

it("an interface is found by container and name, with its newest record", () => {
    const first = recordOf("a", "eth1");
    table.put(first);
    table.put(recordOf("a", "eth2"));
    table.put(recordOf("b", "eth1"));
    expect(names()).toEqual(["a-eth1", "a-eth2", "b-eth1"]);
    expect(table.ofContainer("a").map(({ record }) => record.ifName)).toEqual(["eth1", "eth2"]);
    expect(table.get({ containerId: "a", ifName: "eth1" })).toEqual({ record: first, leaving: undefined, addedAt: 0 });
    const before = table.get(first);
    table.put({ ...first, vlan: 7 });
    expect(table.get(first)?.record.vlan).toBe(7);
    // Whoever holds an entry holds what it was.
    expect(before?.record.vlan).toBe(0);
    expect(table.get({ containerId: "b", ifName: "eth2" })).toBeUndefined();
    expect(table.ofContainer("none")).toEqual([]);
    table.remove(first);
    expect(table.ofContainer("a").map(({ record }) => record.ifName)).toEqual(["eth2"]);
    table.remove({ containerId: "a", ifName: "eth2" });
    expect(table.ofContainer("a")).toEqual([]);
    expect(names()).toEqual(["b-eth1"]);
});

it("an interface was there before this agent unless its ADD sets when, which a new record does not change", () => {
    const record = recordOf("a", "eth1");
    const steps = [undefined, Infinity, undefined, 7, undefined].map((addedAt) => {
        table.put(record, addedAt);
        return table.get(record)?.addedAt;
    });
    expect(steps).toEqual([0, Infinity, Infinity, 7, 7]);
    table.leave(record, "keep");
    expect(table.get(record)).toEqual({ record, leaving: "keep", addedAt: 7 });
});

it("a removal that releases stays one, whatever is asked later and whatever record is put", () => {
    const record = recordOf("a", "eth1");
    table.put(record);
    const steps = [
        table.leave(record, "keep"),
        table.leave(record, "release"),
        table.leave(record, "keep"),
        table.leave(record, "release"),
    ];
    expect(steps).toEqual(["keep", "release", "release", "release"]);
    table.put({ ...record, isolated: true });
    expect(table.get(record)).toMatchObject({ record: { ...record, isolated: true }, leaving: "release" });
});

it("a removal that keeps stays one until somebody releases", () => {
    const record = recordOf("a", "eth1");
    table.put(record);
    expect([table.leave(record, "keep"), table.leave(record, "keep")]).toEqual(["keep", "keep"]);
    expect(table.get(record)?.leaving).toBe("keep");
});

it("a removal is of one interface, and is over with it", () => {
    const [one, other] = [recordOf("a", "eth1"), recordOf("a", "eth2")];
    for (const record of [one, other]) table.put(record);
    table.leave(one, "release");
    expect(table.get(other)?.leaving).toBeUndefined();
    table.remove(one);
    table.remove(one);
    expect(names()).toEqual(["a-eth2"]);
    table.put(one);
    expect(table.get(one)?.leaving).toBeUndefined();
});

it("the removal of an interface that nobody knows is as it is asked for, and adds none", () => {
    const unknown = { containerId: "a", ifName: "eth1" };
    expect([table.leave(unknown, "keep"), table.leave(unknown, "release")]).toEqual(["keep", "release"]);
    expect(table.list()).toEqual([]);
});
