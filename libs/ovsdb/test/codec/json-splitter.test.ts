import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { JsonSplitter } from "../../src/codec/index.ts";
import { bytesOf, exchangeNames } from "../fixtures/captured.ts";

const encoder = new TextEncoder();

function split(chunks: readonly Uint8Array[], maxMessageBytes = 1 << 20): unknown[] {
    const splitter = new JsonSplitter(maxMessageBytes);
    return chunks.flatMap((chunk) => [...splitter.push(chunk)]);
}

describe("JsonSplitter", () => {
    it.each(exchangeNames)("gives the same objects of «%s» wherever the bytes are cut", (name) => {
        for (const side of ["client", "server"] as const) {
            const bytes = bytesOf(name, side);
            const whole = split([bytes]);
            // An oracle that does not count braces: JSON.parse of the objects joined to an array.
            const text = Buffer.from(bytes).toString();
            expect(whole).toEqual(JSON.parse(`[${text.replaceAll(/\}\{(?="id":)/g, "},{")}]`));
            for (let cut = 0; cut <= bytes.length; cut++) {
                // The schema's 15 kB would be split twice per byte without covering more cases.
                if (bytes.length > 4000 && cut % 97 !== 0) continue;
                expect(split([bytes.subarray(0, cut), bytes.subarray(cut)])).toEqual(whole);
            }
            expect(split(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(whole);
        }
    });

    it("gives back any objects in any chunks", () => {
        const objects = fc.array(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), { maxLength: 5 });
        fc.assert(
            fc.property(
                objects,
                fc.integer({ min: 1, max: 40 }),
                fc.constantFrom("", " \r\n\t"),
                (values, size, gap) => {
                    const bytes = encoder.encode(values.map((value) => JSON.stringify(value) + gap).join(""));
                    const chunks: Uint8Array[] = [];
                    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
                    const plain = JSON.parse(JSON.stringify(values)) as unknown;
                    expect(split(chunks)).toEqual(plain);
                },
            ),
        );
    });

    it("does not keep the caller's buffer", () => {
        const splitter = new JsonSplitter(100);
        const chunk = encoder.encode('{"a":');
        expect([...splitter.push(chunk)]).toEqual([]);
        chunk.fill(0x20);
        expect([...splitter.push(encoder.encode("1}"))]).toEqual([{ a: 1 }]);
    });

    it("keeps nothing of an object that is complete: the next one may be as long", () => {
        const splitter = new JsonSplitter(7);
        for (let times = 0; times < 3; times += 1) {
            expect([...splitter.push(encoder.encode('{"a":'))]).toEqual([]);
            expect([...splitter.push(encoder.encode("1}"))]).toEqual([{ a: 1 }]);
        }
    });

    it.each([
        ["a byte that begins no object", ["x"], "BAD_JSON"],
        ["an array at the top", ["[1]"], "BAD_JSON"],
        ["a string at the top", ['"a"'], "BAD_JSON"],
        ["an end without a beginning", ["{}}"], "BAD_JSON"],
        ["brackets that do not fit", ['{"a":[}]'], "BAD_JSON"],
        ["a raw control character in a string", ['{"a":"\n"}'], "BAD_JSON"],
        ["a member without value", ['{"a"', "}"], "BAD_JSON"],
        ["bytes that are not UTF-8", [Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d)], "BAD_JSON"],
        ["a byte order mark", ["\ufeff{}"], "BAD_JSON"],
        ["a message over the limit in one chunk", [`{"a":"${"x".repeat(60)}"}`], "MESSAGE_TOO_LONG"],
        ["a message over the limit in parts", ['{"a":"', "x".repeat(30), "x".repeat(30)], "MESSAGE_TOO_LONG"],
    ])("refuses %s", (_name, chunks, code) => {
        const bytes = chunks.map((chunk) => (typeof chunk === "string" ? encoder.encode(chunk) : chunk));
        expect(() => split(bytes, 60)).toThrow(expect.objectContaining({ code, fault: "remote" }));
    });

    it("reports how long a message may be, and how long one is that it cannot read", () => {
        expect(() => split([encoder.encode(`{"a":"${"x".repeat(60)}"}`)], 60)).toThrow(
            expect.objectContaining({
                message: "a message is longer than the limit of 60 bytes",
                details: { maxBytes: 60 },
            }),
        );
        expect(() => split([encoder.encode("x")])).toThrow("byte 0x78 stands where a JSON object must begin");
        expect(() => split([encoder.encode('{"a"}')])).toThrow("a message of 5 bytes is not JSON");
        const latin1 = Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d);
        expect(() => split([latin1])).toThrow("a message of 7 bytes is not UTF-8");
    });

    it("refuses a message of more than 100 levels, however deep it goes", () => {
        const nested = (levels: number): Uint8Array =>
            encoder.encode(`{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`);
        expect(split([nested(100)], 1 << 20)).toHaveLength(1);
        for (const levels of [101, 100_000]) {
            expect(() => split([nested(levels)], 1 << 20)).toThrow(expect.objectContaining({ code: "BAD_JSON" }));
        }
    });

    it("takes many small messages in one chunk that is longer than the limit of one", () => {
        expect(split([encoder.encode('{"a":1}'.repeat(50))], 10)).toHaveLength(50);
    });
});
