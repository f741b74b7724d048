import { describe, expect, it } from "@jest/globals";
import { SendQueue } from "../../src/http2/send-queue.ts";

const largest = 0x7fff_ffff;

function sent(queue: SendQueue): readonly (readonly [length: number, flags: number])[] {
    const parts: Uint8Array[] = [];
    queue.takeInto(parts);
    return parts.map((frame) => [frame.length - 9, frame[4] ?? NaN]);
}

/** What the change throws: code and fault. */
function refusal(change: () => void): unknown {
    try {
        change();
        return undefined;
    } catch (error) {
        const { code, fault } = error as { code?: unknown; fault?: unknown };
        return `${String(code)} ${String(fault)}`;
    }
}

describe("SendQueue, flow control of RFC 9113 section 5.2", () => {
    it("sends frames of up to 16384 octets, the last with END_STREAM, and then no more", () => {
        const queue = new SendQueue(5, new Uint8Array(2 * 16384));
        expect(sent(queue)).toEqual([
            [16384, 0],
            [16384, 1],
        ]);
        expect(sent(queue)).toEqual([]);
    });

    it("ends the stream with an empty frame when there is nothing to send", () => {
        expect(sent(new SendQueue(1, new Uint8Array(0)))).toEqual([[0, 1]]);
    });

    it("begins with windows of 65535 octets and heeds the smaller of both", () => {
        const queue = new SendQueue(1, new Uint8Array(70_000));
        queue.setMaxFrameSize(0xff_ffff);
        expect(sent(queue)).toEqual([[65535, 0]]);
        queue.widen(1, 1000);
        expect(sent(queue)).toEqual([]);
        queue.widen(0, 1);
        expect(sent(queue)).toEqual([[1, 0]]);
        queue.widen(0, 1000);
        expect(sent(queue)).toEqual([[999, 0]]);
    });

    it.each([
        ["the connection", 0],
        ["the stream", 1],
    ])("a window of %s has up to 2^31-1 octets", (_name, streamId) => {
        const queue = new SendQueue(1, new Uint8Array(10));
        queue.widen(streamId, largest - 65535);
        expect(refusal(() => queue.widen(streamId, 1))).toBe("FLOW_CONTROL_ERROR remote");
        expect(refusal(() => new SendQueue(1, new Uint8Array(1)).widen(streamId, 0))).toBe("PROTOCOL_ERROR remote");
    });

    it("the initial window has up to 2^31-1 octets, also with what the stream was given since", () => {
        expect(refusal(() => new SendQueue(1, new Uint8Array(1)).setInitialWindow(largest))).toBeUndefined();
        expect(refusal(() => new SendQueue(1, new Uint8Array(1)).setInitialWindow(largest + 1))).toBe(
            "FLOW_CONTROL_ERROR remote",
        );
        const widened = (): SendQueue => {
            const queue = new SendQueue(1, new Uint8Array(1));
            queue.widen(1, 100);
            return queue;
        };
        expect(refusal(() => widened().setInitialWindow(largest - 100))).toBeUndefined();
        expect(refusal(() => widened().setInitialWindow(largest - 99))).toBe("FLOW_CONTROL_ERROR remote");
    });

    it("a second initial window counts from the first", () => {
        const queue = new SendQueue(1, new Uint8Array(70_000));
        queue.widen(0, 100_000);
        queue.setInitialWindow(10);
        queue.setInitialWindow(30);
        expect(sent(queue)).toEqual([[30, 0]]);
    });

    it.each([
        [16383, "PROTOCOL_ERROR remote"],
        [16384, undefined],
        [16_777_215, undefined],
        [16_777_216, "PROTOCOL_ERROR remote"],
    ])("a maximum frame size of %i: %s", (size, result) => {
        expect(refusal(() => new SendQueue(1, new Uint8Array(1)).setMaxFrameSize(size))).toBe(result);
    });
});
