import { describe, expect, it } from "@jest/globals";
import { decodeRpcMessage, encodeNotification, encodeRequest, encodeResponse } from "../../src/codec/index.ts";

describe("JSON-RPC messages", () => {
    it.each([
        ["request", encodeRequest(7, "echo", []), { kind: "request", id: 7, method: "echo", params: [] }],
        ["notification", encodeNotification("cancel", [7]), { kind: "notification", method: "cancel", params: [7] }],
        ["answer", encodeResponse("a", [1]), { kind: "response", id: "a", result: [1], error: null }],
        ["refusal", encodeResponse(1, null, "no"), { kind: "response", id: 1, result: null, error: "no" }],
        [
            "refusal without result",
            '{"id":1,"error":{"error":"x"}}',
            { kind: "response", id: 1, result: null, error: { error: "x" } },
        ],
        ["answer null", '{"id":1,"result":null,"error":null}', { kind: "response", id: 1, result: null, error: null }],
        ["notification without id", '{"method":"a","params":[]}', { kind: "notification", method: "a", params: [] }],
    ])("reads a %s", (_name, text, message) => {
        expect(decodeRpcMessage(JSON.parse(text))).toEqual(message);
    });

    it.each([
        ["null", "null", "message"],
        ["an array", "[]", "message"],
        ["nothing", "{}", "id"],
        ["an answer without id", '{"result":1}', "id"],
        ["an answer of nothing", '{"id":1}', "answer"],
        ["a method that is no string", '{"id":1,"method":2,"params":[]}', "method"],
        ["params that are no array", '{"id":1,"method":"a","params":{}}', 'params of "a"'],
        ["missing params", '{"id":1,"method":"a"}', 'params of "a"'],
        ["inherited members", '{"__proto__":{"method":"a","params":[]}}', "id"],
    ])("refuses %s", (_name, text, path) => {
        expect(() => decodeRpcMessage(JSON.parse(text))).toThrow(
            expect.objectContaining({ code: "BAD_MESSAGE", fault: "remote", details: { path } }),
        );
    });
});
