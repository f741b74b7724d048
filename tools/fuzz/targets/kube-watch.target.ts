import { isKubeError } from "@antrea/kube";
import { decodeWatchEvent, parseRetryAfter, splitLines, statusError } from "@antrea/kube/fuzzing";
import { chunks, json, parsed } from "../fixture.ts";
import { mustEqual, type Target } from "../target.ts";

const maxLineBytes = 2_000;
const object = { metadata: { name: "a", namespace: "b", resourceVersion: "7", uid: "u" }, spec: {} };

/** The stream of a watch: lines, events, errors; and the Status of a rejection. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        ...["ADDED", "MODIFIED", "DELETED"].map((type) => json({ type, object })),
        json({ type: "BOOKMARK", object: { metadata: { resourceVersion: "9" } } }),
        json({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired", message: "too old" } }),
        json({
            kind: "Status",
            status: "Failure",
            reason: "Conflict",
            code: 409,
            details: { retryAfterSeconds: 1, causes: [] },
        }),
        `${json({ type: "ADDED", object })}\n${json({ type: "DELETED", object })}\n`,
    ],
    tokens: ["\n", "TooManyRequests", "Sun, 22 Nov 2026 05:00:00 GMT"],
    run: async (input) => {
        mustEqual("the lines in one piece and in many", await lines(chunks(input)), await lines([input]));
        const text = new TextDecoder().decode(input);
        parseRetryAfter(text, 0);
        statusError("GET /x", 409, parsed(input), { write: true });
        for (const line of text.split("\n")) {
            try {
                decodeWatchEvent(line, "watch of pods");
            } catch (error) {
                // The server determines the fault: 400 means that the request was wrong.
                if (!isKubeError(error)) throw error;
            }
        }
    },
    isRefusal: () => false,
};

async function lines(parts: Iterable<Uint8Array>): Promise<object> {
    const found: string[] = [];
    const stream = (async function* () {
        for (const part of parts) yield part;
    })();
    try {
        for await (const line of splitLines(stream, maxLineBytes)) found.push(line);
    } catch (error) {
        if (!isKubeError(error, "TOO_LARGE")) throw error;
        return { found, refused: true };
    }
    return { found };
}
