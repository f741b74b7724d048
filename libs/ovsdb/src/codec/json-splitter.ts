import { OvsdbError } from "./error.ts";

const [braceOpen, braceClose, bracketOpen, bracketClose, quote, backslash] = [0x7b, 0x7d, 0x5b, 0x5d, 0x22, 0x5c];

/** Messages of OVSDB have some twelve levels. A much deeper one could be parsed but not be stringified again. */
const maxDepth = 100;

/**
 * Splits a stream of bytes into JSON objects: JSON-RPC 1.0 over a stream has no separators and no lengths (RFC 7047
 * section 4). All characters that matter are ASCII, and no byte of a longer UTF-8 sequence equals one, so the scan
 * works on bytes and a chunk may end anywhere. After an error the stream cannot be trusted: discard the splitter.
 * `maxMessageBytes` limits the bytes of one object.
 */
export class JsonSplitter {
    readonly #maxMessageBytes: number;
    readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    #parts: Uint8Array[] = [];
    #partsLength = 0;
    #depth = 0;
    #inString = false;
    #escaped = false;

    constructor(maxMessageBytes: number) {
        this.#maxMessageBytes = maxMessageBytes;
    }

    /**
     * Yields the objects that this chunk completes, each parsed when the caller takes it. Take all before the next
     * chunk. The incomplete rest of the chunk is copied.
     *
     * @throws OvsdbError `BAD_JSON`, also for an object of more than 100 levels; `MESSAGE_TOO_LONG`
     */
    *push(chunk: Uint8Array): Generator<unknown, void, undefined> {
        // Locals, for speed: this runs once for each byte.
        let [depth, inString, escaped] = [this.#depth, this.#inString, this.#escaped];
        let start = depth === 0 ? -1 : 0;
        for (let at = 0; at < chunk.length; at++) {
            const byte = chunk[at];
            if (depth === 0) {
                if (byte === braceOpen) {
                    start = at;
                    depth = 1;
                } else if (!isSpace(byte)) {
                    throw badJson(`byte 0x${byte?.toString(16)} stands where a JSON object must begin`);
                }
            } else if (inString) {
                if (escaped) escaped = false;
                else if (byte === backslash) escaped = true;
                else if (byte === quote) inString = false;
            } else if (byte === quote) {
                inString = true;
            } else if (byte === braceOpen || byte === bracketOpen) {
                if (++depth > maxDepth) throw badJson(`a message has more than ${maxDepth} levels`);
            } else if ((byte === braceClose || byte === bracketClose) && --depth === 0) {
                yield this.#finish(chunk.subarray(start, at + 1));
                start = -1;
            }
        }
        this.#depth = depth;
        this.#inString = inString;
        this.#escaped = escaped;
        if (start >= 0) this.#keep(chunk.subarray(start));
    }

    #keep(part: Uint8Array): void {
        this.#checkLength(part.length);
        this.#parts.push(part.slice());
        this.#partsLength += part.length;
    }

    #finish(last: Uint8Array): unknown {
        this.#checkLength(last.length);
        const bytes = this.#parts.length === 0 ? last : join([...this.#parts, last], this.#partsLength + last.length);
        this.#parts = [];
        this.#partsLength = 0;
        let text: string;
        try {
            text = this.#decoder.decode(bytes);
        } catch (cause) {
            throw badJson(`a message of ${bytes.length} bytes is not UTF-8`, cause);
        }
        try {
            return JSON.parse(text) as unknown;
        } catch (cause) {
            throw badJson(`a message of ${bytes.length} bytes is not JSON`, cause);
        }
    }

    #checkLength(more: number): void {
        if (this.#partsLength + more <= this.#maxMessageBytes) return;
        const message = `a message is longer than the limit of ${this.#maxMessageBytes} bytes`;
        throw new OvsdbError("MESSAGE_TOO_LONG", "remote", message, { details: { maxBytes: this.#maxMessageBytes } });
    }
}

function isSpace(byte: number | undefined): boolean {
    return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array {
    const whole = new Uint8Array(length);
    let at = 0;
    for (const part of parts) {
        whole.set(part, at);
        at += part.length;
    }
    return whole;
}

function badJson(what: string, cause?: unknown): OvsdbError {
    return new OvsdbError("BAD_JSON", "remote", `${what}: the stream is not JSON-RPC`, { cause });
}
