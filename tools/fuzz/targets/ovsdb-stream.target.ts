import { decodeRpcMessage, JsonSplitter, OvsdbError } from "@antrea/ovsdb";
import { chunks, fileText } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const maxMessageBytes = 2_000;

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
    try {
        for (const part of parts) {
            for (const value of splitter.push(part)) messages.push(decodeRpcMessage(value));
            if (splitter.bufferedBytes > maxMessageBytes) {
                throw new BrokenProperty(`${splitter.bufferedBytes} bytes are held, at most ${maxMessageBytes} may be`);
            }
        }
    } catch (error) {
        if (!(error instanceof OvsdbError)) throw error;
        // The amount buffered at the rejection depends on the segments; the rejection does not.
        return { messages, refused: true };
    }
    return { messages, held: splitter.bufferedBytes };
}
