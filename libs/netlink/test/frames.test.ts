import { describe, expect, it } from "@jest/globals";
import { parseIp } from "@antrea/ip";
import { gratuitousArp, unsolicitedNa } from "../src/frames.ts";

const MAC = "02:00:00:00:00:09";

describe("gratuitousArp", () => {
    it("announces to all", () => {
        expect(Buffer.from(gratuitousArp(MAC, parseIp("10.1.2.3"))).toString("hex")).toBe(
            [
                "ffffffffffff020000000009" + "0806",
                "0001" + "0800" + "06" + "04" + "0001",
                "020000000009" + "0a010203",
                "000000000000" + "0a010203",
            ].join(""),
        );
    });

    it("is for IPv4", () => {
        expect(() => gratuitousArp(MAC, parseIp("fd00::3"))).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    });
});

describe("unsolicitedNa", () => {
    it("announces to all nodes, overriding, with a right checksum", () => {
        const frame = unsolicitedNa(MAC, parseIp("fd00::3"));
        const checksum = Buffer.from(frame.subarray(56, 58)).toString("hex");
        expect(Buffer.from(frame).toString("hex")).toBe(
            [
                "333300000001020000000009" + "86dd",
                "60000000" + "0020" + "3a" + "ff",
                "fd000000000000000000000000000003" + "ff020000000000000000000000000001",
                "8800" + checksum + "20000000",
                "fd000000000000000000000000000003",
                "0201" + "020000000009",
            ].join(""),
        );
        // RFC 1071: with the checksum in, the sum over pseudo-header and message is all ones.
        const view = new DataView(frame.buffer, 14);
        let sum = 32 + 58;
        for (let offset = 8; offset < view.byteLength; offset += 2) sum += view.getUint16(offset);
        while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
        expect(sum).toBe(0xffff);
    });

    it("is for IPv6", () => {
        expect(() => unsolicitedNa(MAC, parseIp("10.1.2.3"))).toThrow(
            expect.objectContaining({ code: "BAD_ARGUMENT" }),
        );
    });
});
