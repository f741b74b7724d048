import { type IpAddress } from "@antrea/ip";
import { type LearnAction } from "./action/learn-action.ts";
import { type FieldName } from "./fields.ts";
import { type SubField } from "./match.ts";

/**
 * Address translation of a `ct` action: ovs-actions(7), "nat". `restore` applies the translation that the connection
 * already has; `src` and `dst` translate to an address and port of the given ranges (both ends inclusive).
 */
export type Nat =
    | { readonly kind: "restore" }
    | {
          readonly kind: "src" | "dst";
          /** First (or only) address; without it the address stays and only ports change. */
          readonly min?: IpAddress;
          /** Last address, of the family of `min`, which it needs. Default `min`. */
          readonly max?: IpAddress;
          /** First (or only) port, 0 to 65535; `portMax` is the last one and needs it. */
          readonly portMin?: number;
          readonly portMax?: number;
          /** Flags of ovs-actions(7), "nat". Default false. */
          readonly persistent?: boolean;
          readonly hash?: boolean;
          readonly random?: boolean;
      };

/**
 * Outputs the packet to a port, given by its OpenFlow number (32 bits) or as one of `Port`: ovs-actions(7), "output".
 */
export interface OutputAction {
    readonly type: "output";
    readonly port: number;
    /** Most bytes of the packet that are output; for a port other than `Port.CONTROLLER` it truncates. Default all. */
    readonly maxLength?: number;
}

/** Outputs the packet to the port whose number is in `source`: ovs-actions(7), "output". */
export interface OutputFieldAction {
    readonly type: "output_field";
    readonly source: SubField;
    /** Most bytes sent to a controller, 0 to 65535. Default 65535: the whole packet. */
    readonly maxLength?: number;
}

/**
 * Writes a constant to a field of the packet: ovs-actions(7), "set_field". The value must fit into the field and, if
 * there is one, the mask.
 */
export interface SetFieldAction {
    readonly type: "set_field";
    readonly field: FieldName;
    readonly value: number | bigint;
    /** The bits that are written; not 0. Default all of the field. */
    readonly mask?: number | bigint;
}

/** Copies bits from one field to another: ovs-actions(7), "move". */
export interface MoveAction {
    readonly type: "move";
    readonly from: SubField;
    /** As many bits as `from`. */
    readonly to: SubField;
}

/**
 * Searches another table for a flow of the packet and runs its actions, then continues after this one: ovs-actions(7),
 * "resubmit".
 */
export interface ResubmitAction {
    readonly type: "resubmit";
    /** The in_port of the lookup, at most 65279 or a reserved port. Default: the packet's own in_port. */
    readonly port?: number;
    /** Table of the lookup. Default: the table of this flow. */
    readonly table?: number;
}

/** Sends the packet, which must be IP, through connection tracking: ovs-actions(7), "ct". */
export interface CtAction {
    readonly type: "ct";
    /** Commits the connection to the tracker. Default false. */
    readonly commit?: boolean;
    /** Replaces the connection if it exists in the other direction; needs `commit`. Default false. */
    readonly force?: boolean;
    /** Conntrack zone: 0 to 65535, or the bits of a field that hold it. */
    readonly zone: number | SubField;
    /** Table that a copy of the packet is resubmitted to with its conntrack state set. Default none. */
    readonly table?: number;
    /** Translates addresses and ports of the connection. Default none. */
    readonly nat?: Nat;
    /** `set_field` and `move` to `ct_mark` and `ct_label`. */
    readonly exec?: readonly Action[];
    /** Port of the application's helper: 21 ftp, 69 tftp. Default none. */
    readonly alg?: number;
}

/**
 * Runs actions on a copy of the packet; what they change, and what connection tracking keeps of the copy, is not seen by
 * the actions after it: ovs-actions(7), "clone".
 */
export interface CloneAction {
    readonly type: "clone";
    readonly actions: readonly Action[];
}

/** Sends the packet to a controller as a packet-in: ovs-actions(7), "controller". */
export interface ControllerAction {
    readonly type: "controller";
    /** Most bytes sent. Default 65535: the whole packet. Open vSwitch 3.1 ignores it and sends the whole packet. */
    readonly maxLength?: number;
    /** Id of the controller connection that receives it (`ConnectionOptions.controllerId`). Default 0. */
    readonly id?: number;
    /** Reason that the packet-in carries. Default "action". */
    readonly reason?: "no_match" | "action" | "invalid_ttl" | "action_set" | "group" | "packet_out";
    /** Bytes that the packet-in returns unchanged (`PacketIn.userdata`); at most 65535. Default none. */
    readonly userdata?: Uint8Array;
    /** Id of the meter that limits the rate of these packet-ins. Default none. */
    readonly meter?: number;
    /** The switch holds the packet until a resume message. Default false. */
    readonly pause?: boolean;
}

/**
 * One action of a flow or packet-out: OpenFlow 1.5 section 7.2.6 and ovs-actions(7). Actions run in the order of their
 * list; an empty list does nothing. `group`, `meter`, `queue` and a conjunction's `id` have 32 bits; `etherType` is
 * 0x8100 or 0x88a8. Writing throws `OpenFlowError` `BAD_FIELD` or `BAD_VALUE` for what does not fit.
 */
export type Action =
    | OutputAction
    | OutputFieldAction
    | SetFieldAction
    | MoveAction
    | ResubmitAction
    | { readonly type: "group"; readonly group: number }
    | { readonly type: "meter"; readonly meter: number }
    | CtAction
    | { readonly type: "ct_clear" }
    | CloneAction
    | { readonly type: "dec_ttl" }
    | { readonly type: "push_vlan"; readonly etherType: number }
    | { readonly type: "pop_vlan" }
    | LearnAction
    /** Clause `clause` (from 1) of `clauses` of the conjunction `id`. */
    | { readonly type: "conjunction"; readonly clause: number; readonly clauses: number; readonly id: number }
    | ControllerAction
    | { readonly type: "note"; readonly data: Uint8Array }
    | { readonly type: "set_queue"; readonly queue: number }
    | { readonly type: "exit" }
    /** An action without a type in this codec, as read, with its header: flows of other programs stay readable. */
    | { readonly type: "raw"; readonly bytes: Uint8Array };
