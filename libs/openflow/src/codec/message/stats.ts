import { type Reader } from "../wire/reader.ts";

/** Counters of one flow; times are in seconds with fractions. */
export interface Counters {
    /** Since the flow was added. */
    readonly durationSeconds: number;
    /** Since the last packet; absent when the switch does not report it. */
    readonly idleSeconds?: number;
    readonly packets: bigint;
    readonly bytes: bigint;
}

/** The number of the flows that a filter selects, and the sums of their packets and bytes. */
export interface FlowTotals {
    readonly flows: number;
    readonly packets: bigint;
    readonly bytes: bigint;
}

const oxsClass = 0x8002;
/** OpenFlow 1.5 section 7.2.4.2. */
const Oxs = { DURATION: 0, IDLE_TIME: 1, FLOW_COUNT: 3, PACKET_COUNT: 4, BYTE_COUNT: 5 } as const;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * Reads the `ofp_stats` of one flow (OpenFlow 1.5 section 7.2.4.1) with their padding; absent counters are 0, an absent
 * idle time is left out. Throws `OpenFlowError` `SHORT` or `MALFORMED`.
 */
export function readStats(reader: Reader): Counters {
    const counters: Mutable<Counters> = { durationSeconds: 0, packets: 0n, bytes: 0n };
    readFields(reader, (field, value) => {
        if (field === Oxs.DURATION) counters.durationSeconds = seconds(value);
        else if (field === Oxs.IDLE_TIME) counters.idleSeconds = seconds(value);
        else if (field === Oxs.PACKET_COUNT) counters.packets = value.u64();
        else if (field === Oxs.BYTE_COUNT) counters.bytes = value.u64();
    });
    return counters;
}

/**
 * Reads the `ofp_stats` of an aggregate reply with their padding (OpenFlow 1.5 section 7.2.4.1); absent counters are 0.
 * Throws `OpenFlowError` `SHORT` or `MALFORMED`.
 */
export function readTotals(reader: Reader): FlowTotals {
    const totals: Mutable<FlowTotals> = { flows: 0, packets: 0n, bytes: 0n };
    readFields(reader, (field, value) => {
        if (field === Oxs.FLOW_COUNT) totals.flows = value.u32();
        else if (field === Oxs.PACKET_COUNT) totals.packets = value.u64();
        else if (field === Oxs.BYTE_COUNT) totals.bytes = value.u64();
    });
    return totals;
}

/** Reads `ofp_stats` (OpenFlow 1.5 section 7.2.4.1) with its padding; fields of other classes are skipped. */
function readFields(reader: Reader, read: (field: number, value: Reader) => void): void {
    const start = reader.offset;
    reader.skip(2);
    const length = reader.u16();
    if (length < 4) reader.fail(`flow counters of length ${length}, at least 4`);
    const body = reader.sub(length - 4, "flow counters");
    while (body.remaining > 0) {
        const fieldClass = body.u16();
        const field = body.u8() >> 1;
        const value = body.sub(body.u8(), "flow counter");
        if (fieldClass === oxsClass) read(field, value);
    }
    reader.skip((8 - ((reader.offset - start) % 8)) % 8);
}

function seconds(value: Reader): number {
    return value.u32() + value.u32() / 1e9;
}
