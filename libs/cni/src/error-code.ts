/**
 * Error codes of a CNI answer. 1–99 are those of the CNI specification (section "Error"), 100–199 of the agent, 200–299
 * of the CNI binary, never sent on the wire. 999 is the code of libcni for a defect. `UNKNOWN` is the zero of the
 * enumeration on the wire.
 */
export const ErrorCode = {
    UNKNOWN: 0,
    INCOMPATIBLE_CNI_VERSION: 1,
    UNSUPPORTED_FIELD: 2,
    UNKNOWN_CONTAINER: 3,
    INVALID_ENVIRONMENT_VARIABLES: 4,
    IO_FAILURE: 5,
    DECODING_FAILURE: 6,
    INVALID_NETWORK_CONFIG: 7,
    INVALID_NETNS: 8,
    TRY_AGAIN_LATER: 11,
    /** STATUS: the plugin cannot serve ADD. */
    PLUGIN_NOT_AVAILABLE: 50,
    /** STATUS: the plugin cannot serve ADD, and existing containers may have limited connectivity. */
    LIMITED_CONNECTIVITY: 51,
    IPAM_FAILURE: 101,
    CONFIG_INTERFACE_FAILURE: 102,
    CHECK_INTERFACE_FAILURE: 103,
    UNKNOWN_RPC_ERROR: 201,
    INCOMPATIBLE_API_VERSION: 202,
    INTERNAL: 999,
} as const;

/** Name of an error code, which is the code of a `CniCallError`. */
export type ErrorCodeName = keyof typeof ErrorCode;
