import { describe, expect, it } from "@jest/globals";
import { encodeFrame, FrameReader, unpadded, type Frame } from "../../src/http2/frame.ts";
import { hex } from "../support/hex.ts";

describe("frames", () => {
    it("have the form of RFC 9113 section 4.1: length, type, flags, stream, payload", () => {
        expect(encodeFrame(0x9, 0x4, 0x01020304, hex("aabb"))).toEqual(hex("000002 09 04 01020304 aabb"));
        const large = encodeFrame(0, 1, 1, new Uint8Array(0x010203));
        expect(large.subarray(0, 9)).toEqual(hex("010203 00 01 00000001"));
        expect(large.length).toBe(9 + 0x010203);
    });

    it("are read without the reserved bit of the stream", () => {
        const reader = new FrameReader();
        reader.push(hex("000001 08 ff ffffffff 07"));
        expect(reader.next()).toEqual({ type: 8, flags: 0xff, streamId: 0x7fff_ffff, payload: hex("07") });
        expect(reader.next()).toBeUndefined();
    });

    it("have up to 16384 octets, and are not copied when they come whole", () => {
        const reader = new FrameReader();
        const chunk = encodeFrame(0, 0, 1, new Uint8Array(16384));
        reader.push(chunk);
        expect(reader.next()?.payload.buffer).toBe(chunk.buffer);
        expect(reader.next()).toBeUndefined();
        reader.push(hex("004001 00 00 00000001"));
        expect(() => reader.next()).toThrow(expect.objectContaining({ code: "FRAME_SIZE_ERROR", fault: "remote" }));
    });
});

describe("padding (RFC 9113 sections 6.1 and 6.2)", () => {
    const frame = (type: number, flags: number, payload: string): Frame => ({
        type,
        flags,
        streamId: 1,
        payload: hex(payload),
    });

    it.each<[string, Frame, string]>([
        ["none", frame(0, 0, "0102"), "0102"],
        ["of no octets", frame(0, 0x8, "00 0102"), "0102"],
        ["of one", frame(0, 0x8, "01 0102 00"), "0102"],
        ["that is all there is", frame(0, 0x8, "02 0000"), ""],
        ["and a priority", frame(1, 0x28, "01 0000000010 0102 00"), "0102"],
        ["no padding, a priority", frame(1, 0x20, "0000000010 0102"), "0102"],
        ["a priority that is all there is", frame(1, 0x20, "0000000010"), ""],
        ["DATA has no priority", frame(0, 0x20, "0000000010"), "0000000010"],
    ])("%s", (_name, padded, rest) => {
        expect(unpadded(padded)).toEqual(hex(rest));
    });

    it.each<[string, Frame]>([
        ["one octet longer than the frame", frame(0, 0x8, "03 0000")],
        ["in the place of the priority", frame(1, 0x28, "01 0000000010")],
        ["of which not even the length is there", frame(0, 0x8, "")],
        ["none, and a priority cut short", frame(1, 0x20, "00000000")],
    ])("%s: refused", (_name, padded) => {
        expect(() => unpadded(padded)).toThrow(expect.objectContaining({ code: "PROTOCOL_ERROR", fault: "remote" }));
    });
});
