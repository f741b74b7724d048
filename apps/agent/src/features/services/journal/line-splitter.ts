const lineEnd = 0x0a;

/** Splits a stream of bytes at line ends; what is longer than the limit comes as an empty line. */
export class LineSplitter {
    readonly #maxBytes: number;
    #pieces: Buffer[] = [];
    #bytes = 0;

    constructor(options: { readonly maxBytes: number }) {
        this.#maxBytes = options.maxBytes;
    }

    /** The lines that these bytes complete, without their ends. The bytes may change afterwards, the lines then do too. */
    *push(bytes: Buffer): Generator<Buffer> {
        let from = 0;
        for (let end = bytes.indexOf(lineEnd); end >= 0; end = bytes.indexOf(lineEnd, from)) {
            const line = bytes.subarray(from, end);
            from = end + 1;
            yield this.#bytes === 0 && line.length <= this.#maxBytes ? line : this.#take(line);
        }
        if (from < bytes.length) this.#keep(Buffer.from(bytes.subarray(from)));
    }

    /** What is left after the last line end; undefined if nothing is. */
    end(): Buffer | undefined {
        return this.#bytes === 0 ? undefined : this.#take(Buffer.alloc(0));
    }

    #take(last: Buffer): Buffer {
        this.#keep(last);
        const line = Buffer.concat(this.#pieces);
        this.#pieces = [];
        this.#bytes = 0;
        return line;
    }

    #keep(piece: Buffer): void {
        this.#bytes += piece.length;
        if (this.#bytes > this.#maxBytes) this.#pieces = [];
        else this.#pieces.push(piece);
    }
}
