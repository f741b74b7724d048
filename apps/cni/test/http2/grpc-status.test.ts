import { describe, expect, it } from "@jest/globals";
import { decodeGrpcMessage } from "../../src/http2/grpc-status.ts";

describe("grpc-message: percent-encoded UTF-8 (gRPC over HTTP/2, Responses)", () => {
    it.each([
        ["", ""],
        ["no pod", "no pod"],
        ["%41%4a%4A", "AJJ"],
        ["100%25", "100%"],
        ["%C3%BC", "ü"],
        ["%E2%82%AC5", "€5"],
        // What is not encoded by the rules is left as it is.
        ["5%", "5%"],
        ["5%4", "5%4"],
        ["%4x1", "%4x1"],
        ["%x41", "%x41"],
        ["%%41", "%A"],
        ["%ff", "\ufffd"],
    ])("%j is %j", (encoded, text) => {
        expect(decodeGrpcMessage(encoded)).toBe(text);
    });
});
