const headerBytes = 16;
const maxBytes = 1 << 20;

/**
 * Memory that the worker shares with its supervisor: the current input and the execution number, so that an input
 * that hangs or ends the worker is not lost.
 */
export class Mailbox {
    readonly memory: SharedArrayBuffer;
    readonly #header: Int32Array;
    readonly #bytes: Uint8Array;

    constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(headerBytes + maxBytes)) {
        this.memory = memory;
        this.#header = new Int32Array(memory, 0, headerBytes / 4);
        this.#bytes = new Uint8Array(memory, headerBytes);
    }

    /** Called by the worker: this input is next. */
    put(input: Uint8Array): void {
        this.#bytes.set(input.subarray(0, maxBytes));
        Atomics.store(this.#header, 0, Math.min(input.length, maxBytes));
        Atomics.add(this.#header, 1, 1);
        Atomics.store(this.#header, 2, 1);
    }

    /** Called by the worker: no input is being executed. */
    rest(): void {
        Atomics.store(this.#header, 2, 0);
    }

    /** Changes with each input; undefined while none is being executed. */
    get turn(): number | undefined {
        return Atomics.load(this.#header, 2) === 1 ? Atomics.load(this.#header, 1) : undefined;
    }

    /** The current input, or the last one. */
    get input(): Uint8Array {
        return this.#bytes.slice(0, Atomics.load(this.#header, 0));
    }
}
