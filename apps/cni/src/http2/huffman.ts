import { Http2Error } from "./error.ts";
import { huffmanTable, type HuffmanTable } from "./huffman-table.ts";

const endOfString = 256;
let table: HuffmanTable | undefined;

/**
 * Decodes a Huffman string of HPACK (RFC 7541 section 5.2) to text, one character per octet. Throws `Http2Error`
 * COMPRESSION_ERROR for an end-of-string symbol or invalid padding.
 */
export function decodeHuffman(bytes: Uint8Array): string {
    const { offset, limit, symbols } = (table ??= huffmanTable());
    let decoded = "";
    let code = 0;
    let length = 0;
    for (const byte of bytes) {
        for (let bit = 7; bit >= 0; bit--) {
            code = (code << 1) | ((byte >> bit) & 1);
            length += 1;
            if (code >= (limit[length] ?? 0)) continue;
            const symbol = symbols[code - (offset[length] ?? 0)] ?? endOfString;
            if (symbol === endOfString) throw compressionError("the end-of-string symbol stands inside a string");
            decoded += String.fromCharCode(symbol);
            code = 0;
            length = 0;
        }
    }
    // Padding is a prefix of the end-of-string code: less than one octet of ones.
    if (length > 7 || code !== (1 << length) - 1) throw compressionError("a string ends with wrong padding");
    return decoded;
}

/** Octets as text, one character (U+0000 to U+00FF) per octet, as HTTP/2 headers are kept. */
export function octetsToText(octets: Uint8Array): string {
    let text = "";
    for (const octet of octets) text += String.fromCharCode(octet);
    return text;
}

function compressionError(message: string): Http2Error {
    return new Http2Error("COMPRESSION_ERROR", "remote", `HPACK: ${message} (RFC 7541 section 5.2)`);
}
