import { describe, expect, it } from "@jest/globals";
import { formatRounds, nextRounds } from "../../../../src/platform/ovs/bridge/rounds.ts";

describe("the rounds of a start", () => {
    it.each([
        ["never started", undefined, 1, []],
        ["after a start that was all done", "1", 2, [1]],
        ["after starts that were killed", "3,4,5", 6, [3, 4, 5]],
        ["around the end", "65535", 1, [65535]],
        ["around the end, past what may have flows", "1,2,65535", 3, [1, 2, 65535]],
        ["words of somebody else", "none", 1, []],
        ["numbers that are no rounds", "0,-3,65536,2.5,7", 8, [7]],
        ["empty", "", 1, []],
    ])("%s", (_, stored, current, earlier) => {
        expect(nextRounds(stored)).toEqual({ current, earlier });
    });

    it("are stored with all that may have flows, the newest last", () => {
        expect(formatRounds({ current: 6, earlier: [3, 4, 5] })).toBe("3,4,5,6");
        expect(formatRounds({ current: 6, earlier: [] })).toBe("6");
    });

    // A start that is killed before it deletes must not make a later one forget whose flows are in OVS.
    it("a hundred starts that are all killed forget no round", () => {
        let stored: string | undefined;
        const begun: number[] = [];
        for (let start = 0; start < 100; start += 1) {
            const rounds = nextRounds(stored);
            expect(rounds.earlier).toEqual(begun);
            begun.push(rounds.current);
            stored = formatRounds(rounds);
        }
        expect(new Set(begun).size).toBe(100);
    });
});
