/**
 * The request of every call of Antrea's CNI service, proto3 package `antrea_io.antrea.pkg.apis.cni.v1beta1`. In all
 * messages here a field that the sender left out has its proto3 default (empty text, no bytes, 0).
 */
export interface CniCmdRequest {
    /** Field 1. */
    readonly cniArgs: CniCmdArgs;
}

/** The input that a runtime gives a CNI plugin: environment variables and standard input. */
export interface CniCmdArgs {
    /** Field 1, CNI_CONTAINERID. */
    readonly containerId: string;
    /** Field 2, CNI_NETNS. */
    readonly netns: string;
    /** Field 3, CNI_IFNAME. */
    readonly ifname: string;
    /** Field 4, CNI_ARGS. */
    readonly args: string;
    /** Field 5, CNI_PATH. */
    readonly path: string;
    /** Field 6, standard input: the network configuration as JSON. */
    readonly networkConfiguration: Uint8Array;
}

/** The answer to every call of the service: a result or an error, never both. */
export interface CniCmdResponse {
    /** Field 1: the JSON that the binary prints unchanged; empty for calls without a result. */
    readonly cniResult: Uint8Array;
    /** Field 2. */
    readonly error?: CniError;
}

/**
 * The error of a CNI call on the wire (message `Error` of cni.proto). `toCniError` makes it in the agent,
 * `toErrorObject` converts it to what the binary prints.
 */
export interface CniError {
    /** Field 1, an open enumeration: see `ErrorCode`. */
    readonly code: number;
    /** Field 2. */
    readonly message: string;
    /** Field 3. */
    readonly details: readonly Any[];
}

/** google.protobuf.Any: a message of the type that `typeUrl` names, encoded in `value`. */
export interface Any {
    /** Field 1. */
    readonly typeUrl: string;
    /** Field 2. */
    readonly value: Uint8Array;
}
