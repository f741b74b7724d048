import { type SubField } from "../match.ts";

/**
 * The source of a value of `learn`: bits of the packet that runs it, or a constant that fits into the target's bits.
 */
export type LearnSource = SubField | { readonly value: number | bigint };

/**
 * One part of the flow that `learn` adds (ovs-actions(7), "learn"). `source` is a constant or read from the packet that
 * runs `learn`: `match` matches it in `field`, `load` writes it to `to`, `output` outputs to the port with this number.
 * Source and target have equal widths, else writing throws `BAD_VALUE`.
 */
export type LearnSpec =
    | { readonly kind: "match"; readonly field: SubField; readonly source: LearnSource }
    | { readonly kind: "load"; readonly to: SubField; readonly source: LearnSource }
    | { readonly kind: "output"; readonly source: SubField };

/** Adds a flow, or modifies the one of the same match, for each packet it runs on: ovs-actions(7), "learn". */
export interface LearnAction {
    readonly type: "learn";
    /** Table, priority (default 32768) and cookie (default 0) of the learned flow. */
    readonly table: number;
    readonly priority?: number;
    readonly cookie?: bigint;
    /** Timeouts of the learned flow in seconds; 0 and absent: none. The `fin` ones apply after a TCP FIN or RST. */
    readonly idleTimeout?: number;
    readonly hardTimeout?: number;
    readonly finIdleTimeout?: number;
    readonly finHardTimeout?: number;
    /** Deletes the learned flows when this flow is deleted. Default false. */
    readonly deleteLearned?: boolean;
    /** The learned flow is reported to the controller when it ends. Default false. */
    readonly sendFlowRemoved?: boolean;
    /** Most learned flows with this cookie in this table; 0 and absent: no limit. */
    readonly limit?: number;
    /** The matches and actions of the learned flow. */
    readonly specs: readonly LearnSpec[];
}
