import { KubeError } from "../errors.ts";

const newline = 0x0a;

/**
 * Splits a stream of bytes at line feeds into lines of UTF-8 text without them. Text after the last line feed is a line
 * too, unless empty. Throws KubeError TOO_LARGE as soon as a line exceeds `maxBytes`, and errors of the stream.
 */
export async function* splitLines(
    chunks: AsyncIterable<Uint8Array>,
    maxBytes: number,
): AsyncGenerator<string, void, undefined> {
    let held: Uint8Array[] = [];
    let heldBytes = 0;
    const hold = (part: Uint8Array): void => {
        heldBytes += part.length;
        if (heldBytes > maxBytes)
            throw new KubeError("TOO_LARGE", `a line of the watch is longer than ${maxBytes} bytes`);
        held.push(part);
    };
    const take = (): string => {
        const line = (held.length === 1 ? Buffer.from(held[0] ?? []) : Buffer.concat(held)).toString("utf8");
        held = [];
        heldBytes = 0;
        return line;
    };
    for await (const chunk of chunks) {
        let start = 0;
        for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
            hold(chunk.subarray(start, end));
            start = end + 1;
            yield take();
        }
        if (start < chunk.length) hold(chunk.subarray(start));
    }
    if (heldBytes > 0) yield take();
}
