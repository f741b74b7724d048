import { checkUint, checkUint64 } from "../action/check.ts";
import { type FlowStats } from "../flow.ts";
import { type Group, type GroupCounters } from "../group.ts";
import { type Match } from "../match.ts";
import { readMatch, writeMatch } from "../match/oxm.ts";
import { type Meter } from "../meter.ts";
import { allGroups, allMeters, allTables, anyGroup, Port } from "../port.ts";
import { beginMessage, endMessage, MessageType } from "../wire/header.ts";
import { type Reader } from "../wire/reader.ts";
import { type Writer } from "../wire/writer.ts";
import { timing } from "./flow-mod.ts";
import { readGroup, readGroupCounters } from "./group-stats.ts";
import { readInstructions } from "./instruction.ts";
import { readMeter } from "./meter-mod.ts";
import { readStats, readTotals, type FlowTotals } from "./stats.ts";

/** Multipart types (OFPMP_*) that this codec reads or writes: OpenFlow 1.5 section 7.3.5. */
const MultipartType = {
    FLOW_DESC: 1,
    AGGREGATE: 2,
    GROUP_STATS: 6,
    GROUP_DESC: 7,
    METER_CONFIG: 10,
    PORT_DESC: 13,
} as const;
const moreFollows = 1;

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

/** A port of the switch (`ofp_port`): OpenFlow 1.5 section 7.2.1. */
export interface PortDescription {
    /** OpenFlow port number. */
    readonly port: number;
    /** 6 bytes. */
    readonly mac: Uint8Array;
    /** Name of the interface, at most 15 bytes. */
    readonly name: string;
    /** OFPPC_* bits: 1 is administratively down. */
    readonly config: number;
    /** OFPPS_* bits: 1 is link down. */
    readonly state: number;
}

/**
 * One part of a multipart reply; with `more`, another part follows under the same xid. The kinds are flow descriptions,
 * aggregate flow counters, groups, their counters, meters, ports, or a type that this codec does not read.
 */
export type MultipartReply = { readonly more: boolean } & (
    | { readonly kind: "flows"; readonly flows: readonly FlowStats[] }
    | { readonly kind: "totals"; readonly totals: FlowTotals }
    | { readonly kind: "groups"; readonly groups: readonly Group[] }
    | { readonly kind: "group_counters"; readonly counters: readonly GroupCounters[] }
    | { readonly kind: "meters"; readonly meters: readonly Meter[] }
    | { readonly kind: "ports"; readonly ports: readonly PortDescription[] }
    | { readonly kind: "unknown"; readonly multipartType: number }
);

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
    endMessage(writer, start, "the request for flows");
}

/** Writes a request (OFPMP_PORT_DESC, OpenFlow 1.5 section 7.3.5) for all ports of the switch. */
export function writePortDescRequest(writer: Writer, xid: number): void {
    const start = beginMultipart(writer, xid, MultipartType.PORT_DESC);
    writer.u32(Port.ANY);
    writer.zeros(4);
    endMessage(writer, start, "the request for ports");
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
 * `BAD_VALUE`. Open vSwitch 3.1 cannot answer for a group of more than 4,091 buckets, as `writeGroupDescRequest` says.
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
    endMessage(writer, start, "the request");
}

function beginMultipart(writer: Writer, xid: number, type: number): number {
    const start = beginMessage(writer, MessageType.MULTIPART_REQUEST, xid);
    writer.u16(type);
    writer.u16(0);
    writer.zeros(4);
    return start;
}

/**
 * Reads the body of one multipart reply: type, flags and all that it lists up to the end of the reader. Throws
 * `OpenFlowError` `SHORT`, `LONG` or `MALFORMED`.
 */
export function readMultipartReply(reader: Reader): MultipartReply {
    const type = reader.u16();
    const more = (reader.u16() & moreFollows) !== 0;
    reader.skip(4);
    switch (type) {
        case MultipartType.FLOW_DESC:
            return { more, kind: "flows", flows: readAll(reader, readFlow) };
        case MultipartType.AGGREGATE:
            return { more, kind: "totals", totals: readTotals(reader) };
        case MultipartType.GROUP_STATS:
            return { more, kind: "group_counters", counters: readAll(reader, readGroupCounters) };
        case MultipartType.GROUP_DESC:
            return { more, kind: "groups", groups: readAll(reader, readGroup) };
        case MultipartType.METER_CONFIG:
            return { more, kind: "meters", meters: readAll(reader, readMeter) };
        case MultipartType.PORT_DESC:
            return { more, kind: "ports", ports: readAll(reader, readPort) };
        default:
            return { more, kind: "unknown", multipartType: type };
    }
}

function readAll<T>(reader: Reader, read: (reader: Reader) => T): T[] {
    const all: T[] = [];
    while (reader.remaining > 0) all.push(read(reader));
    return all;
}

/** `ofp_flow_desc`: OpenFlow 1.5 section 7.3.5.2. */
function readFlow(list: Reader): FlowStats {
    const length = list.u16();
    if (length < 32) list.fail(`flow of length ${length}, at least 32`);
    const reader = list.sub(length - 2, "flow");
    reader.skip(2);
    const table = reader.u8();
    reader.skip(1);
    const priority = reader.u16();
    const idleTimeout = reader.u16();
    const hardTimeout = reader.u16();
    const flags = reader.u16();
    const importance = reader.u16();
    const cookie = reader.u64();
    const { match, opaque } = readMatch(reader);
    const counters = readStats(reader);
    return {
        table,
        priority,
        match,
        ...timing({ idleTimeout, hardTimeout, flags, importance }),
        ...readInstructions(reader),
        ...(opaque === undefined ? {} : { opaqueMatch: opaque }),
        cookie,
        ...counters,
    };
}

const portNameBytes = 16;
const portBytes = 40;

/** Reads `ofp_port` and skips its properties. Throws `OpenFlowError` `SHORT` or `MALFORMED`. */
export function readPort(list: Reader): PortDescription {
    const port = list.u32();
    const length = list.u16();
    if (length < portBytes) list.fail(`port of length ${length}, at least ${portBytes}`);
    const reader = list.sub(length - 6, "port");
    reader.skip(2);
    const mac = new Uint8Array(reader.bytes(6));
    reader.skip(2);
    const text = reader.bytes(portNameBytes);
    const zero = text.indexOf(0);
    const name = new TextDecoder().decode(zero === -1 ? text : text.subarray(0, zero));
    return { port, mac, name, config: reader.u32(), state: reader.u32() };
}
