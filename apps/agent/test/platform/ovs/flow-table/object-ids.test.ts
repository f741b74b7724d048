import { describe, expect, it } from "@jest/globals";
import { ObjectIds } from "../../../../src/platform/ovs/flow-table/object-ids.ts";

describe("object ids", () => {
    it("are those of the start before, whatever the order of the owners", () => {
        const [one, other] = [new ObjectIds(), new ObjectIds()];
        const names = ["pipeline", "pod/a/eth0", "peer/node-1", "vlan/2"];
        const ids = names.map((name) => one.take(name));
        expect(names.toReversed().map((name) => other.take(name))).toEqual(ids.toReversed());
        expect(new Set(ids).size).toBe(4);
        expect(ids.every((id) => Number.isInteger(id) && id > 0 && id < 2 ** 32)).toBe(true);
    });

    it("differ also of names with one hash", () => {
        // FNV-1a of both is the same.
        const [first, second] = ["costarring", "liquid"];
        const ids = new ObjectIds();
        const id = ids.take(first ?? "");
        expect(ids.take(second ?? "")).toBe(id + 1);
        expect(ids.take(first ?? "")).toBe(id);
    });
});
