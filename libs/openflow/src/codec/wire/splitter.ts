import { peerError } from "../errors.ts";
import { headerBytes } from "./header.ts";

/**
 * Splits a byte stream into messages, wherever its chunks end, each as soon as its last byte is there. So it holds at most
 * one incomplete message (65,535 bytes) besides the chunk it is given. Frames are views of the chunk, or of a buffer
 * that is not used again.
 */
export class FrameSplitter {
    #pending: Uint8Array = new Uint8Array(0);
    #have = 0;

    /**
     * Yields the messages that `chunk` completes, header included. Throws `OpenFlowError` `MALFORMED` on a length below
     * 8; the splitter must not be used after that.
     */
    *push(chunk: Uint8Array): Generator<Uint8Array, void, undefined> {
        let rest = chunk;
        while (rest.length > 0) {
            if (this.#have === 0 && rest.length >= headerBytes) {
                const length = frameLength(rest);
                if (rest.length >= length) {
                    yield rest.subarray(0, length);
                    rest = rest.subarray(length);
                    continue;
                }
            }
            rest = this.#fill(rest);
            if (this.#have >= headerBytes && this.#have === this.#pending.length) {
                const frame = this.#pending;
                this.#have = 0;
                this.#pending = new Uint8Array(0);
                yield frame;
            }
        }
    }

    /** Takes the bytes that the incomplete message needs, first the header, then its length; returns the rest. */
    #fill(chunk: Uint8Array): Uint8Array {
        if (this.#have < headerBytes) {
            if (this.#pending.length === 0) this.#pending = new Uint8Array(headerBytes);
            const rest = this.#copy(chunk, headerBytes);
            if (this.#have < headerBytes) return rest;
            const whole = new Uint8Array(frameLength(this.#pending));
            whole.set(this.#pending);
            this.#pending = whole;
            return this.#copy(rest, whole.length);
        }
        return this.#copy(chunk, this.#pending.length);
    }

    #copy(chunk: Uint8Array, upTo: number): Uint8Array {
        const count = Math.min(chunk.length, upTo - this.#have);
        this.#pending.set(chunk.subarray(0, count), this.#have);
        this.#have += count;
        return chunk.subarray(count);
    }
}

function frameLength(bytes: Uint8Array): number {
    const length = ((bytes[2] ?? 0) << 8) | (bytes[3] ?? 0);
    if (length < headerBytes) {
        throw peerError("MALFORMED", `message: its length is ${length}, a header alone has ${headerBytes} bytes`, {
            length,
        });
    }
    return length;
}
