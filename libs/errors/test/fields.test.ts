import { describe, expect, it } from "@jest/globals";
import { onlyKeys, present } from "../src/index.ts";

describe("fields of objects", () => {
    it("are left out without a value", () => {
        interface Fields {
            readonly a?: number;
            readonly b?: string | null;
            readonly c?: string;
        }
        expect(Object.entries(present<Fields>({ a: 0, b: null, c: undefined }))).toEqual([
            ["a", 0],
            ["b", null],
        ]);
    });

    it("are chosen by their keys", () => {
        expect(onlyKeys({ a: "1", b: "", c: "3" }, ["b", "c", "d"])).toEqual({ b: "", c: "3" });
        expect(onlyKeys({ a: "1" }, ["b"])).toBeUndefined();
        expect(onlyKeys(undefined, ["b"])).toBeUndefined();
    });
});
