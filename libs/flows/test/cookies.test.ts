import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import { Category, cookie, cookieOf, nextRound, roundMask, withCookies } from "../src/index.ts";
import { examplePod, podFlows } from "./examples.ts";

describe("cookies", () => {
    it("puts round, category and object id where they belong", () => {
        expect(cookie(1, Category.service)).toBe(0x0001_03_00_00000000n);
        expect(cookie(0xffff, Category.podConnectivity, 0xffffffff)).toBe(0xffff_01_00_ffffffffn);
    });

    it("gives back its parts, and the masks find them", () => {
        const parts = fc.record({
            round: fc.integer({ min: 1, max: 0xffff }),
            category: fc.constantFrom(...Object.values(Category)),
            objectId: fc.integer({ min: 0, max: 0xffffffff }),
        });
        fc.assert(
            fc.property(parts, ({ round, category, objectId }) => {
                const value = cookie(round, category, objectId);
                expect(cookieOf(value)).toEqual({ round, category, objectId });
                expect(value & roundMask).toBe(BigInt(round) << 48n);
                expect(value & ~roundMask).toBe(cookie(1, category, objectId) & ~roundMask);
            }),
        );
    });

    it.each([
        [0, 1],
        [1, 2],
        [0xfffe, 0xffff],
        [0xffff, 1],
    ])("after round %d comes %d", (round, next) => expect(nextRound(round)).toBe(next));

    it.each([
        ["round", 0, 0],
        ["round", 0x10000, 0],
        ["round", 1.5, 0],
        ["object id", 1, 2 ** 32],
        ["object id", 1, -1],
    ])("refuses a wrong %s: %d, %d", (field, round, objectId) => {
        expect(() => cookie(round, Category.default, objectId)).toThrow(
            expect.objectContaining({ code: "INVALID_INPUT", details: { field } }),
        );
    });

    it("stamps every flow of a set", () => {
        const set = podFlows(examplePod(1));
        const stamped = withCookies(set, 7, 32784);
        expect(stamped).toHaveLength(set.flows.length);
        expect(new Set(stamped.map((flow) => flow.cookie))).toEqual(new Set([0x0007_01_00_00008010n]));
    });
});
