import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decodeMessage, FrameSplitter, Writer } from "../../src/codec/index.ts";
import { readHeader } from "../../src/codec/wire/header.ts";
import { Reader } from "../../src/codec/wire/reader.ts";
import { bytes, hex } from "../fixtures.ts";

const reader = (text: string): Reader => new Reader(bytes(text), "thing");
const failure = (code: string, message: string, details: Readonly<Record<string, unknown>>): unknown =>
    expect.objectContaining({ code, fault: "remote", message, details });

describe("Writer", () => {
    it("writes numbers big-endian, one behind the other", () => {
        const writer = new Writer(1);
        writer.u8(1);
        writer.u16(0x0203);
        writer.u32(0x04050607);
        writer.u64(0x08090a0b0c0d0e0fn);
        writer.bytes(bytes("1011"));
        expect(writer.length).toBe(17);
        expect(hex(writer.finish())).toBe("0102030405060708090a0b0c0d0e0f1011");
    });

    it("writes the low bytes of a number, from 1 to 16", () => {
        const value = 0x0102030405060708090a0b0c0d0e0f10n;
        for (let length = 1; length <= 16; length += 1) {
            const writer = new Writer();
            writer.uint(value, length);
            expect(hex(writer.finish())).toBe(
                value
                    .toString(16)
                    .padStart(32, "0")
                    .slice(-2 * length),
            );
        }
    });

    it("pads with zeros to 8 bytes, counted from a start", () => {
        const padded = (start: number, length: number): number => {
            const writer = new Writer();
            writer.zeros(length);
            writer.pad8(start);
            return writer.length;
        };
        expect([0, 1, 7, 8, 9].map((length) => padded(0, length))).toEqual([0, 8, 8, 8, 16]);
        expect([3, 4, 11, 12].map((length) => padded(3, length))).toEqual([3, 11, 11, 19]);
    });

    it("writes again over what it took back, and zeros are zeros there", () => {
        const writer = new Writer(2);
        writer.u32(0xffffffff);
        writer.u32(0xffffffff);
        writer.truncate(2);
        writer.zeros(3);
        writer.patchU16(2, 0x0102);
        writer.zeros(1);
        expect(hex(writer.finish())).toBe("ffff01020000");
    });

    it("keeps what was written when it grows, whatever its first size", () => {
        fc.assert(
            fc.property(fc.nat(20), fc.array(fc.uint8Array({ maxLength: 9 })), (capacity, parts) => {
                const writer = new Writer(capacity);
                for (const part of parts) writer.bytes(part);
                expect(hex(writer.finish())).toBe(parts.map(hex).join(""));
            }),
        );
    });
});

describe("Reader", () => {
    it("reads numbers big-endian and knows what is left", () => {
        const all = reader("0102030405060708090a0b0c0d0e0f1011");
        expect([all.u8(), all.u16(), all.u32(), all.u64()]).toEqual([1, 0x0203, 0x04050607, 0x08090a0b0c0d0e0fn]);
        expect([all.what, all.offset, all.remaining]).toEqual(["thing", 15, 2]);
        expect(hex(all.restCopy())).toBe("1011");
        expect(all.remaining).toBe(0);
        expect(() => all.end()).not.toThrow();
    });

    it("reads numbers of 0 to 16 bytes", () => {
        const text = "0102030405060708090a0b0c0d0e0f10";
        expect(reader(text).uint(0)).toBe(0n);
        for (let length = 1; length <= 16; length += 1) {
            expect(reader(text).uint(length)).toBe(BigInt(`0x${text.slice(0, 2 * length)}`));
        }
    });

    it("gives views of the bytes, or copies of them", () => {
        const under = bytes("00010203");
        const part = new Reader(under.subarray(1), "thing");
        const copy = new Reader(under, "thing").restCopy();
        const view = part.bytes(2);
        under.fill(9);
        expect(hex(view)).toBe("0909");
        expect(hex(copy)).toBe("00010203");
    });

    it("has readers of parts, beside which it goes on", () => {
        const all = reader("0102030405");
        const part = all.sub(2, "part");
        all.skip(1);
        expect([part.u8(), part.u8(), all.u8(), part.what]).toEqual([1, 2, 4, "part"]);
        expect(() => part.u8()).toThrow(/part: 1 bytes needed at offset 2, 0 left/);
    });

    it("reports in errors what it was reading, and where", () => {
        const short = reader("010203");
        short.u8();
        expect(() => short.u32()).toThrow(
            failure("SHORT", "thing: 4 bytes needed at offset 1, 2 left", { what: "thing", offset: 1 }),
        );
        // Nothing was taken.
        expect(short.u16()).toBe(0x0203);
        const long = reader("010203");
        long.u16();
        expect(() => long.end()).toThrow(
            failure("LONG", "thing: 1 bytes are left over after its end", { what: "thing", offset: 2 }),
        );
        expect(() => reader("").fail("wrong")).toThrow(failure("MALFORMED", "thing: wrong", { what: "thing" }));
    });
});

describe("headers", () => {
    const header = (version: number, length: number) => ({ version, type: 20, length, xid: 0x01020304 });

    it("are those of OpenFlow 1.5, but a hello's", () => {
        const { header: found, body } = readHeader(bytes("0614000901020304aa"));
        expect(found).toEqual(header(6, 9));
        expect(hex(body.rest())).toBe("aa");
        expect(() => readHeader(bytes("0514000801020304"))).toThrow(
            failure("VERSION", "message of OpenFlow wire version 5, need 6", header(5, 8)),
        );
        expect(decodeMessage(bytes("0400000801020304"))).toMatchObject({ type: "hello", versions: [1, 2, 3, 4] });
    });

    it("have the length of their frame", () => {
        expect(() => readHeader(bytes("0614000901020304"))).toThrow(
            failure("SHORT", "message: its length is 9, 8 bytes were received", header(6, 9)),
        );
        expect(() => readHeader(bytes("0614000801020304aa"))).toThrow(
            failure("LONG", "message: its length is 8, 9 bytes were received", header(6, 8)),
        );
        expect(() => [...new FrameSplitter().push(bytes("0614000701020304"))]).toThrow(
            failure("MALFORMED", "message: its length is 7, a header alone has 8 bytes", { length: 7 }),
        );
    });
});
