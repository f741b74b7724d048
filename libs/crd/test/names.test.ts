import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import { formatIp, parseIp, parsePrefix, prefixContains, type IpAddress } from "@antrea/ip";
import { allocationAddress, allocationName, AllocationNameError, blockOf, blockText } from "../src/index.ts";

const mapped = 0xffffn;
const address: fc.Arbitrary<IpAddress> = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map((value): IpAddress => ({ family: 4, value })),
    fc
        .bigInt({ min: 0n, max: (1n << 128n) - 1n })
        .filter((value) => value >> 32n !== mapped)
        .map((value): IpAddress => ({ family: 6, value })),
    fc
        .array(fc.constantFrom(0n, 1n, 0xffn, 0x1ffn, 0xffffn), { minLength: 8, maxLength: 8 })
        .map((groups) => groups.reduce<bigint>((value, group) => (value << 16n) | group, 0n))
        .filter((value) => value >> 32n !== mapped)
        .map((value): IpAddress => ({ family: 6, value })),
);

describe("allocationName", () => {
    it.each([
        ["10.2.0.12", "10.2.0.12"],
        ["0.0.0.0", "0.0.0.0"],
        ["255.255.255.255", "255.255.255.255"],
        ["3ffe:ffff:1:1ff::100", "3ffe-ffff-1-1ff-0-0-0-100"],
        ["::", "0-0-0-0-0-0-0-0"],
        ["fd00::A", "fd00-0-0-0-0-0-0-a"],
        ["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff-ffff-ffff-ffff-ffff-ffff-ffff-ffff"],
    ])("of %s is %s", (ip, name) => {
        expect(allocationName(parseIp(ip))).toBe(name);
        expect(allocationAddress(name)).toEqual(parseIp(ip));
    });

    it("gives the address, is of one address only, and is a name that Kubernetes takes", () => {
        fc.assert(
            fc.property(address, address, (one, other) => {
                const name = allocationName(one);
                expect(allocationAddress(name)).toEqual(one);
                expect(allocationName(other) === name).toBe(formatIp(other) === formatIp(one));
                expect(name).toMatch(/^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/);
                expect(name.length).toBeLessThanOrEqual(63);
            }),
        );
    });
});

describe("allocationAddress", () => {
    it.each([
        ["no name", ""],
        ["a leading zero, IPv4", "10.2.0.012"],
        ["a leading zero, IPv6", "3ffe-ffff-1-01ff-0-0-0-100"],
        ["capitals", "3FFE-ffff-1-1ff-0-0-0-100"],
        ["seven groups", "3ffe-ffff-1-1ff-0-0-100"],
        ["nine groups", "3ffe-ffff-1-1ff-0-0-0-0-100"],
        ["a shortened form", "3ffe-ffff-1-1ff--100"],
        ["colons", "3ffe:ffff:1:1ff:0:0:0:100"],
        ["canonical text of IPv6", "fd00::1"],
        ["IPv4-mapped", "0-0-0-0-0-ffff-a02-c"],
        ["a group of five digits", "3ffe-ffff-1-1ff-0-0-0-10000"],
        ["a word", "pool1"],
        ["a space", "10.2.0.12 "],
        ["five parts", "10.2.0.12.1"],
        ["a line break behind", "fd00-0-0-0-0-0-0-1\n"],
    ])("refuses %s", (_name, name) => {
        expect(() => allocationAddress(name)).toThrow(AllocationNameError);
        expect(() => allocationAddress(name)).toThrow(`"${name}" is not the name of an IPAllocation`);
    });

    it("takes no text but the names that allocationName makes", () => {
        fc.assert(
            fc.property(fc.stringMatching(/^[0-9a-f.:-]{1,45}$/), (text) => {
                let ip: IpAddress | undefined;
                try {
                    ip = allocationAddress(text);
                } catch (error) {
                    expect(error).toBeInstanceOf(AllocationNameError);
                }
                if (ip !== undefined) expect(allocationName(ip)).toBe(text);
            }),
        );
    });
});

describe("blockOf", () => {
    it.each([
        ["10.2.0.12", "10.2.0.0/24"],
        ["10.2.0.255", "10.2.0.0/24"],
        ["10.2.1.0", "10.2.1.0/24"],
        ["3ffe:ffff:1:1ff::100", "3ffe:ffff:1:1ff::100/120"],
        ["3ffe:ffff:1:1ff::2ff", "3ffe:ffff:1:1ff::200/120"],
    ])("%s lies in %s", (ip, block) => {
        expect(blockText(parseIp(ip))).toBe(block);
    });

    it("holds the address and 256 addresses in all", () => {
        fc.assert(
            fc.property(address, (ip) => {
                const block = blockOf(ip);
                expect(prefixContains(block, ip)).toBe(true);
                expect(block.length).toBe(ip.family === 4 ? 24 : 120);
                expect(parsePrefix(blockText(ip))).toEqual(block);
                const other = { family: ip.family, value: ip.value ^ 0xffn };
                expect(blockOf(other)).toEqual(block);
            }),
        );
    });
});
