import { type Reader } from "../wire/reader.ts";

/** Counters of a flow. */
export interface Counters {
    readonly durationSeconds: number;
    readonly idleSeconds?: number;
    readonly packets: bigint;
    readonly bytes: bigint;
}

const oxsClass = 0x8002;
/** OpenFlow 1.5 section 7.2.4.2. */
const Oxs = { DURATION: 0, IDLE_TIME: 1, FLOW_COUNT: 3, PACKET_COUNT: 4, BYTE_COUNT: 5 } as const;

/** Reads `ofp_stats` (OpenFlow 1.5 section 7.2.4.1) with its padding; fields it does not know are skipped. */
export function readStats(reader: Reader): Counters {
    const start = reader.offset;
    reader.skip(2);
    const length = reader.u16();
    if (length < 4) reader.fail(`flow counters of length ${length}, at least 4`);
    const body = reader.sub(length - 4, "flow counters");
    const counters: { -readonly [K in keyof Counters]: Counters[K] } = { durationSeconds: 0, packets: 0n, bytes: 0n };
    while (body.remaining > 0) {
        const fieldClass = body.u16();
        const field = body.u8() >> 1;
        const value = body.sub(body.u8(), "flow counter");
        if (fieldClass !== oxsClass) continue;
        if (field === Oxs.DURATION) counters.durationSeconds = seconds(value);
        else if (field === Oxs.IDLE_TIME) counters.idleSeconds = seconds(value);
        else if (field === Oxs.PACKET_COUNT) counters.packets = value.u64();
        else if (field === Oxs.BYTE_COUNT) counters.bytes = value.u64();
    }
    reader.skip((8 - ((reader.offset - start) % 8)) % 8);
    return counters;
}

function seconds(value: Reader): number {
    return value.u32() + value.u32() / 1e9;
}
