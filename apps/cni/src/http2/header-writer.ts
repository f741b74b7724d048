/**
 * Writes one header block (RFC 7541) without the dynamic table and Huffman coding, by `indexed` and `literal` in order,
 * then `finish`. Text must be ASCII, which is not checked.
 */
export class HeaderWriter {
    readonly #octets: number[] = [];

    /** Writes a header whose name and value are in the static table, by its index (from 1). */
    indexed(index: number): void {
        this.#integer(index, 7, 0x80);
    }

    /**
     * Writes a literal without indexing (RFC 7541 section 6.2.2); `name` is text in lower case or an index of the
     * static table.
     */
    literal(name: number | string, value: string): void {
        if (typeof name === "number") {
            this.#integer(name, 4, 0);
        } else {
            this.#octets.push(0);
            this.#string(name);
        }
        this.#string(value);
    }

    /** The encoded header block. */
    finish(): Uint8Array {
        return Uint8Array.from(this.#octets);
    }

    #string(text: string): void {
        this.#integer(text.length, 7, 0);
        for (let at = 0; at < text.length; at++) this.#octets.push(text.charCodeAt(at) & 0x7f);
    }

    #integer(value: number, prefixBits: number, flags: number): void {
        const limit = (1 << prefixBits) - 1;
        this.#octets.push(flags | Math.min(value, limit));
        if (value < limit) return;
        let rest = value - limit;
        for (; rest >= 0x80; rest >>>= 7) this.#octets.push((rest & 0x7f) | 0x80);
        this.#octets.push(rest);
    }
}
