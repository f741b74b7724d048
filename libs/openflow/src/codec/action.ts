import { type IpAddress } from "@antrea/ip";
import { type FieldName } from "./fields.ts";
import { type SubField } from "./match.ts";

/** Address translation of a `ct` action: ovs-actions(7), "nat". */
export type Nat =
    | { readonly kind: "restore" }
    | {
          readonly kind: "src" | "dst";
          /** First (or only) address; without it the address stays and only ports change. */
          readonly min?: IpAddress;
          readonly max?: IpAddress;
          readonly portMin?: number;
          readonly portMax?: number;
          readonly persistent?: boolean;
          readonly hash?: boolean;
          readonly random?: boolean;
      };

/** Where a value of `learn` comes from: a part of the packet, or a constant. */
export type LearnSource = SubField | { readonly value: number | bigint };

/** One part of the flow that `learn` adds: ovs-actions(7), "learn". */
export type LearnSpec =
    | { readonly kind: "match"; readonly field: SubField; readonly source: LearnSource }
    | { readonly kind: "load"; readonly to: SubField; readonly source: LearnSource }
    | { readonly kind: "output"; readonly source: SubField };

export interface OutputAction {
    readonly type: "output";
    readonly port: number;
    /** Bytes sent to a controller; only with `Port.CONTROLLER`. Default 65535: the whole packet. */
    readonly maxLength?: number;
}

export interface OutputFieldAction {
    readonly type: "output_field";
    readonly source: SubField;
    /** Default 65535. */
    readonly maxLength?: number;
}

export interface SetFieldAction {
    readonly type: "set_field";
    readonly field: FieldName;
    readonly value: number | bigint;
    /** The bits that are written. Default all of the field. */
    readonly mask?: number | bigint;
}

export interface MoveAction {
    readonly type: "move";
    readonly from: SubField;
    /** As many bits as `from`. */
    readonly to: SubField;
}

export interface ResubmitAction {
    readonly type: "resubmit";
    /** Looked up as if received there. Default: the packet's own in_port. */
    readonly port?: number;
    /** Default: the present table. */
    readonly table?: number;
}

export interface CtAction {
    readonly type: "ct";
    readonly commit?: boolean;
    readonly force?: boolean;
    readonly zone: number | SubField;
    /** Table in which the packet goes on with its conntrack state known. */
    readonly table?: number;
    readonly nat?: Nat;
    /** `set_field` and `move` to `ct_mark` and `ct_label`. */
    readonly exec?: readonly Action[];
    /** Port of the application's helper: 21 ftp, 69 tftp. */
    readonly alg?: number;
}

export interface LearnAction {
    readonly type: "learn";
    readonly table: number;
    readonly priority?: number;
    readonly cookie?: bigint;
    readonly idleTimeout?: number;
    readonly hardTimeout?: number;
    readonly finIdleTimeout?: number;
    readonly finHardTimeout?: number;
    /** Delete what was learned when this flow is deleted. */
    readonly deleteLearned?: boolean;
    readonly sendFlowRemoved?: boolean;
    /** At most this many learned flows with this cookie and table; 0 and absent: no limit. */
    readonly limit?: number;
    readonly specs: readonly LearnSpec[];
}

export interface ControllerAction {
    readonly type: "controller";
    /** Default 65535: the whole packet. Open vSwitch 3.1 sends the whole packet whatever it says. */
    readonly maxLength?: number;
    /** Which controller connection. Default 0. */
    readonly id?: number;
    /** Default "action". */
    readonly reason?: "no_match" | "action" | "invalid_ttl" | "action_set" | "group" | "packet_out";
    readonly userdata?: Uint8Array;
    readonly meter?: number;
    /** Hold the packet until a resume message. */
    readonly pause?: boolean;
}

/** OpenFlow 1.5 section 7.2.6 and ovs-actions(7). Actions run in the order of the list; an empty list drops. */
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
    /** An action this codec has no type for, as it was read, header included: kept so that others' flows stay readable. */
    | { readonly type: "raw"; readonly bytes: Uint8Array };
