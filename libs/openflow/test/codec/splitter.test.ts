import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { FrameSplitter } from "../../src/codec/index.ts";
import { bytes, hex, messages } from "../fixtures.ts";

const frames = messages.map(({ hex }) => hex);
const stream = bytes(frames.join(""));

function split(chunks: Iterable<Uint8Array>): string[] {
    const splitter = new FrameSplitter();
    const out: string[] = [];
    for (const chunk of chunks) for (const frame of splitter.push(chunk)) out.push(hex(frame));
    return out;
}

describe("FrameSplitter", () => {
    it("gives the same messages when the stream is cut at any one byte", () => {
        const short = bytes(frames.slice(0, 12).join(""));
        for (let at = 0; at <= short.length; at += 1) {
            expect(split([short.subarray(0, at), short.subarray(at)])).toEqual(frames.slice(0, 12));
        }
    });

    it("gives the same messages byte by byte", () => {
        expect(split(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(frames);
    });

    it("gives the same messages in chunks of any size", () => {
        fc.assert(
            fc.property(fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1 }), (sizes) => {
                const chunks: Uint8Array[] = [];
                for (let at = 0, turn = 0; at < stream.length; turn += 1) {
                    const size = sizes[turn % sizes.length] ?? 1;
                    chunks.push(stream.subarray(at, at + size));
                    at += size;
                }
                expect(split(chunks)).toEqual(frames);
            }),
            { numRuns: 50 },
        );
    });

    it("holds no more than one message, which it gives with its last byte", () => {
        const splitter = new FrameSplitter();
        const largest = new Uint8Array(65535);
        largest.set([6, 2, 0xff, 0xff]);
        for (let times = 0; times < 3; times += 1) {
            expect([...splitter.push(largest.subarray(0, 65534))]).toEqual([]);
            const [frame, ...more] = splitter.push(largest.subarray(65534));
            expect([frame?.length, more]).toEqual([65535, []]);
        }
    });

    it("refuses a length that not even the header has", () => {
        expect(() => split([Uint8Array.of(6, 2, 0, 7, 0, 0, 0, 1)])).toThrow(/length is 7/);
        expect(() => split([Uint8Array.of(6, 2, 0), Uint8Array.of(0, 0, 0, 0, 1)])).toThrow(/length is 0/);
    });
});
