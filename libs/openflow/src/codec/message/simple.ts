import { niciraVendor } from "../action/constants.ts";
import { checkUint } from "../action/check.ts";
import { beginMessage, endLongMessage, endMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";

/** Subtypes of Open vSwitch's experimenter messages (NXT_*, openvswitch/ofp-msgs.h) that this codec reads or writes. */
export const NiciraMessage = { SET_PACKET_IN_FORMAT: 16, SET_CONTROLLER_ID: 20, PACKET_IN2: 30, CT_FLUSH: 32 } as const;

const packetIn2Format = 2;

/**
 * What a switch reports of itself in a features reply (OpenFlow 1.5 section 7.3.1): its datapath id, the number of its
 * tables and OFPC_* bits.
 */
export interface Features {
    readonly datapathId: bigint;
    readonly tables: number;
    readonly capabilities: number;
}

type BareMessage = "ECHO_REQUEST" | "ECHO_REPLY" | "FEATURES_REQUEST" | "BARRIER_REQUEST";

/**
 * Writes a message that has only a header and, for an echo, `data` of any content. Throws `OpenFlowError` `TOO_BIG`.
 */
export function writeBare(writer: Writer, type: BareMessage, xid: number, data?: Uint8Array): void {
    const start = beginMessage(writer, MessageType[type], xid);
    if (data !== undefined) writer.bytes(data);
    endLongMessage(writer, start, type);
}

/**
 * Writes OFPT_SET_CONFIG: packet-ins on this connection have up to `missSendLength` bytes (0 to 65535, else
 * `OpenFlowError` `BAD_VALUE`). A service connection gets none by default.
 */
export function writeSetConfig(writer: Writer, xid: number, missSendLength: number): void {
    const start = beginMessage(writer, MessageType.SET_CONFIG, xid);
    writer.u16(0);
    writer.u16(checkUint(missSendLength, 16, "missSendLength"));
    endMessage(writer, start);
}

/**
 * Writes the request (NXT_SET_PACKET_IN_FORMAT) to send packet-ins on this connection as NXT_PACKET_IN2. It has no
 * answer.
 */
export function writeSetPacketInFormat(writer: Writer, xid: number): void {
    const start = beginNiciraMessage(writer, xid, NiciraMessage.SET_PACKET_IN_FORMAT);
    writer.u32(packetIn2Format);
    endMessage(writer, start);
}

/**
 * Writes the request (NXT_SET_CONTROLLER_ID) to give this connection the id that `controller` actions name, 0 to 65535.
 * It has no answer. Throws `OpenFlowError` `BAD_VALUE`.
 */
export function writeSetControllerId(writer: Writer, xid: number, id: number): void {
    const start = beginNiciraMessage(writer, xid, NiciraMessage.SET_CONTROLLER_ID);
    writer.zeros(6);
    writer.u16(checkUint(id, 16, "controllerId"));
    endMessage(writer, start);
}

/**
 * Writes the header of one of Open vSwitch's experimenter messages, of `NiciraMessage` `subtype`, and returns its offset
 * for `endMessage`.
 */
export function beginNiciraMessage(writer: Writer, xid: number, subtype: number): number {
    const start = beginMessage(writer, MessageType.EXPERIMENTER, xid);
    writer.u32(niciraVendor);
    writer.u32(subtype);
    return start;
}

/** Reads the body of a features reply. Throws `OpenFlowError` `SHORT` or `LONG`. */
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
