import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { readPool } from "@antrea/ipam";
import { demandsOf, poolNamesOf } from "../../../src/features/ip-pools/demands.ts";
import { type KnownPool } from "../../../src/features/ip-pools/pool-cache.ts";
import { requestOf } from "./support/test-agent.ts";

function pool(name: string, cidr: string, gateway: string): KnownPool {
    const prefixLength = Number(cidr.split("/")[1]);
    const ipVersion = cidr.includes(":") ? 6 : 4;
    const spec = { ipVersion, ipRanges: [{ cidr, gateway, prefixLength }] } as const;
    const read = readPool({ metadata: { name }, spec });
    const version = { uid: `uid-${name}`, generation: 1 };
    return { pool: read, usable: read.addresses, status: undefined, version, isDeleting: false };
}

const four = pool("four", "10.2.0.0/24", "10.2.0.1");
const next = pool("next", "10.3.0.0/24", "10.3.0.1");
const six = pool("six", "fd02::/64", "fd02::1");
const ofNetwork = { ...requestOf("web"), ifName: "net1", network: "default/macvlan" };

describe("the demands of a Pod's own interface", () => {
    it("are one of each family, of all its pools in their order", () => {
        const request = { ...requestOf("web"), pools: ["four", "six", "next"], fixed: [parseIp("fd02::9")] };
        expect(poolNamesOf(request)).toEqual(["four", "six", "next"]);
        expect(demandsOf(request, [four, six, next])).toEqual([
            { pools: [four, next], fixed: undefined },
            { pools: [six], fixed: parseIp("fd02::9") },
        ]);
    });

    it("have no fixed address of a family without a pool", () => {
        const request = { ...requestOf("web"), pools: ["four"], fixed: [parseIp("fd02::9")] };
        expect(() => demandsOf(request, [four])).toThrow(
            "the fixed address fd02::9 is of IPv6 and none of the IPPools four is",
        );
    });
});

describe("the demands of an interface of a network", () => {
    it("are one of each pool, also of pools of one family", () => {
        const demands = ["six", "four", "next"].map((name) => ({ pool: name, fixed: undefined }));
        const request = { ...ofNetwork, demands };
        expect(poolNamesOf(request)).toEqual(["six", "four", "next"]);
        expect(demandsOf(request, [six, four, next]).map(({ pools }) => pools)).toEqual([[six], [four], [next]]);
    });

    it("may be several of one pool, which is asked for once", () => {
        const demands = ["10.2.0.9", "10.2.0.8"].map((ip) => ({ pool: "four", fixed: parseIp(ip) }));
        const request = { ...ofNetwork, demands };
        expect(poolNamesOf(request)).toEqual(["four"]);
        expect(demandsOf(request, [four])).toEqual(demands.map(({ fixed }) => ({ pools: [four], fixed })));
    });
});
