import { Http2Error } from "./error.ts";
import { decodeHuffman, octetsToText } from "./huffman.ts";
import { staticTable, type Header } from "./static-table.ts";

const maxTableSize = 4096;
const entryOverhead = 32;
/**
 * Limit of one header list, counted as SETTINGS_MAX_HEADER_LIST_SIZE: a reference of one octet may name a long value.
 */
const maxListSize = 65536;
const maxInteger = 0xff_ffff;

/**
 * Decodes the header blocks of one connection (RFC 7541): static table, dynamic table of 4096 octets, Huffman strings.
 * Blocks must be complete and in order, because they share the dynamic table. Throws `Http2Error` COMPRESSION_ERROR, or
 * TOO_LARGE above 65536 octets of headers; no block can be decoded after that.
 */
export class HpackDecoder {
    /** Newest first. */
    readonly #dynamic: Header[] = [];
    #size = 0;
    #capacity = maxTableSize;

    /**
     * Decodes one complete header block to its headers in order. Throws `Http2Error` COMPRESSION_ERROR or TOO_LARGE.
     */
    decode(block: Uint8Array): readonly Header[] {
        const cursor = new Cursor(block);
        const headers: Header[] = [];
        let listSize = 0;
        while (!cursor.done) {
            const first = cursor.peek();
            if ((first & 0xe0) === 0x20) {
                if (headers.length > 0) throw compressionError("a table size update stands behind a header");
                this.#resize(cursor.integer(5));
                continue;
            }
            const header = (first & 0x80) !== 0 ? this.#lookup(cursor.integer(7)) : this.#literal(cursor, first);
            listSize += sizeOf(header);
            if (listSize > maxListSize) {
                throw new Http2Error(
                    "TOO_LARGE",
                    "remote",
                    `HPACK: a header list is larger than ${maxListSize} octets`,
                );
            }
            headers.push(header);
        }
        return headers;
    }

    #literal(cursor: Cursor, first: number): Header {
        const indexed = (first & 0x40) !== 0;
        const nameIndex = cursor.integer(indexed ? 6 : 4);
        const name = nameIndex === 0 ? cursor.string() : this.#lookup(nameIndex)[0];
        const header: Header = [name, cursor.string()];
        if (indexed) this.#insert(header);
        return header;
    }

    #lookup(index: number): Header {
        const header =
            index <= staticTable.length ? staticTable[index - 1] : this.#dynamic[index - staticTable.length - 1];
        if (header === undefined) throw compressionError(`there is no entry ${index}`);
        return header;
    }

    #insert(header: Header): void {
        this.#size += sizeOf(header);
        this.#dynamic.unshift(header);
        this.#evict();
    }

    #resize(capacity: number): void {
        if (capacity > maxTableSize) throw compressionError(`table size ${capacity} is above ${maxTableSize}`);
        this.#capacity = capacity;
        this.#evict();
    }

    #evict(): void {
        while (this.#size > this.#capacity) {
            const oldest = this.#dynamic.pop();
            this.#size -= oldest === undefined ? this.#size : sizeOf(oldest);
        }
    }
}

class Cursor {
    readonly #block: Uint8Array;
    #at = 0;

    constructor(block: Uint8Array) {
        this.#block = block;
    }

    get done(): boolean {
        return this.#at >= this.#block.length;
    }

    peek(): number {
        const octet = this.#block[this.#at];
        if (octet === undefined) throw compressionError("a header block ends inside a header");
        return octet;
    }

    integer(prefixBits: number): number {
        const limit = (1 << prefixBits) - 1;
        let value = this.#next() & limit;
        if (value < limit) return value;
        for (let shift = 0; shift <= 21; shift += 7) {
            const octet = this.#next();
            value += (octet & 0x7f) << shift;
            if (value > maxInteger) break;
            if (octet < 0x80) return value;
        }
        throw compressionError(`a number is above ${maxInteger}`);
    }

    string(): string {
        const huffman = (this.peek() & 0x80) !== 0;
        const length = this.integer(7);
        if (length > this.#block.length - this.#at) throw compressionError("a string is longer than its header block");
        const octets = this.#block.subarray(this.#at, this.#at + length);
        this.#at += length;
        return huffman ? decodeHuffman(octets) : octetsToText(octets);
    }

    #next(): number {
        const octet = this.peek();
        this.#at += 1;
        return octet;
    }
}

function sizeOf([name, value]: Header): number {
    return name.length + value.length + entryOverhead;
}

function compressionError(message: string): Http2Error {
    return new Http2Error("COMPRESSION_ERROR", "remote", `HPACK: ${message}`);
}
