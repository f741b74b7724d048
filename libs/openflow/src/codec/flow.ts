import { type Action } from "./action.ts";
import { type Match } from "./match.ts";

/** One entry of a flow table: OpenFlow 1.5 section 5.2. */
export interface Flow {
    /** 0 to 253. */
    readonly table: number;
    /** 0 to 65535, the highest wins. */
    readonly priority: number;
    readonly match: Match;
    /** Run at once (Apply-Actions), in this order. Empty and no `gotoTable`: the packet is dropped. */
    readonly actions: readonly Action[];
    /** A higher table where the packet goes on. */
    readonly gotoTable?: number;
    /** Seconds; 0 and absent: never. */
    readonly idleTimeout?: number;
    readonly hardTimeout?: number;
    /** Default 0. */
    readonly cookie?: bigint;
    /** 0 (default) is the first to be evicted from a full table. */
    readonly importance?: number;
    /** Tell the controller when the flow ends. */
    readonly sendFlowRemoved?: boolean;
    /** Bits of the metadata field that are written before `gotoTable`. */
    readonly writeMetadata?: { readonly value: bigint; readonly mask: bigint };
    /** Forget the action set (before `writeActions`). */
    readonly clearActions?: boolean;
    /** Added to the action set. */
    readonly writeActions?: readonly Action[];
}

/**
 * - `add` replaces a flow of the same table, priority and match.
 * - `modify` and `delete` touch every flow that the match covers, the `_strict` ones only the equal flow.
 */
export type FlowCommand = "add" | "modify" | "modify_strict" | "delete" | "delete_strict";

/** What a deletion or modification needs of a flow: without a table all tables are meant. */
export type FlowLike = Pick<Flow, "match"> & Partial<Flow>;

/** A change of the flow tables: OpenFlow 1.5 section 7.3.4.2. */
export interface FlowMod {
    readonly command: FlowCommand;
    /** `add` needs table, priority and actions. */
    readonly flow: FlowLike;
    /** For modify and delete: only flows whose cookie equals `flow.cookie` in these bits. Default 0: any cookie. */
    readonly cookieMask?: bigint;
    /** For delete: only flows that output to this port or group. Default any. */
    readonly outPort?: number;
    readonly outGroup?: number;
    /** For add: refuse when another flow of the same priority can match the same packet. */
    readonly checkOverlap?: boolean;
    /** Zero the counters of a flow that is replaced. Default false. */
    readonly resetCounts?: boolean;
}

/** A flow as the switch reports it, with its counters. */
export interface FlowStats extends Flow {
    readonly cookie: bigint;
    readonly packets: bigint;
    readonly bytes: bigint;
    readonly durationSeconds: number;
    readonly idleSeconds?: number;
    /** Fields of the match that this codec does not know: such a flow is someone else's and cannot be written back. */
    readonly opaqueMatch?: Uint8Array;
}
