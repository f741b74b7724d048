import { checkUint, checkUint64 } from "../action/check.ts";
import { type Match } from "../match.ts";
import { writeMatch } from "../match/oxm.ts";
import { allGroups, allMeters, allTables, anyGroup, Port } from "../port.ts";
import { beginMessage, endMessage, MessageType } from "../wire/header.ts";
import { type Writer } from "../wire/writer.ts";

/** Multipart types (OFPMP_*) that this codec reads or writes: OpenFlow 1.5 section 7.3.5. */
export const MultipartType = {
    FLOW_DESC: 1,
    AGGREGATE: 2,
    GROUP_STATS: 6,
    GROUP_DESC: 7,
    METER_CONFIG: 10,
    PORT_DESC: 13,
} as const;

/**
 * Filter of a request for flows or for their counters: a flow must fit all members; what is absent does not filter.
 * `cookie` is compared in the bits of `cookieMask` (default all); `match` selects flows with this match or a narrower
 * one, `outPort` and `outGroup` those that output to it.
 */
export interface FlowDescRequest {
    readonly table?: number;
    readonly cookie?: bigint;
    readonly cookieMask?: bigint;
    readonly match?: Match;
    readonly outPort?: number;
    readonly outGroup?: number;
}

/**
 * Writes a request for the flows that fit the filter: OpenFlow 1.5 section 7.3.5.2. Throws `OpenFlowError` `BAD_FIELD`
 * or `BAD_VALUE`.
 */
export function writeFlowDescRequest(writer: Writer, xid: number, request: FlowDescRequest): void {
    writeFlowsRequest(writer, xid, MultipartType.FLOW_DESC, request);
}

/**
 * Writes a request for the sum of the counters of the flows that fit the filter: OpenFlow 1.5 section 7.3.5.4. Throws
 * `OpenFlowError` `BAD_FIELD` or `BAD_VALUE`.
 */
export function writeAggregateRequest(writer: Writer, xid: number, request: FlowDescRequest): void {
    writeFlowsRequest(writer, xid, MultipartType.AGGREGATE, request);
}

function writeFlowsRequest(writer: Writer, xid: number, type: number, request: FlowDescRequest): void {
    const start = beginMultipart(writer, xid, type);
    writer.u8(checkUint(request.table ?? allTables, 8, "table"));
    writer.zeros(3);
    writer.u32(checkUint(request.outPort ?? Port.ANY, 32, "outPort"));
    writer.u32(checkUint(request.outGroup ?? anyGroup, 32, "outGroup"));
    writer.zeros(4);
    const cookie = checkUint64(request.cookie ?? 0n, "cookie");
    const allBits = request.cookie === undefined ? 0n : 0xffffffffffffffffn;
    writer.u64(cookie);
    writer.u64(checkUint64(request.cookieMask ?? allBits, "cookieMask"));
    writeMatch(writer, request.match ?? {});
    endMessage(writer, start);
}

/** Writes a request (OFPMP_PORT_DESC, OpenFlow 1.5 section 7.3.5) for all ports of the switch. */
export function writePortDescRequest(writer: Writer, xid: number): void {
    const start = beginMultipart(writer, xid, MultipartType.PORT_DESC);
    writer.u32(Port.ANY);
    writer.zeros(4);
    endMessage(writer, start);
}

/**
 * Writes a request for one group, or all: OpenFlow 1.5 section 7.3.5.11. Throws `OpenFlowError` `BAD_VALUE`.
 *
 * Open vSwitch 3.1 cannot describe a group whose buckets have more than 64 KiB: its answer has a length that is too
 * small, so what follows on the connection is unreadable.
 */
export function writeGroupDescRequest(writer: Writer, xid: number, id = allGroups): void {
    writeIdRequest(writer, xid, MultipartType.GROUP_DESC, id);
}

/**
 * Writes a request for the counters of one group, or all: OpenFlow 1.5 section 7.3.5.10. Throws `OpenFlowError`
 * `BAD_VALUE`. Open vSwitch 3.1 cannot answer for a group of more than 4,091 buckets, as `writeGroupDescRequest` documents.
 */
export function writeGroupStatsRequest(writer: Writer, xid: number, id = allGroups): void {
    writeIdRequest(writer, xid, MultipartType.GROUP_STATS, id);
}

/** Writes a request for one meter, or all: OpenFlow 1.5 section 7.3.5.14. Throws `OpenFlowError` `BAD_VALUE`. */
export function writeMeterConfigRequest(writer: Writer, xid: number, id = allMeters): void {
    writeIdRequest(writer, xid, MultipartType.METER_CONFIG, id);
}

function writeIdRequest(writer: Writer, xid: number, type: number, id: number): void {
    const start = beginMultipart(writer, xid, type);
    writer.u32(checkUint(id, 32, "id"));
    writer.zeros(4);
    endMessage(writer, start);
}

function beginMultipart(writer: Writer, xid: number, type: number): number {
    const start = beginMessage(writer, MessageType.MULTIPART_REQUEST, xid);
    writer.u16(type);
    writer.u16(0);
    writer.zeros(4);
    return start;
}
