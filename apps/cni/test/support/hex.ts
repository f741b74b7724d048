/** The bytes of hexadecimal text; white space is for the reader. */
export function hex(text: string): Uint8Array {
    return Uint8Array.from(Buffer.from(text.replaceAll(/\s/g, ""), "hex"));
}
