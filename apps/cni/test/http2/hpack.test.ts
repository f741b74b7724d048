import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { Http2Error } from "../../src/http2/error.ts";
import { HeaderWriter } from "../../src/http2/header-writer.ts";
import { HpackDecoder } from "../../src/http2/hpack.ts";
import { hex } from "../support/hex.ts";

function refusal(...blocks: string[]): string {
    const decoder = new HpackDecoder();
    try {
        for (const block of blocks) decoder.decode(hex(block));
    } catch (error) {
        if (error instanceof Http2Error && error.fault === "remote") return `${error.code} ${error.message}`;
        throw error;
    }
    return "accepted";
}

describe("HpackDecoder on the examples of RFC 7541", () => {
    it("C.3: requests without Huffman coding, dynamic table", () => {
        const decoder = new HpackDecoder();
        const common = [
            [":method", "GET"],
            [":scheme", "http"],
            [":path", "/"],
            [":authority", "www.example.com"],
        ];
        expect(decoder.decode(hex("828684410f7777772e6578616d706c652e636f6d"))).toEqual(common);
        expect(decoder.decode(hex("828684be58086e6f2d6361636865"))).toEqual([...common, ["cache-control", "no-cache"]]);
    });

    it("C.4: the same with Huffman coding", () => {
        const decoder = new HpackDecoder();
        const request = (scheme: string, path: string): string[][] => [
            [":method", "GET"],
            [":scheme", scheme],
            [":path", path],
            [":authority", "www.example.com"],
        ];
        expect(decoder.decode(hex("828684418cf1e3c2e5f23a6ba0ab90f4ff"))).toEqual(request("http", "/"));
        expect(decoder.decode(hex("828684be5886a8eb10649cbf"))).toEqual([
            ...request("http", "/"),
            ["cache-control", "no-cache"],
        ]);
        expect(decoder.decode(hex("828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf"))).toEqual([
            ...request("https", "/index.html"),
            ["custom-key", "custom-value"],
        ]);
    });

    it("C.6: responses with Huffman coding and a table of 256 octets that evicts", () => {
        const decoder = new HpackDecoder();
        const date = (second: number): string[] => ["date", `Mon, 21 Oct 2013 20:13:${second} GMT`];
        const location = ["location", "https://www.example.com"];
        const cacheControl = ["cache-control", "private"];
        const first = hex(
            "3fe101 488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82" +
                "ae43d3",
        );
        expect(decoder.decode(first)).toEqual([[":status", "302"], cacheControl, date(21), location]);
        expect(decoder.decode(hex("4883640effc1c0bf"))).toEqual([[":status", "307"], cacheControl, date(21), location]);
        const third = hex(
            "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af2708" +
                "7f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
        );
        expect(decoder.decode(third)).toEqual([
            [":status", "200"],
            cacheControl,
            date(22),
            location,
            ["content-encoding", "gzip"],
            ["set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"],
        ]);
    });
});

describe("HpackDecoder", () => {
    it.each([
        ["a block that ends inside a header", ["0003"], "COMPRESSION_ERROR HPACK: a string is longer"],
        ["a header without value", ["000161"], "ends inside a header"],
        ["index 0", ["80"], "there is no entry 0"],
        ["an index beyond both tables", ["be"], "there is no entry 62"],
        ["an entry that was evicted", ["4001610162", "20be"], "there is no entry 62"],
        ["a table size above 4096", ["3fe21f"], "table size 4097 is above 4096"],
        ["a table size update behind a header", ["8820"], "table size update stands behind a header"],
        ["a number without end", ["7f8080808080"], "a number is above"],
        ["a number too large", ["7fffffff7f"], "a number is above"],
        ["padding of more than seven bits", ["000161 82 1fff"], "wrong padding"],
        ["padding that is not ones", ["000161 81 18"], "wrong padding"],
        ["the end-of-string symbol", ["000161 84 ffffffff"], "end-of-string symbol"],
        ["an index of more than 24 bits", ["ff81ffff07"], "a number is above 16777215"],
    ])("refuses %s", (_name, blocks, expected) => {
        expect(refusal(...blocks)).toContain(expected);
        expect(refusal(...blocks)).toMatch(/^COMPRESSION_ERROR HPACK: /);
    });

    it("reads numbers of up to 24 bits", () => {
        expect(refusal("ff80ffff07")).toBe("COMPRESSION_ERROR HPACK: there is no entry 16777215");
    });

    it.each<[number, string, string]>([
        [1, ":authority", ""],
        [2, ":method", "GET"],
        [5, ":path", "/index.html"],
        [7, ":scheme", "https"],
        [8, ":status", "200"],
        [14, ":status", "500"],
        [15, "accept-charset", ""],
        [16, "accept-encoding", "gzip, deflate"],
        [31, "content-type", ""],
        [32, "cookie", ""],
        [58, "user-agent", ""],
        [61, "www-authenticate", ""],
    ])("entry %i of the static table is %s (RFC 7541 Appendix A)", (index, name, value) => {
        expect(new HpackDecoder().decode(Uint8Array.of(0x80 | index))).toEqual([[name, value]]);
    });

    it("reads literals that are not to be indexed, now or ever, without indexing them", () => {
        const decoder = new HpackDecoder();
        // RFC 7541 sections C.2.2 and C.2.3.
        expect(decoder.decode(hex("040c2f73616d706c652f70617468"))).toEqual([[":path", "/sample/path"]]);
        expect(decoder.decode(hex("100870617373776f726406736563726574"))).toEqual([["password", "secret"]]);
        expect(() => decoder.decode(hex("be"))).toThrow(/there is no entry 62/);
    });

    it("refuses a small block that names a long value many times", () => {
        const writer = new HeaderWriter();
        writer.literal("a", "b".repeat(3000));
        const literal = writer.finish();
        literal[0] = 0x40;
        expect(refusal(Buffer.from(literal).toString("hex"), "be".repeat(30))).toContain("TOO_LARGE");
    });

    it("takes a header list of 65536 octets, 32 of each header with its name and value", () => {
        const list = (length: number): string => {
            const writer = new HeaderWriter();
            writer.indexed(2);
            writer.literal("a", "b".repeat(length));
            return Buffer.from(writer.finish()).toString("hex");
        };
        const rest = 65536 - (":method".length + "GET".length + 32) - ("a".length + 32);
        expect(refusal(list(rest))).toBe("accepted");
        expect(refusal(list(rest + 1))).toBe("TOO_LARGE HPACK: a header list is larger than 65536 octets");
    });

    it("never fails but with its typed error, whatever the bytes", () => {
        fc.assert(
            fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }), (blocks) => {
                refusal(...blocks.map((block) => Buffer.from(block).toString("hex")));
            }),
        );
    });
});

describe("the dynamic table (RFC 7541 section 4)", () => {
    /** A literal with incremental indexing: "a" with a value of this length, an entry of 33 octets more. */
    const entry = (length: number): string => {
        const writer = new HeaderWriter();
        writer.literal("a", "b".repeat(length));
        return `40${Buffer.from(writer.finish()).toString("hex").slice(2)}`;
    };

    it("has 4096 octets at first, and keeps entries that fill them", () => {
        expect(refusal(entry(2048 - 33), entry(2048 - 33), "bf")).toBe("accepted");
        expect(refusal(entry(2048 - 33), entry(2048 - 32), "be")).toBe("accepted");
        expect(refusal(entry(2048 - 33), entry(2048 - 32), "bf")).toContain("there is no entry 63");
    });

    it("keeps what fills a new size, to its last octet", () => {
        // Updates to 4096, 67, 66 and 65 octets; both entries have 33.
        expect(refusal("3fe11f", entry(0), entry(0), "3f24", "bf")).toBe("accepted");
        expect(refusal(entry(0), entry(0), "3f23", "bf")).toBe("accepted");
        expect(refusal(entry(0), entry(0), "3f22", "bf")).toContain("there is no entry 63");
        expect(refusal(entry(0), entry(0), "3f22", "be")).toBe("accepted");
    });

    it("gives the newest entry the lowest index", () => {
        const decoder = new HpackDecoder();
        decoder.decode(hex(`${entry(1)}${entry(2)}`));
        expect(decoder.decode(hex("bebf"))).toEqual([
            ["a", "bb"],
            ["a", "b"],
        ]);
    });

    it("is empty after an entry that is larger than it, which is no error", () => {
        expect(refusal(entry(1), entry(4096))).toBe("accepted");
        expect(refusal(entry(1), entry(4096), "be")).toContain("there is no entry 62");
        expect(refusal(entry(1), entry(4096), entry(1), "be")).toBe("accepted");
    });
});

describe("HeaderWriter", () => {
    it("writes what the decoder reads, for lengths around the borders of the number format", () => {
        for (const length of [0, 1, 14, 15, 16, 126, 127, 128, 254, 255, 3000]) {
            const writer = new HeaderWriter();
            writer.indexed(3);
            writer.literal(58, "v".repeat(length));
            writer.literal("n".repeat(length), "v");
            expect(new HpackDecoder().decode(writer.finish())).toEqual([
                [":method", "POST"],
                ["user-agent", "v".repeat(length)],
                ["n".repeat(length), "v"],
            ]);
        }
    });
});
