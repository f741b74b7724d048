import { AntreaError } from "@antrea/errors";

export type DatapathErrorCode =
    /** The kernel has no module openvswitch, or had none when ovs-vswitchd looked. */
    | "MODULE_MISSING"
    /** This Open vSwitch has no datapath of the type. */
    | "TYPE_MISSING"
    /** The kernel refuses ovs-vswitchd. */
    | "NOT_PERMITTED"
    /** OVS has not made the bridge, or made it on another datapath. */
    | "BRIDGE_NOT_MADE"
    /** The datapath lacks something that the flows need. */
    | "FEATURE_MISSING"
    /** OVS cannot make tunnels of the type. */
    | "NO_TUNNEL_TYPE";

export interface DatapathErrorDetails {
    readonly bridge: string;
    readonly datapathType: string;
    readonly tunnelType: string;
    /** Features that the datapath lacks. */
    readonly missing: readonly string[];
    /** The words of OVS. */
    readonly answer: string;
}

/** The datapath of Open vSwitch is not what the agent needs; the message says what to do. */
export class DatapathError extends AntreaError<DatapathErrorCode, DatapathErrorDetails> {}

export type UnixctlErrorCode =
    /** No pid file or nobody at the socket. */
    | "NOT_RUNNING"
    /** The daemon answered that it cannot do it; `details.answer` has its words. */
    | "REFUSED"
    /** The connection ended before the answer; the command may have taken effect. */
    | "DISCONNECTED"
    /** What came is no answer to the request. */
    | "BAD_ANSWER"
    | "ANSWER_TOO_LONG"
    | "TIMEOUT"
    | "ABORTED";

export interface UnixctlErrorDetails {
    readonly socketPath: string;
    readonly pidFile: string;
    readonly command: string;
    readonly args: readonly string[];
    /** The words of the daemon; of `REFUSED`. */
    readonly answer: string;
}

/** A command for ovs-vswitchd was not answered with success. */
export class UnixctlError extends AntreaError<UnixctlErrorCode, UnixctlErrorDetails> {}
