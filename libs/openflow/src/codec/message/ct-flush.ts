import { type IpAddress } from "@antrea/ip";
import { checkUint } from "../action/check.ts";
import { type CtFlush, type CtTuple } from "../ct-flush.ts";
import { callerError } from "../errors.ts";
import { endMessage } from "../wire/header.ts";
import { type Writer } from "../wire/writer.ts";
import { beginNiciraMessage, NiciraMessage } from "./simple.ts";

/** Properties of NXT_CT_FLUSH and of the tuples inside it: openflow/nicira-ext.h of Open vSwitch. */
const Property = { ORIGINAL: 0, REPLY: 1, ZONE: 2 } as const;
const Part = { SRC: 0, DST: 1, SRC_PORT: 2, DST_PORT: 3 } as const;
const protocolsWithPorts: readonly number[] = [6, 17, 132];
/** An IPv4 address is written as an IPv6 address of ::ffff:0:0/96. */
const mappedPrefix = 0xffffn << 32n;

/**
 * Writes NXT_CT_FLUSH, which has no answer. Throws `OpenFlowError` `BAD_VALUE` for a number that does not fit, a port
 * without a protocol that has ports, an unspecified address (which would match every one) or addresses of both families.
 */
export function writeCtFlush(writer: Writer, xid: number, flush: CtFlush): void {
    check(flush);
    const start = beginNiciraMessage(writer, xid, NiciraMessage.CT_FLUSH);
    writer.u8(checkUint(flush.protocol ?? 0, 8, "flush.protocol"));
    writer.zeros(7);
    writeTuple(writer, Property.ORIGINAL, flush.original);
    writeTuple(writer, Property.REPLY, flush.reply);
    writeNumber(writer, Property.ZONE, checkUint(flush.zone, 16, "flush.zone"));
    endMessage(writer, start);
}

function check({ protocol, original = {}, reply = {} }: CtFlush): void {
    const addresses = [original.src, original.dst, reply.src, reply.dst].filter((ip) => ip !== undefined);
    if (new Set(addresses.map(({ family }) => family)).size > 1) {
        throw callerError("BAD_VALUE", "flush: addresses of both families; a connection has one");
    }
    if (addresses.some(({ value }) => value === 0n)) {
        throw callerError("BAD_VALUE", "flush: an unspecified address matches every one; leave it out");
    }
    const ports = [original.srcPort, original.dstPort, reply.srcPort, reply.dstPort].filter(
        (port) => port !== undefined,
    );
    if (ports.includes(0)) throw callerError("BAD_VALUE", "flush: port 0 matches every one; leave it out");
    if (protocol === 0) throw callerError("BAD_VALUE", "flush: protocol 0 matches every one; leave it out");
    if (ports.length > 0 && !protocolsWithPorts.includes(protocol ?? 0)) {
        throw callerError("BAD_VALUE", "flush: ports need protocol 6, 17 or 132");
    }
}

function writeTuple(writer: Writer, type: number, tuple: CtTuple = {}): void {
    const start = writer.length;
    // Properties inside are counted from the end of the header and four bytes of padding.
    writer.u16(type);
    writer.u16(0);
    writer.zeros(4);
    const empty = writer.length;
    writeAddress(writer, Part.SRC, tuple.src);
    writeAddress(writer, Part.DST, tuple.dst);
    if (tuple.srcPort !== undefined) writeNumber(writer, Part.SRC_PORT, checkUint(tuple.srcPort, 16, "flush.srcPort"));
    if (tuple.dstPort !== undefined) writeNumber(writer, Part.DST_PORT, checkUint(tuple.dstPort, 16, "flush.dstPort"));
    if (writer.length === empty) return writer.truncate(start);
    writer.patchU16(start + 2, writer.length - start);
}

function writeAddress(writer: Writer, type: number, ip: IpAddress | undefined): void {
    if (ip === undefined) return;
    writer.u16(type);
    writer.u16(20);
    writer.uint(ip.family === 4 ? mappedPrefix | ip.value : ip.value, 16);
    writer.zeros(4);
}

/** A property of 16 bits: its length counts two bytes of padding. */
function writeNumber(writer: Writer, type: number, value: number): void {
    writer.u16(type);
    writer.u16(8);
    writer.u16(value);
    writer.zeros(2);
}
