import { niciraVendor } from "../action/constants.ts";
import { checkUint } from "../action/check.ts";
import { beginMessage, endMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

/** Experimenter messages of Open vSwitch. */
export const NiciraMessage = { SET_PACKET_IN_FORMAT: 16, SET_CONTROLLER_ID: 20, PACKET_IN2: 30 } as const;

const packetIn2Format = 2;

/** What a switch says of itself: OpenFlow 1.5 section 7.3.1. */
export interface Features {
    readonly datapathId: bigint;
    readonly tables: number;
    readonly capabilities: number;
}

type BareMessage = "ECHO_REQUEST" | "ECHO_REPLY" | "FEATURES_REQUEST" | "BARRIER_REQUEST";

/** A message with a header and, for an echo, free data. */
export function writeBare(writer: Writer, type: BareMessage, xid: number, data?: Uint8Array): void {
    const start = beginMessage(writer, MessageType[type], xid);
    if (data !== undefined) writer.bytes(data);
    endMessage(writer, start, type);
}

/** Asks for packet-ins (which a service connection gets none of by default) with up to this many bytes. */
export function writeSetConfig(writer: Writer, xid: number, missSendLength: number): void {
    const start = beginMessage(writer, MessageType.SET_CONFIG, xid);
    writer.u16(0);
    writer.u16(checkUint(missSendLength, 16, "missSendLength"));
    endMessage(writer, start, "set config");
}

/** Asks for packet-ins in the form NXT_PACKET_IN2. */
export function writeSetPacketInFormat(writer: Writer, xid: number): void {
    const start = beginNiciraMessage(writer, xid, NiciraMessage.SET_PACKET_IN_FORMAT);
    writer.u32(packetIn2Format);
    endMessage(writer, start, "set packet-in format");
}

/** Gives this connection the id that `controller` actions name. */
export function writeSetControllerId(writer: Writer, xid: number, id: number): void {
    const start = beginNiciraMessage(writer, xid, NiciraMessage.SET_CONTROLLER_ID);
    writer.zeros(6);
    writer.u16(checkUint(id, 16, "controllerId"));
    endMessage(writer, start, "set controller id");
}

function beginNiciraMessage(writer: Writer, xid: number, subtype: number): number {
    const start = beginMessage(writer, MessageType.EXPERIMENTER, xid);
    writer.u32(niciraVendor);
    writer.u32(subtype);
    return start;
}

export function readFeatures(reader: Reader): Features {
    const datapathId = reader.u64();
    reader.skip(4);
    const tables = reader.u8();
    reader.skip(3);
    const capabilities = reader.u32();
    reader.skip(4);
    reader.end();
    return { datapathId, tables, capabilities };
}
