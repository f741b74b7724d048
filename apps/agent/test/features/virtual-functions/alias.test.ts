import { describe, expect, it } from "@jest/globals";
import { fromFunctionAlias, toFunctionAlias } from "../../../src/features/virtual-functions/alias.ts";

const attachment = { containerId: "ab".repeat(32), ifName: "eth1" };

describe("the alias of a virtual function", () => {
    it("is read as it was written", () => {
        expect(fromFunctionAlias(toFunctionAlias(attachment))).toEqual(attachment);
    });

    it.each<[string, string | undefined]>([
        ["no alias", undefined],
        ["an empty one", ""],
        ["another alias", "uplink"],
        ["that of a veth pair", "antrea3 a1b2 eth1 1 0a:00:0a:01:00:05 7 1500 0123abcd"],
        ["no interface", "antrea4 a1b2"],
        ["an empty word", "antrea4 a1b2 "],
        ["more than that", "antrea4 a1b2 eth1 vf0 1500"],
    ])("is not %s", (_, text) => {
        expect(fromFunctionAlias(text)).toBeUndefined();
    });
});
