import { describe, expect, it } from "@jest/globals";
import { formatPrefix, parsePrefix } from "@antrea/ip";
import { maxIndexBits } from "@antrea/settings/rules";
import { SubnetPool } from "../../../src/features/node-ipam/subnet-pool.ts";

function take(pool: SubnetPool): string | undefined {
    const subnet = pool.findFree();
    if (subnet === undefined) return undefined;
    pool.hold(subnet);
    return formatPrefix(subnet);
}

describe("SubnetPool", () => {
    it.each([
        ["IPv4", "10.0.0.0/22", 24, ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24"]],
        ["IPv6", "fd00:0:0:fffe::/63", 64, ["fd00:0:0:fffe::/64", "fd00:0:0:ffff::/64"]],
        ["one subnet", "10.0.0.0/24", 24, ["10.0.0.0/24"]],
    ])("gives each subnet once: %s", (_name, prefix, length, subnets) => {
        const pool = new SubnetPool(parsePrefix(prefix), length);
        expect(subnets.map(() => take(pool))).toEqual(subnets);
        expect(take(pool)).toBeUndefined();
        expect(pool.free).toBe(0);
    });

    it("goes on after the last one and comes back to what was released last", () => {
        const pool = new SubnetPool(parsePrefix("10.0.0.0/22"), 24);
        take(pool);
        take(pool);
        pool.release(parsePrefix("10.0.0.0/24"));
        expect([take(pool), take(pool), take(pool)]).toEqual(["10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24"]);
    });

    it.each([
        ["a subnet of it", "10.0.1.0/24", 1],
        ["two subnets", "10.0.0.0/23", 2],
        ["part of a subnet", "10.0.1.128/25", 1],
        ["all of it and more", "10.0.0.0/8", 4],
        ["something else", "10.1.0.0/24", 0],
        ["the other family", "fd00::/64", 0],
    ])("holds and releases %s", (_name, prefix, touched) => {
        const pool = new SubnetPool(parsePrefix("10.0.0.0/22"), 24);
        pool.hold(parsePrefix(prefix));
        pool.hold(parsePrefix(prefix));
        expect(pool.free).toBe(4 - touched);
        expect(pool.holders(parsePrefix(prefix))).toBe(touched === 0 ? 0 : 2);
        pool.release(parsePrefix(prefix));
        expect(pool.free).toBe(4 - touched);
        pool.release(parsePrefix(prefix));
        pool.release(parsePrefix(prefix));
        expect(pool.free).toBe(4);
    });

    it("takes up a search where another left it", () => {
        const pool = new SubnetPool(parsePrefix("10.0.0.0/22"), 24);
        pool.next = parsePrefix("10.0.2.0/24");
        pool.next = parsePrefix("192.168.0.0/24");
        expect(formatPrefix(pool.next)).toBe("10.0.2.0/24");
        expect(take(pool)).toBe("10.0.2.0/24");
    });

    it.each([
        ["IPv4", "10.0.0.0/8"],
        ["IPv6", "fd00::/48"],
    ])("has room for as many subnets as the settings allow: %s", (_name, text) => {
        const prefix = parsePrefix(text);
        const length = prefix.length + maxIndexBits[prefix.family];
        expect(new SubnetPool(prefix, length).free).toBe(2 ** maxIndexBits[prefix.family]);
    });

    it("65,536 subnets are used to the last one", () => {
        const pool = new SubnetPool(parsePrefix("fd00:10:20::/48"), 64);
        const given = new Set<string | undefined>();
        for (let index = 0; index < 65_536; index += 1) given.add(take(pool));
        expect(given.size).toBe(65_536);
        expect(pool.free).toBe(0);
    });

    it.each([
        ["subnets longer than the prefix", "10.0.0.0/24", 16, "MASK_SIZE"],
        ["subnets longer than an address", "10.0.0.0/24", 33, "MASK_SIZE"],
        ["too many subnets", "fd00::/32", 64, "TOO_MANY_SUBNETS"],
    ])("refuses %s", (_name, prefix, length, code) => {
        expect(() => new SubnetPool(parsePrefix(prefix), length)).toThrow(expect.objectContaining({ code }));
    });
});
