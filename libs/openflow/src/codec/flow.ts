import { type Action } from "./action.ts";
import { type Match } from "./match.ts";

/** One entry of a flow table: OpenFlow 1.5 section 5.2. */
export interface Flow {
    /** 0 to 253. */
    readonly table: number;
    /** 0 to 65535; of several flows that match, the one with the highest priority applies. */
    readonly priority: number;
    readonly match: Match;
    /** Apply-Actions, run in this order. When empty and without `gotoTable`, the packet is dropped. */
    readonly actions: readonly Action[];
    /** Table that processes the packet next; its number must be higher than `table`. */
    readonly gotoTable?: number;
    /** Seconds without a packet (idle) or since it was added (hard) until it is removed; 0 and absent: never. */
    readonly idleTimeout?: number;
    readonly hardTimeout?: number;
    /** 64 bits; not part of the flow's identity. Default 0. */
    readonly cookie?: bigint;
    /** 0 to 65535; the lowest is the first to be evicted from a full table. Default 0. */
    readonly importance?: number;
    /** The switch sends a flow-removed message when the flow ends. Default false. */
    readonly sendFlowRemoved?: boolean;
    /** Bits of the metadata field that are written before `gotoTable`. */
    readonly writeMetadata?: { readonly value: bigint; readonly mask: bigint };
    /** Clears the action set before `writeActions`. Default false. */
    readonly clearActions?: boolean;
    /** Actions that are added to the action set. */
    readonly writeActions?: readonly Action[];
}

/**
 * Command of a flow mod. One that fits no flow changes nothing, except `add`.
 *
 * - `add` replaces a flow of the same table, priority and match.
 * - `modify` and `delete` apply to every flow whose match is that of the command or narrower, the `_strict` ones only
 *   to the flow with the same priority and match. `modify` replaces the instructions only; cookie and timeouts stay.
 */
export type FlowCommand = "add" | "modify" | "modify_strict" | "delete" | "delete_strict";

/**
 * The flow of a change. A modification or deletion needs only the match: without a table it applies to all tables, the
 * priority (default 32768) counts for the `_strict` commands only, and a modification without instructions makes its
 * flows drop. A deletion ignores instructions and timeouts.
 */
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
    /**
     * For add: the switch refuses it when another flow of the same priority can match the same packet. Default false.
     */
    readonly checkOverlap?: boolean;
    /** Resets the counters of a flow that is replaced. Default false. */
    readonly resetCounts?: boolean;
}

/**
 * A flow as the switch reports it, with its counters: OpenFlow 1.5 section 7.3.5.2. Members that have their default are
 * absent.
 */
export interface FlowStats extends Flow {
    readonly cookie: bigint;
    readonly packets: bigint;
    readonly bytes: bigint;
    /** Since the flow was added, with fractions. */
    readonly durationSeconds: number;
    /** Since the last packet, with fractions; absent when the switch does not report it. */
    readonly idleSeconds?: number;
    /** OXM bytes of match fields unknown to this codec: a flow of another program, which cannot be written back. */
    readonly opaqueMatch?: Uint8Array;
}
