import { describe, expect, it } from "@jest/globals";
import { Tombstones } from "../../../src/features/pod-network/tombstones.ts";

const minute = 60_000;

describe("tombstones", () => {
    it("stop an ADD that was asked for before or with the DEL, and none that came after", () => {
        const tombstones = new Tombstones(() => 1000);
        tombstones.add("a");
        expect(tombstones.hasSince("a", 999)).toBe(true);
        expect(tombstones.hasSince("a", 1000)).toBe(true);
        expect(tombstones.hasSince("a", 1001)).toBe(false);
        expect(tombstones.hasSince("b", 0)).toBe(false);
    });

    it("last ten minutes", () => {
        let now = 0;
        const tombstones = new Tombstones(() => now);
        tombstones.add("a");
        now = 10 * minute;
        expect(tombstones.hasSince("a", 0)).toBe(true);
        now += 1;
        expect(tombstones.hasSince("a", 0)).toBe(false);
    });

    it("begin anew when the container is deleted again, and that keeps no older one alive", () => {
        let now = 0;
        const tombstones = new Tombstones(() => now);
        tombstones.add("a");
        tombstones.add("b");
        now = 9 * minute;
        tombstones.add("a");
        now = 11 * minute;
        tombstones.add("c");
        expect(tombstones.hasSince("a", 0)).toBe(true);
        expect(tombstones.hasSince("b", 0)).toBe(false);
        expect(tombstones.hasSince("c", 0)).toBe(true);
    });
});
