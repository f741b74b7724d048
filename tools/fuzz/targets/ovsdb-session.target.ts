import { Duplex } from "node:stream";
import { OvsdbError } from "@antrea/ovsdb";
import { RpcConnection } from "@antrea/ovsdb/fuzzing";
import { chunks, fileText } from "../fixture.ts";
import { BrokenProperty, type Target } from "../target.ts";

const limits = {
    echoIntervalMs: 60_000,
    answerTimeoutMs: 60_000,
    maxMessageBytes: 4_000,
    maxQueuedBytes: 20_000,
    maxPendingRequests: 10,
};

/** A complete JSON-RPC connection whose server sends arbitrary messages while requests are in progress. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    seeds: () => {
        const exchanges = JSON.parse(fileText("libs/ovsdb/test/fixtures/captured.json")) as readonly {
            server: string;
        }[];
        const sent = exchanges.map(({ server }) => server).filter((text) => text.length < 2_000);
        return [
            ...sent,
            '{"id":"echo","method":"echo","params":[]}{"id":"x","method":"steal","params":[]}',
            '{"id":0,"result":[],"error":null}{"id":1,"result":{},"error":null}{"id":1,"error":"no"}',
        ];
    },
    tokens: ['{"id":', '"method":"echo"', '"params":[]', '"result":', '"error":'],
    run: async (input) => {
        let ends = 0;
        const stream = new Duplex({ read: ignore, write: (_chunk, _encoding, done) => done() });
        const connection = new RpcConnection(stream, limits, { onNotification: ignore, onEnd: () => (ends += 1) });
        const asked = [0, 1, 2].map((at) =>
            connection
                .request(`method${at}`, [], (result) => result, { timeoutMs: 60_000, changes: at === 0 })
                .catch((error: unknown) => {
                    if (!(error instanceof OvsdbError) || error.fault === "internal") throw error;
                }),
        );
        for (const chunk of chunks(input)) if (!stream.destroyed) stream.emit("data", chunk);
        connection.end(new OvsdbError("CLOSED", "aborted", "the end of the input"));
        await Promise.all(asked);
        const reason = await connection.ended;
        if (ends !== 1) throw new BrokenProperty(`onEnd was called ${ends} times`);
        if (reason.fault === "internal") throw reason.cause instanceof Error ? reason.cause : reason;
    },
    isRefusal: () => false,
};

function ignore(): void {
    // No action needed.
}
