import { beginMessage, endMessage, MessageType, wireVersion } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

const versionBitmap = 1;

/** Writes a hello that offers only OpenFlow 1.5: OpenFlow 1.5 section 7.5.1. */
export function writeHello(writer: Writer, xid: number): void {
    const start = beginMessage(writer, MessageType.HELLO, xid);
    writer.u16(versionBitmap);
    writer.u16(8);
    writer.u32(1 << wireVersion);
    endMessage(writer, start);
}

/**
 * The wire versions that the sender of a hello offers: the bits of its version bitmap, or without one every version
 * from 1 to that of the header. Throws `OpenFlowError` `SHORT` or `MALFORMED`.
 */
export function readHello(reader: Reader, headerVersion: number): readonly number[] {
    while (reader.remaining >= 4) {
        const type = reader.u16();
        const length = reader.u16();
        if (length < 4) reader.fail(`hello: element of length ${length}, at least 4`);
        const body = reader.sub(length - 4, "hello element");
        reader.skip(Math.min(reader.remaining, (8 - (length % 8)) % 8));
        if (type === versionBitmap && body.remaining >= 4) return bits(body.u32());
    }
    return Array.from({ length: headerVersion }, (_, index) => index + 1);
}

function bits(bitmap: number): readonly number[] {
    return Array.from({ length: 32 }, (_, bit) => bit).filter((bit) => ((bitmap >>> bit) & 1) === 1);
}
