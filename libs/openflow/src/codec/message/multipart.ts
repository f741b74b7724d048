import { type FlowStats } from "../flow.ts";
import { type Group, type GroupCounters } from "../group.ts";
import { readMatch } from "../match/oxm.ts";
import { type Meter } from "../meter.ts";
import { type Reader } from "../wire/reader.ts";
import { timing } from "./flow-mod.ts";
import { readGroup, readGroupCounters } from "./group-stats.ts";
import { readInstructions } from "./instruction.ts";
import { readMeter } from "./meter-mod.ts";
import { MultipartType } from "./multipart-request.ts";
import { readPort, type PortDescription } from "./port-description.ts";
import { readStats, readTotals, type FlowTotals } from "./stats.ts";

const moreFollows = 1;

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
