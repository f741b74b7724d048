import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { readPool, type Pool } from "@antrea/ipam";
import { differenceOf } from "../../../src/features/ip-pools/pool-changes.ts";
import { type SetUp } from "../../../src/features/ip-pools/types.ts";

function pool(...ranges: readonly object[]): Pool {
    const ipRanges = ranges.map((range) => ({ gateway: "10.2.0.1", prefixLength: 24, ...range }));
    return readPool({ metadata: { name: "pool1" }, spec: { ipVersion: 4, ipRanges } } as never);
}

const first = { start: "10.2.0.9", end: "10.2.0.20", vlan: 3 };
const second = { start: "10.3.0.9", end: "10.3.0.20", gateway: "10.3.0.1" };
const setUp: SetUp = { ip: parseIp("10.2.0.12"), prefixLength: 24, gateway: parseIp("10.2.0.1"), vlan: 3 };

describe("what a pool defines otherwise for an address", () => {
    it.each<[string, Partial<SetUp>, Pool, string | undefined]>([
        ["nothing", {}, pool(first), undefined],
        ["nothing of the VLAN, when that is not compared", { vlan: undefined }, pool(first), undefined],
        ["the gateway", {}, pool({ ...first, gateway: "10.2.0.2" }), "IPPool pool1 now specifies gateway 10.2.0.2"],
        ["the prefix length", { prefixLength: 25 }, pool(first), "IPPool pool1 now specifies prefix length 24"],
        ["the VLAN", { vlan: 0 }, pool(first), "IPPool pool1 now specifies VLAN 3"],
        [
            "all",
            { prefixLength: 16, gateway: parseIp("10.2.0.2"), vlan: 4 },
            pool(first),
            "IPPool pool1 now specifies gateway 10.2.0.1 and prefix length 24 and VLAN 3",
        ],
        [
            "that it is of no range",
            { ip: parseIp("10.2.0.30") },
            pool(first),
            "IPPool pool1 no longer contains the address",
        ],
        [
            "that it is a gateway, of whichever range",
            {},
            pool(first, { ...second, gateway: "10.2.0.12", prefixLength: 8 }),
            "IPPool pool1 has the address as a gateway now",
        ],
    ])("%s", (_what, change, now, expected) => {
        expect(differenceOf({ ...setUp, ...change }, now)).toBe(expected);
    });
});
