import { describe, expect, it } from "@jest/globals";
import { splitLines } from "../../src/api/lines.ts";

async function* chunksOf(bytes: Uint8Array, at: number): AsyncGenerator<Uint8Array> {
    await Promise.resolve();
    yield bytes.subarray(0, at);
    yield bytes.subarray(at);
}

async function read(chunks: AsyncIterable<Uint8Array>, maxBytes = 100): Promise<string[]> {
    const lines: string[] = [];
    for await (const line of splitLines(chunks, maxBytes)) lines.push(line);
    return lines;
}

describe("splitLines", () => {
    const bytes = new TextEncoder().encode('{"a":"ü"}\n\nsecond €\nrest');

    it("gives the same lines wherever the stream is split", async () => {
        for (let at = 0; at <= bytes.length; at += 1) {
            expect(await read(chunksOf(bytes, at))).toEqual(['{"a":"ü"}', "", "second €", "rest"]);
        }
    });

    it("gives no line after the last line feed where nothing follows it", async () => {
        const ended = new TextEncoder().encode("one\n\n");
        for (let at = 0; at <= ended.length; at += 1) expect(await read(chunksOf(ended, at))).toEqual(["one", ""]);
        expect(await read(chunksOf(new Uint8Array(), 0))).toEqual([]);
    });

    it("refuses a line that is too long before its end has come", async () => {
        let taken = 0;
        async function* endless(): AsyncGenerator<Uint8Array> {
            for (;;) {
                await Promise.resolve();
                taken += 1;
                yield new Uint8Array(40).fill(65);
            }
        }
        await expect(read(endless())).rejects.toMatchObject({ code: "TOO_LARGE" });
        expect(taken).toBe(3);
    });
});
