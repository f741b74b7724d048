import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
    CniMessageError,
    decodeCniCmdRequest,
    decodeCniCmdResponse,
    encodeCniCmdRequest,
    encodeCniCmdResponse,
} from "../../src/index.ts";

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));

function codeOf(action: () => unknown): string {
    try {
        action();
    } catch (error) {
        if (error instanceof CniMessageError) return `${error.code}: ${error.message}`;
        throw error;
    }
    return "accepted";
}

describe("decoding of what a newer or careless peer sends", () => {
    it.each([
        ["an unknown varint", "18 ff 01"],
        ["an unknown 64-bit number", "19 0102030405060708"],
        ["an unknown 32-bit number", "1d 01020304"],
        ["an unknown byte string", "1a 03 010203"],
        ["an unknown group with a field in it", "1b 08 05 1c"],
        ["nested groups", "1b 23 2d 01020304 24 1c"],
        ["the highest field number", "f8ffffff0f 00"],
    ])("skips %s", (_name, unknown) => {
        const known = "0a 02 7b7d";
        const expected = { cniResult: hex("7b7d") };
        expect(decodeCniCmdResponse(hex(unknown + known))).toEqual(expected);
        expect(decodeCniCmdResponse(hex(known + unknown))).toEqual(expected);
    });

    it("merges a message field that stands twice and takes the last of a plain one", () => {
        // cni_args{container_id "a", ifname "e"} and cni_args{container_id "b"}.
        const { cniArgs } = decodeCniCmdRequest(hex("0a 06 0a0161 1a0165  0a 03 0a0162"));
        expect(cniArgs).toMatchObject({ containerId: "b", ifname: "e" });
        // error{code 1, one detail} and error{message "m", one detail}.
        const { error } = decodeCniCmdResponse(hex("12 07 0801 1a03 0a0178  12 08 12016d 1a03 0a0179"));
        expect(error).toEqual({
            code: 1,
            message: "m",
            details: [
                { typeUrl: "x", value: new Uint8Array() },
                { typeUrl: "y", value: new Uint8Array() },
            ],
        });
    });

    it.each([
        ["negative in ten bytes", "12 0b 08 ffffffffffffffffff01", -1],
        ["above 32 bits: the low half counts", "12 07 08 85 80808080 01", 5],
        ["padded with empty septets", "12 04 08 858000", 5],
    ])("reads a code that is %s", (_name, bytes, code) => {
        expect(decodeCniCmdResponse(hex(bytes)).error?.code).toBe(code);
    });

    it.each([
        ["a tag cut short", "8a", "SHORT_INPUT"],
        ["a length without bytes", "0a 05 01", "SHORT_INPUT: CniCmdResponse: cni_result needs 5 bytes at byte 2"],
        ["a length of 2^63", "0a ffffffffffffffff7f", "SHORT_INPUT"],
        ["a number cut short", "12 01 08", "SHORT_INPUT: Error: code needs a number"],
        ["a fixed number cut short", "1d 0102", "SHORT_INPUT"],
        ["a result that is a number", "08 05", "WRONG_WIRE_TYPE: CniCmdResponse.cni_result: wire type VARINT"],
        ["a code that is text", "12 03 0a0161", "WRONG_WIRE_TYPE: Error.code: wire type LEN instead of VARINT"],
        ["wire type 6", "1e", "WRONG_WIRE_TYPE"],
        ["field number 0", "00", "BAD_FIELD_NUMBER"],
        ["a field number above 2^29", "80808080 10", "BAD_FIELD_NUMBER"],
        ["a number of eleven bytes", "18 8080808080808080808001", "BAD_VARINT"],
        ["text that is not UTF-8", "12 04 12 02 c328", "BAD_UTF8: Error.message"],
        ["a group without end", "1b 08 05", "SHORT_INPUT"],
        ["the end of a group that never began", "1c", "BAD_GROUP"],
        ["groups nested too deep", "1b".repeat(40), "BAD_GROUP"],
    ])("refuses %s", (_name, bytes, expected) => {
        expect(codeOf(() => decodeCniCmdResponse(hex(bytes)))).toContain(expected);
    });

    it("refuses every message that is cut short, except at the borders of fields", () => {
        const whole = encodeCniCmdResponse({
            cniResult: Uint8Array.of(1, 2, 3),
            error: { code: 201, message: "ü", details: [{ typeUrl: "t", value: Uint8Array.of(9) }] },
        });
        const accepted = [];
        for (let length = 0; length < whole.length; length++) {
            if (codeOf(() => decodeCniCmdResponse(whole.subarray(0, length))) === "accepted") accepted.push(length);
        }
        expect(accepted).toEqual([0, 5]);
    });

    it("never fails but with its typed error, whatever the bytes", () => {
        fc.assert(
            fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
                codeOf(() => decodeCniCmdResponse(bytes));
                codeOf(() => decodeCniCmdRequest(bytes));
            }),
        );
    });

    it("keeps a byte order mark, which belongs to the text", () => {
        const cniArgs = decodeCniCmdRequest(new Uint8Array()).cniArgs;
        const request = { cniArgs: { ...cniArgs, args: "\uFEFFa" } };
        expect(decodeCniCmdRequest(encodeCniCmdRequest(request))).toEqual(request);
    });
});
