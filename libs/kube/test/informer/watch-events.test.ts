import { describe, expect, it } from "@jest/globals";
import { decodeWatchEvent } from "../../src/informer/watch-events.ts";

const object = { metadata: { name: "a", resourceVersion: "7" } };

describe("decodeWatchEvent", () => {
    it("reads changes and bookmarks", () => {
        expect(decodeWatchEvent(JSON.stringify({ type: "ADDED", object }), "w")).toEqual({
            type: "ADDED",
            object,
            resourceVersion: "7",
        });
        const bookmark = { type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } };
        expect(decodeWatchEvent(JSON.stringify(bookmark), "w")).toEqual({ type: "BOOKMARK", resourceVersion: "9" });
    });

    it.each([
        ["no JSON", '{"type":"ADD'],
        ["no object", '{"type":"ADDED"}'],
        ["a number", "7"],
        ["no version", '{"type":"ADDED","object":{"metadata":{"name":"a"}}}'],
        ["no name", '{"type":"DELETED","object":{"metadata":{"resourceVersion":"7"}}}'],
        ["an unknown type", '{"type":"RENAMED","object":{"metadata":{"name":"a","resourceVersion":"7"}}}'],
        [
            "a type of too many levels",
            `{"type":${"[".repeat(100_000)}${"]".repeat(100_000)},"object":{"metadata":{"name":"a","resourceVersion":"7"}}}`,
        ],
    ])("refuses %s", (_name, line) => {
        expect(() => decodeWatchEvent(line, "w")).toThrow(expect.objectContaining({ code: "BAD_ANSWER" }));
    });

    it("throws the error that an ERROR event stands for", () => {
        const status = { kind: "Status", code: 410, reason: "Expired", message: "too old resource version" };
        const line = JSON.stringify({ type: "ERROR", object: status });
        expect(() => decodeWatchEvent(line, "w")).toThrow(expect.objectContaining({ code: "EXPIRED" }));
    });

    it.each([
        ["no JSON", "{", "w: a line of the watch is no JSON"],
        ["no object", '{"type":"ADDED"}', "w: a line is no watch event"],
        [
            "an empty version",
            '{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":""}}}',
            "w: a watch event has no metadata.resourceVersion",
        ],
        [
            "an empty name",
            '{"type":"ADDED","object":{"metadata":{"name":"","resourceVersion":"7"}}}',
            "w: a watch event has no metadata.name",
        ],
        ["a long type", JSON.stringify({ type: "X".repeat(50), object }), `w: unknown watch event "${"X".repeat(40)}"`],
        ["a type that is no text", JSON.stringify({ type: [7], object }), "w: unknown watch event of type object"],
    ])("reports what is wrong with a line: %s", (_name, line, message) => {
        expect(() => decodeWatchEvent(line, "w")).toThrow(expect.objectContaining({ code: "BAD_ANSWER", message }));
    });

    it("takes an ERROR event without a number for an error of the server", () => {
        for (const code of [undefined, "410"]) {
            const line = JSON.stringify({ type: "ERROR", object: { kind: "Status", code } });
            expect(() => decodeWatchEvent(line, "w")).toThrow(
                expect.objectContaining({ code: "SERVER_ERROR", status: 500 }),
            );
        }
    });
});
