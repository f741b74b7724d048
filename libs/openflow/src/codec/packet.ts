import { type Action } from "./action.ts";
import { type Match } from "./match.ts";

/**
 * A packet that the switch runs through `actions`: OpenFlow 1.5 section 7.3.6. An action list that outputs nothing
 * drops it.
 */
export interface PacketOut {
    /** The port that it is processed as received on; `Port.CONTROLLER` when there is none. */
    readonly inPort: number;
    /** The frame, from the Ethernet header on. */
    readonly data: Uint8Array;
    readonly actions: readonly Action[];
}

/**
 * A packet that the switch sent to the controller: NXT_PACKET_IN2 of ovs-ofctl(8), "monitor". Its bytes are copies that
 * the receiver may keep.
 */
export interface PacketIn {
    /** The frame, or its first bytes when the action had a maximum length. */
    readonly data: Uint8Array;
    /** Length of the whole frame. */
    readonly totalLength: number;
    /** Table and cookie of the flow that sent it; 0 when the switch does not report them. */
    readonly table: number;
    readonly cookie: bigint;
    /** OFPR_* number: why it was sent (OpenFlow 1.5 section 7.4.1). */
    readonly reason: number;
    /** Metadata of the packet: `in_port`, registers, tunnel and conntrack fields. */
    readonly metadata: Match;
    /** `userdata` of the `controller` action. */
    readonly userdata?: Uint8Array;
}
