import { describe, expect, it } from "@jest/globals";
import {
    fromFunctionAlias,
    toFunctionAlias,
    type FunctionAlias,
} from "../../../src/features/virtual-functions/alias.ts";

const former = { name: "ens1f0v0", mtu: 9000, mac: "02:00:00:00:00:01", up: true, alias: "" };
const alias: FunctionAlias = { containerId: "ab".repeat(32), ifName: "eth1", former };

describe("the alias of a virtual function", () => {
    it.each<[string, FunctionAlias]>([
        ["without an alias", alias],
        ["that was down", { ...alias, former: { ...former, up: false } }],
        ["with an alias of several words", { ...alias, former: { ...former, alias: "rack 7,  port 1 " } }],
    ])("is read as it was written: %s", (_, one) => {
        const text = toFunctionAlias(one);
        expect(text.length).toBeLessThanOrEqual(255);
        expect(fromFunctionAlias(text)).toEqual(one);
    });

    it("leaves an alias out that has no room, also in bytes", () => {
        for (const long of ["x".repeat(200), "ä".repeat(90)]) {
            const text = toFunctionAlias({ ...alias, former: { ...former, alias: long } });
            expect(fromFunctionAlias(text)).toEqual(alias);
        }
    });

    it.each<[string, string | undefined]>([
        ["no alias", undefined],
        ["another alias", "uplink"],
        ["that of a veth pair", "antrea3 a1b2 eth1 1 0a:00:0a:01:00:05 7 1500 0123abcd"],
        ["no MTU", "antrea4 a1b2 eth1 vf0"],
        ["an MTU that is none", "antrea4 a1b2 eth1 vf0 big 02:00:00:00:00:01 up"],
        ["a MAC address that is none", "antrea4 a1b2 eth1 vf0 1500 02:00 up"],
        ["a state that is none", "antrea4 a1b2 eth1 vf0 1500 02:00:00:00:00:01 maybe"],
        ["an empty word", "antrea4 a1b2 eth1  1500 02:00:00:00:00:01 up"],
    ])("is not %s", (_, text) => {
        expect(fromFunctionAlias(text)).toBeUndefined();
    });
});
