import { describe, expect, it } from "@jest/globals";
import { parseRetryAfter } from "../../src/api/retry-after.ts";
import { statusError } from "../../src/api/status.ts";

const now = Date.UTC(2030, 0, 1);

describe("parseRetryAfter", () => {
    it.each([
        ["seconds", "7", 7_000],
        ["a date", "Tue, 01 Jan 2030 00:00:09 GMT", 9_000],
        ["a date in the past", "Mon, 01 Jan 2029 00:00:00 GMT", 0],
        ["more than five minutes", "86400", 300_000],
        ["nonsense", "soon", undefined],
        ["seconds among spaces", " 7 ", 7_000],
        ["a number behind something else", "x7", undefined],
        ["nothing", undefined, undefined],
    ])("%s", (_name, header, ms) => {
        expect(parseRetryAfter(header, now)).toBe(ms);
    });
});

describe("statusError", () => {
    it.each([
        ["a reason", 409, { kind: "Status", reason: "AlreadyExists" }, "ALREADY_EXISTS", false],
        ["a conflict", 409, { kind: "Status", reason: "Conflict" }, "CONFLICT", false],
        ["an expired version", 410, { kind: "Status", reason: "Expired" }, "EXPIRED", false],
        ["no Status object", 403, "<html>", "FORBIDDEN", false],
        ["an unknown server error", 500, undefined, "SERVER_ERROR", true],
        ["a timeout of the server", 504, { kind: "Status", reason: "Timeout" }, "SERVER_TIMEOUT", true],
        ["too many requests", 429, undefined, "TOO_MANY_REQUESTS", false],
        ["a reason that is no text", 404, { kind: "Status", reason: 7 }, "NOT_FOUND", false],
    ])("%s", (_name, status, body, code, outcomeUnknown) => {
        const error = statusError("PATCH /x", status, body, { write: true });
        expect(error).toMatchObject({ code, status, outcomeUnknown });
        expect(error.message).toContain("PATCH /x");
        expect(typeof error.details?.reason).toBe("string");
    });

    it.each([
        ["BadRequest", "BAD_REQUEST"],
        ["Unauthorized", "UNAUTHORIZED"],
        ["Forbidden", "FORBIDDEN"],
        ["NotFound", "NOT_FOUND"],
        ["AlreadyExists", "ALREADY_EXISTS"],
        ["Conflict", "CONFLICT"],
        ["Expired", "EXPIRED"],
        ["Gone", "EXPIRED"],
        ["Invalid", "INVALID"],
        ["TooManyRequests", "TOO_MANY_REQUESTS"],
        ["ServerTimeout", "SERVER_TIMEOUT"],
        ["Timeout", "SERVER_TIMEOUT"],
        ["ServiceUnavailable", "UNAVAILABLE"],
    ])("goes by the reason %s, whatever the HTTP status", (reason, code) => {
        expect(statusError("GET /x", 418, { kind: "Status", reason })).toMatchObject({ code, details: { reason } });
    });

    it.each([
        [400, "BAD_REQUEST"],
        [401, "UNAUTHORIZED"],
        [403, "FORBIDDEN"],
        [404, "NOT_FOUND"],
        [409, "CONFLICT"],
        [410, "EXPIRED"],
        [418, "BAD_REQUEST"],
        [422, "INVALID"],
        [429, "TOO_MANY_REQUESTS"],
        [500, "SERVER_ERROR"],
        [503, "UNAVAILABLE"],
        [504, "SERVER_TIMEOUT"],
    ])("goes by the HTTP status %i when there is no reason", (status, code) => {
        expect(statusError("GET /x", status, undefined)).toMatchObject({ code, outcomeUnknown: false });
    });

    it("takes the delay of the Status object where there is no header", () => {
        const body = { kind: "Status", reason: "ServerTimeout", details: { retryAfterSeconds: 3 } };
        expect(statusError("GET /x", 500, body)).toMatchObject({ code: "SERVER_TIMEOUT", retryAfterMs: 3_000 });
    });
});
