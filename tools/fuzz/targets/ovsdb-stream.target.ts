import { decodeRpcMessage, JsonSplitter, OvsdbError } from "@antrea/ovsdb";
import { chunks, fileText } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const maxMessageBytes = 2_000;
const gap: readonly number[] = Array.from(" \n\r\t", (space) => space.charCodeAt(0));

/** JSON-RPC messages split from a stream: the same ones for every segmentation, and buffered within the limit. */
export const target: Target = {
    seeds: () => {
        const exchanges = JSON.parse(fileText("libs/ovsdb/test/fixtures/captured.json")) as readonly {
            client: string;
            server: string;
        }[];
        return exchanges.flatMap(({ client, server }) => [client, server]).filter((text) => text.length < 4_000);
    },
    tokens: ["{", "}", "[", "]", '"', "\\", "\\u0000", '{"id":1,', '"error":null', "\ud83d\ude00"],
    run: (input) => mustEqual("the messages in one piece and in many", cut(chunks(input)), cut([input])),
    isRefusal: (error) => error instanceof OvsdbError && error.fault === "remote",
};

function cut(parts: Iterable<Uint8Array>): object {
    const splitter = new JsonSplitter(maxMessageBytes);
    const messages: unknown[] = [];
    // At least so much of an incomplete message is held: the segments after the last one that completed a message.
    let held = 0;
    try {
        for (const part of parts) {
            const before = messages.length;
            for (const value of splitter.push(part)) messages.push(decodeRpcMessage(value));
            if (messages.length > before) held = 0;
            else held += held === 0 ? withoutGap(part).length : part.length;
            if (held > maxMessageBytes) {
                throw new BrokenProperty(`${held} bytes are held, at most ${maxMessageBytes} may be`);
            }
        }
    } catch (error) {
        if (!(error instanceof OvsdbError)) throw error;
        return { messages, refused: true };
    }
    return { messages };
}

/** A segment without the spaces before a message, which are not held. */
function withoutGap(part: Uint8Array): Uint8Array {
    const start = part.findIndex((byte) => !gap.includes(byte));
    return start === -1 ? new Uint8Array(0) : part.subarray(start);
}
