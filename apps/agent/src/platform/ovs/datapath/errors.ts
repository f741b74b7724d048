import { AntreaError } from "@antrea/errors";

/** Why the datapath cannot be used, as the codes of DatapathError. */
export type DatapathErrorCode =
    /** The kernel module openvswitch is missing, or was missing when ovs-vswitchd checked. */
    | "MODULE_MISSING"
    /** This Open vSwitch does not support the datapath type. */
    | "TYPE_MISSING"
    /** The kernel denies permission to ovs-vswitchd. */
    | "NOT_PERMITTED"
    /** OVS has not created the bridge, or has created it on another datapath. */
    | "BRIDGE_NOT_MADE"
    /** The datapath lacks a feature that the flows require. */
    | "FEATURE_MISSING"
    /** OVS does not support the tunnel type. */
    | "NO_TUNNEL_TYPE";

/**
 * Details of DatapathError: `datapathType` always, `tunnelType` with `NO_TUNNEL_TYPE`, `bridge` with all other codes,
 * `answer` if the bridge was not created.
 */
export interface DatapathErrorDetails {
    readonly bridge: string;
    readonly datapathType: string;
    readonly tunnelType: string;
    /** Names of the features that the datapath lacks; only of `FEATURE_MISSING`. */
    readonly missing: readonly string[];
    /** The message of OVS about the bridge; "" if it gave none. */
    readonly answer: string;
}

/** The OVS datapath does not meet the agent's requirements; the message names the remedy. */
export class DatapathError extends AntreaError<DatapathErrorCode, DatapathErrorDetails> {}

/** Why a command for ovs-vswitchd failed, as the codes of UnixctlError. */
export type UnixctlErrorCode =
    /** There is no pid file, or no process listens on the socket. */
    | "NOT_RUNNING"
    /** The daemon rejected the command; `details.answer` has its message. */
    | "REFUSED"
    /** The connection ended before the answer; the command may have taken effect. */
    | "DISCONNECTED"
    /** The answer is not valid for the request. */
    | "BAD_ANSWER"
    | "ANSWER_TOO_LONG"
    | "TIMEOUT"
    | "ABORTED";

/** Details of UnixctlError; `pidFile` instead of `socketPath` if that file cannot be used (`NOT_RUNNING`). */
export interface UnixctlErrorDetails {
    readonly socketPath: string;
    readonly pidFile: string;
    readonly command: string;
    readonly args: readonly string[];
    /** The message of the daemon; only of `REFUSED`. */
    readonly answer: string;
}

/**
 * A command for ovs-vswitchd was not answered with success; see UnixctlErrorCode. The message names socket, command and
 * next step.
 */
export class UnixctlError extends AntreaError<UnixctlErrorCode, UnixctlErrorDetails> {}
