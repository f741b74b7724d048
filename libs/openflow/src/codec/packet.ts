import { type Action } from "./action.ts";
import { type Match } from "./match.ts";

/** A packet that the switch runs through `actions`: OpenFlow 1.5 section 7.3.6. */
export interface PacketOut {
    /** The port it counts as received on; `Port.CONTROLLER` when it comes from nowhere. */
    readonly inPort: number;
    /** The frame, from the Ethernet header on. */
    readonly data: Uint8Array;
    readonly actions: readonly Action[];
}

/** A packet that a flow sent to the controller: NXT_PACKET_IN2 of ovs-ofctl(8). */
export interface PacketIn {
    /** The frame, or its first bytes when the action had a maximum length. */
    readonly data: Uint8Array;
    /** Length of the whole frame. */
    readonly totalLength: number;
    readonly table: number;
    readonly cookie: bigint;
    readonly reason: number;
    /** Metadata of the packet: `in_port`, registers, tunnel and conntrack fields. */
    readonly metadata: Match;
    /** What the `controller` action carried. */
    readonly userdata?: Uint8Array;
}
