import { describe, expect, it } from "@jest/globals";
import { ChannelReader } from "../../src/pod-exec/channels.ts";

const message = (channel: number, text: string): Uint8Array => Buffer.concat([Buffer.of(channel), Buffer.from(text)]);
const status = (value: object): Uint8Array => message(3, JSON.stringify(value));
const success = status({ metadata: {}, status: "Success" });
const exited = (code: string): Uint8Array =>
    status({
        status: "Failure",
        reason: "NonZeroExitCode",
        message: `command terminated with exit code ${code}`,
        details: { causes: [{ reason: "ExitCode", message: code }] },
    });

describe("ChannelReader", () => {
    it("gathers output in pieces, characters cut in two among them", () => {
        const reader = new ChannelReader(100);
        const bytes = Buffer.from("aü");
        for (const part of [
            message(1, ""),
            Buffer.concat([Buffer.of(1), bytes.subarray(0, 2)]),
            Buffer.concat([Buffer.of(1), bytes.subarray(2)]),
            message(2, "err"),
            success,
        ]) {
            expect(reader.take(part)).toBe(true);
        }
        expect(reader.outcome()).toEqual({ kind: "finished", result: { stdout: "aü", stderr: "err", exitCode: 0 } });
    });

    it("keeps what it was given, whoever reuses the memory", () => {
        const reader = new ChannelReader(100);
        const memory = Buffer.from(message(1, "abc"));
        reader.take(memory);
        memory.fill(0);
        reader.take(success);
        expect(reader.outcome()).toMatchObject({ result: { stdout: "abc" } });
    });

    it.each([
        [
            "an exit code",
            [message(2, "no"), exited("7")],
            { kind: "finished", result: { stdout: "", stderr: "no", exitCode: 7 } },
        ],
        [
            "a failure",
            [status({ status: "Failure", message: "container not found" })],
            { kind: "failed", reason: "container not found" },
        ],
        [
            "a failure without message",
            [status({ status: "Failure" })],
            { kind: "failed", reason: "it failed without a message" },
        ],
        [
            "an exit code that is none",
            [exited("many")],
            { kind: "failed", reason: "command terminated with exit code many" },
        ],
        ["no status", [message(1, "half")], { kind: "failed", reason: "the connection ended before the command did" }],
        ["a status that is null", [message(3, "null")], { kind: "failed", reason: "it failed without a message" }],
    ])("reports %s", (_name, messages, outcome) => {
        const reader = new ChannelReader(100);
        for (const each of messages) expect(reader.take(each)).toBe(true);
        expect(reader.outcome()).toEqual(outcome);
    });

    it.each([
        ["too much output", message(1, "x".repeat(101)), /longer than 100 bytes/],
        ["an unknown channel", message(9, ""), /channel 9/],
        ["an empty message", new Uint8Array(), /channel undefined/],
        ["a status that is no JSON", message(3, "{"), /no JSON/],
    ])("stops at %s", (_name, bad, reason) => {
        const reader = new ChannelReader(100);
        expect(reader.take(bad)).toBe(false);
        expect(reader.outcome()).toEqual({ kind: "failed", reason: expect.stringMatching(reason) });
    });
});
