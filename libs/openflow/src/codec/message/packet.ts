import { readActions } from "../action/decode.ts";
import { writeActions } from "../action/encode.ts";
import { checkUint } from "../action/check.ts";
import { callerError } from "../errors.ts";
import { readMatch, readOxms, wholeMatch, writeMatch } from "../match/oxm.ts";
import { type PacketIn, type PacketOut } from "../packet.ts";
import { beginMessage, endLongMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

const noBuffer = 0xffffffff;

/**
 * Writes `ofp_packet_out` with its header: OpenFlow 1.5 section 7.3.6. Throws `OpenFlowError` `BAD_FIELD`, `BAD_VALUE`
 * or `TOO_BIG`.
 */
export function writePacketOut(writer: Writer, xid: number, packet: PacketOut): void {
    const start = beginMessage(writer, MessageType.PACKET_OUT, xid);
    writer.u32(noBuffer);
    const lengthAt = writer.length;
    writer.u16(0);
    writer.zeros(2);
    writeMatch(writer, { in_port: packet.inPort });
    const actionsAt = writer.length;
    writeActions(writer, packet.actions);
    const actionBytes = writer.length - actionsAt;
    if (actionBytes > 0xffff)
        throw callerError("TOO_BIG", `packet-out: ${actionBytes} bytes of actions, at most 65535`);
    writer.patchU16(lengthAt, actionBytes);
    writer.bytes(packet.data);
    endLongMessage(writer, start, "the packet-out");
}

/**
 * Reads the body of a packet-out. Throws `OpenFlowError` `SHORT`, `LONG` or `MALFORMED`, the latter also without an
 * in_port.
 */
export function readPacketOut(reader: Reader): PacketOut {
    reader.skip(4);
    const actionBytes = reader.u16();
    reader.skip(2);
    const { in_port: inPort } = wholeMatch(readMatch(reader), "packet-out");
    if (typeof inPort !== "number") return reader.fail("packet-out: its match has no in_port");
    const actions = readActions(reader.sub(actionBytes, "packet-out actions"));
    return { inPort: checkUint(inPort, 32, "in_port"), actions, data: reader.restCopy() };
}

/** Properties of NXT_PACKET_IN2: ovs-ofctl(8), "monitor". */
const Property = {
    PACKET: 0,
    FULL_LENGTH: 1,
    BUFFER_ID: 2,
    TABLE_ID: 3,
    COOKIE: 4,
    REASON: 5,
    METADATA: 6,
    USERDATA: 7,
    CONTINUATION: 8,
} as const;

/**
 * Reads the body of NXT_PACKET_IN2 after its experimenter header; properties that `PacketIn` has no member for are
 * skipped. Absent ones give 0 and empty metadata, and the length of the data as `totalLength`. Throws `OpenFlowError`
 * `SHORT` or `MALFORMED`, the latter also without a packet.
 */
export function readPacketIn2(reader: Reader): PacketIn {
    const out: { -readonly [K in keyof PacketIn]?: PacketIn[K] } = {};
    while (reader.remaining > 0) {
        const start = reader.offset;
        const type = reader.u16();
        const length = reader.u16();
        if (length < 4) reader.fail(`packet-in: property of length ${length}, at least 4`);
        const body = reader.sub(length - 4, `packet-in property ${type}`);
        if (type === Property.PACKET) out.data = body.restCopy();
        else if (type === Property.FULL_LENGTH) out.totalLength = body.u32();
        else if (type === Property.TABLE_ID) out.table = body.u8();
        else if (type === Property.REASON) out.reason = body.u8();
        else if (type === Property.COOKIE) out.cookie = readCookie(body);
        else if (type === Property.METADATA) out.metadata = readOxms(body).match;
        else if (type === Property.USERDATA) out.userdata = body.restCopy();
        // Other properties are not needed here.
        reader.skip(Math.min(reader.remaining, (8 - ((reader.offset - start) % 8)) % 8));
    }
    const { data, metadata } = out;
    if (data === undefined) return reader.fail("packet-in without its packet");
    return {
        totalLength: data.length,
        table: 0,
        cookie: 0n,
        reason: 0,
        ...out,
        data,
        metadata: metadata ?? {},
    };
}

function readCookie(body: Reader): bigint {
    body.skip(4);
    return body.u64();
}
