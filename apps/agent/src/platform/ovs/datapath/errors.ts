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

/** The datapath of Open vSwitch is not what the agent needs; the message says what to do. */
export class DatapathError extends AntreaError<DatapathErrorCode> {}

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

/** A command for ovs-vswitchd was not answered with success. `details` has `socketPath`, `command` and `args`. */
export class UnixctlError extends AntreaError<UnixctlErrorCode> {}
