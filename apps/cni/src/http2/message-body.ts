import { concat } from "./frame.ts";

const prefixLength = 5;

/**
 * Why the body of the answer is not one complete length-prefixed message (gRPC over HTTP/2, "Length-Prefixed-Message"):
 * "none" for an empty body, "surplus" for bytes after the message, "compressed" if its flag is set.
 */
export type BodyFault = "none" | "incomplete" | "surplus" | "compressed" | "too large";

/**
 * Collects the body of a unary answer, of at most `maxBytes` without its length prefix: `add` for each piece, then
 * `finish`. Finds a too long or compressed one by that prefix, before its memory is needed. Throws nothing: faults are
 * results.
 */
export class MessageBody {
    readonly #maxBytes: number;
    readonly #parts: Uint8Array[] = [];
    #length = 0;

    constructor(maxBytes: number) {
        this.#maxBytes = maxBytes;
    }

    /**
     * Appends a copy of a piece of any size; returns the fault once the body is known to be invalid, after which the
     * object is of no use.
     */
    add(piece: Uint8Array): BodyFault | undefined {
        if (piece.length === 0) return undefined;
        this.#parts.push(piece.slice());
        this.#length += piece.length;
        if (this.#length < prefixLength) return undefined;
        const { compressed, length } = this.#prefix();
        if (compressed) return "compressed";
        if (length > this.#maxBytes) return "too large";
        return this.#length > prefixLength + length ? "surplus" : undefined;
    }

    /** The message without its prefix, or the fault, once the stream has ended; called if `add` returned no fault. */
    finish(): Uint8Array | BodyFault {
        if (this.#length === 0) return "none";
        if (this.#length < prefixLength || this.#length < prefixLength + this.#prefix().length) return "incomplete";
        return concat(this.#parts).subarray(prefixLength);
    }

    #prefix(): { readonly compressed: boolean; readonly length: number } {
        while ((this.#parts[0]?.length ?? prefixLength) < prefixLength) {
            this.#parts.splice(0, 2, concat(this.#parts.slice(0, 2)));
        }
        const first = this.#parts[0] ?? new Uint8Array(prefixLength);
        const view = new DataView(first.buffer, first.byteOffset);
        return { compressed: view.getUint8(0) !== 0, length: view.getUint32(1) };
    }
}

/**
 * The message with its length prefix of 5 bytes, uncompressed (gRPC over HTTP/2, "Length-Prefixed-Message"), in new
 * memory.
 */
export function prefixed(message: Uint8Array): Uint8Array {
    const body = new Uint8Array(prefixLength + message.length);
    new DataView(body.buffer).setUint32(1, message.length);
    body.set(message, prefixLength);
    return body;
}
