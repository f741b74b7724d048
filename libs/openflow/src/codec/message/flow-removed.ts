import { type Match } from "../match.ts";
import { readMatch } from "../match/oxm.ts";
import { type Reader } from "../wire/reader.ts";
import { readStats, type Counters } from "./stats.ts";

/** OpenFlow 1.5 section 7.4.2: reasons in their order on the wire. */
const reasons = ["idle_timeout", "hard_timeout", "delete", "group_delete", "meter_delete", "eviction"] as const;

/**
 * A flow with `sendFlowRemoved` was removed: identity, reason and last counters (OpenFlow 1.5 section 7.4.2). `match`
 * lacks the fields that this codec does not know; table and priority as in `Flow`.
 */
export interface FlowRemoved extends Counters {
    readonly table: number;
    readonly priority: number;
    readonly cookie: bigint;
    readonly reason: (typeof reasons)[number];
    readonly match: Match;
}

/** Reads the body of a flow-removed message. Throws `OpenFlowError` `SHORT` or `MALFORMED`. */
export function readFlowRemoved(reader: Reader): FlowRemoved {
    const table = reader.u8();
    const code = reader.u8();
    const reason = reasons[code] ?? reader.fail(`flow removed: unknown reason ${code}`);
    const priority = reader.u16();
    reader.skip(4);
    const cookie = reader.u64();
    const { match } = readMatch(reader);
    return { table, priority, cookie, reason, match, ...readStats(reader) };
}
