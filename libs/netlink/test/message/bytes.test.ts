import { describe, expect, it } from "@jest/globals";
import { align } from "../../src/message/bytes.ts";
import { Writer } from "../../src/message/writer.ts";
import { Reader } from "../../src/message/reader.ts";
import { Attributes, listAttributes } from "../../src/message/attributes.ts";
import { fromHex } from "./captured.ts";

describe("Reader", () => {
    it("reads numbers of the machine's byte order and views of bytes", () => {
        const reader = new Reader(fromHex("01", "0200", "03000000", "fcffffff", "aabb"), "test");
        expect([reader.u8(), reader.u16(), reader.u32(), reader.i32()]).toEqual([1, 2, 3, -4]);
        expect(reader.rest()).toEqual(fromHex("aabb"));
    });

    it("names structure, offset and need when bytes are missing", () => {
        const reader = new Reader(fromHex("010203"), "link");
        reader.skip(2);
        expect(() => reader.u32()).toThrow(
            expect.objectContaining({
                code: "SHORT_MESSAGE",
                message: "netlink link: 4 bytes needed at offset 2, 1 are there",
            }),
        );
    });
});

describe("Writer", () => {
    it("pads attributes and leaves the padding out of their length", () => {
        const writer = new Writer().attributeText(3, "eth0");
        writer.nest(18, () => writer.attributeU32(1, 5));
        expect(writer.finish()).toEqual(
            fromHex("09000300", "6574683000", "000000", "0c001200", "08000100", "05000000"),
        );
    });

    it.each<[string, (writer: Writer) => void]>([
        ["256 as 8 bits", (writer) => writer.u8(256)],
        ["-1 as 8 bits", (writer) => writer.u8(-1)],
        ["65536 as 16 bits", (writer) => writer.u16(65_536)],
        ["2^32 as 32 bits", (writer) => writer.u32(2 ** 32)],
        ["a fraction", (writer) => writer.attributeU32(1, 1.5)],
        ["256 as an attribute of 8 bits", (writer) => writer.attributeU8(1, 256)],
    ])("refuses %s", (_, write) => {
        expect(() => write(new Writer())).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT", fault: "caller" }));
    });

    it("names the field and the object of a number only if it refuses it", () => {
        let texts = 0;
        const writer = new Writer({ object: () => `link ${(texts += 1)}` });
        writer.u8(1, "a").u16(2, "b").u32(3, "c").attributeU8(1, 4, "d").attributeU32(1, 5, "e");
        expect(texts).toBe(0);
        const refusal = (message: string): unknown => expect.objectContaining({ message });
        expect(() => writer.u16(-1, "group")).toThrow(refusal("group of link 1 is -1: 0 to 65535 allowed"));
        expect(() => writer.u8(256)).toThrow(refusal("a number of 8 bits of link 2 is 256: 0 to 255 allowed"));
        expect(() => new Writer().u32(1.5)).toThrow(refusal("a number of 32 bits is 1.5: 0 to 4294967295 allowed"));
    });

    it("grows, up to its limit", () => {
        const writer = new Writer({ maxBytes: 1000 }).bytes(new Uint8Array(999));
        expect(writer.u8(7).finish()).toHaveLength(1000);
        expect(() => writer.u8(7)).toThrow(expect.objectContaining({ code: "BAD_ARGUMENT" }));
    });
});

describe("attributes", () => {
    it("are listed in order, flags taken off their types, the last one without padding", () => {
        const list = listAttributes(fromHex("05000180", "41", "000000", "06000240", "4242"), "test");
        expect(list).toEqual([
            [1, fromHex("41")],
            [2, fromHex("4242")],
        ]);
    });

    it.each([
        ["a header truncated", "0800", "SHORT_MESSAGE"],
        ["a payload truncated", "0800010000", "SHORT_MESSAGE"],
        ["a length below the header's", "03000100", "BAD_MESSAGE"],
        ["bytes left over", "04000100ff", "SHORT_MESSAGE"],
    ])("refuse %s", (_, hex, code) => {
        expect(() => new Attributes(fromHex(hex), "test")).toThrow(expect.objectContaining({ code }));
    });

    it.each([
        ["a number of 2 bytes", (attributes: Attributes) => attributes.u32(1)],
        ["an IPv4 address of 2 bytes", (attributes: Attributes) => attributes.ip(1, 4)],
        ["an IPv6 address of 2 bytes", (attributes: Attributes) => attributes.ip(1, 6)],
        ["attributes in 2 bytes", (attributes: Attributes) => attributes.nested(1)?.u32(1)],
    ])("refuse %s", (_, read) => {
        const attributes = new Attributes(fromHex("06000100ffff0000"), "test");
        expect(() => read(attributes)).toThrow(
            expect.objectContaining({ code: expect.stringMatching(/^(BAD|SHORT)_MESSAGE$/) }),
        );
    });

    it("aligns to 4", () => {
        expect([0, 1, 4, 5].map(align)).toEqual([0, 4, 4, 8]);
    });
});
