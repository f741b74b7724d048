import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { decodeMessage, OpenFlowError, writeFlowMod, Writer, type Message } from "../../src/codec/index.ts";
import { writeGroupMod } from "../../src/codec/message/group-mod.ts";
import { writeMeterMod } from "../../src/codec/message/meter-mod.ts";
import { bytes, flowMods, groupMessages, groupMods, hex, messages } from "../fixtures.ts";

const frames = [...flowMods, ...messages, ...groupMods, ...groupMessages]
    .map(({ hex }) => bytes(hex))
    .filter((frame) => frame.length < 4096);

/** Decodes, or returns the OpenFlowError; any other error fails the test. */
function attempt(frame: Uint8Array): Message | OpenFlowError {
    try {
        return decodeMessage(frame);
    } catch (error) {
        if (error instanceof OpenFlowError && error.fault === "remote") return error;
        throw error;
    }
}

/** Decodes and encodes again; undefined when either rejects it. */
function rewritten(frame: Uint8Array): Uint8Array | undefined {
    const message = attempt(frame);
    if (message instanceof OpenFlowError) return undefined;
    const writer = new Writer();
    try {
        if (message.type === "flow_mod") writeFlowMod(writer, 1, message.mod);
        else if (message.type === "group_mod") writeGroupMod(writer, 1, message.mod);
        else if (message.type === "meter_mod") writeMeterMod(writer, 1, message.mod);
        else return undefined;
    } catch (error) {
        // A switch may send it, but this codec would not.
        if (error instanceof OpenFlowError) return undefined;
        throw error;
    }
    return writer.finish();
}

function withLength(frame: Uint8Array, length: number): Uint8Array {
    const cut = frame.slice(0, length);
    if (cut.length >= 4) new DataView(cut.buffer).setUint16(2, cut.length);
    return cut;
}

describe("decoders on bad bytes", () => {
    it("refuse every message cut short at every length, whatever its header has", () => {
        for (const frame of frames) {
            for (let length = 0; length < frame.length; length += 1) {
                expect(attempt(frame.slice(0, length))).toBeInstanceOf(OpenFlowError);
                attempt(withLength(frame, length));
            }
        }
    });

    it("refuse bytes after the end of a fixed message", () => {
        const frame = new Uint8Array(16);
        frame.set([6, 21, 0, 16]);
        expect(attempt(frame)).toMatchObject({ code: "LONG" });
        expect(attempt(frame.slice(0, 12))).toMatchObject({ code: "SHORT" });
    });

    it("throw nothing but typed errors on changed bytes", () => {
        const change = fc.record({ at: fc.nat(), to: fc.nat(255) });
        fc.assert(
            fc.property(
                fc.constantFrom(...frames),
                fc.array(change, { minLength: 1, maxLength: 6 }),
                (frame, changes) => {
                    const copy = frame.slice();
                    // Version and length of the header stay unchanged, so that the body is decoded.
                    for (const { at, to } of changes) copy[4 + (at % (copy.length - 4))] = to;
                    attempt(copy);
                },
            ),
            { numRuns: 5000 },
        );
    });

    it("throw nothing but typed errors on random bytes of every type", () => {
        fc.assert(
            fc.property(fc.nat(35), fc.uint8Array({ maxLength: 200 }), (type, body) => {
                const frame = new Uint8Array(8 + body.length);
                frame.set([6, type, 0, frame.length]);
                frame.set(body, 8);
                attempt(frame);
            }),
            { numRuns: 5000 },
        );
    });

    it("what decodes from changed bytes has one form on the wire", () => {
        const meters = groupMessages.filter(({ hex }) => hex.startsWith("061d"));
        const mods = [...flowMods, ...groupMods, ...meters].map(({ hex }) => bytes(hex));
        fc.assert(
            fc.property(fc.constantFrom(...mods), fc.nat(), fc.nat(255), (frame, at, to) => {
                const copy = frame.slice();
                copy[8 + (at % (copy.length - 8))] = to;
                const once = rewritten(copy);
                if (once !== undefined) expect(hex(rewritten(once) ?? new Uint8Array(0))).toBe(hex(once));
            }),
            { numRuns: 3000 },
        );
    });

    it.each<[string, string, string]>([
        ["another version", "0514000800000001", "VERSION"],
        ["a length above the frame", "0614000900000001", "SHORT"],
        [
            "a match of another type",
            "060b0030" + "00".repeat(4) + "00".repeat(16) + "0002000400000000" + "00".repeat(16),
            "MALFORMED",
        ],
        ["a bundle in a bundle", "0622001800000001" + "0000000000000003" + "0622000800000001", "MALFORMED"],
        ["an unknown role", "0619001800000001" + "00000009" + "00".repeat(12), "MALFORMED"],
    ])("refuse %s", (_, text, code) => {
        expect(attempt(bytes(text))).toMatchObject({ code });
    });
});
