import { AntreaError, messageOf, type AntreaErrorOptions, type Fault } from "@antrea/errors";

/**
 * Why a Pod gets no address of a pool:
 *
 * - `EXHAUSTED`: all addresses of the pools are allocated.
 * - `NO_POOL`: a named IPPool does not exist, or none of its ranges is valid.
 * - `POOL_DELETED`: all IPPools that could provide an address are being deleted.
 * - `BAD_ANNOTATION`: an annotation of the Pod or of its Namespace is invalid.
 * - `NOT_IN_POOL`: the pool does not hand out the fixed address.
 * - `ADDRESS_HELD`: the fixed address is allocated to another holder.
 * - `NOT_RESERVED`: the StatefulSet's ordinal has no address yet, or not yet again.
 * - `HELD_ON_OTHER_NODE`: an earlier Pod on another Node still uses the address of the StatefulSet's ordinal.
 * - `VLAN_CONFLICT`: the addresses of the two families are in different VLANs.
 * - `POOL_CHANGED`: an IPPool changed during each attempt to allocate an address from it.
 * - `POD_GONE`: the Pod no longer exists.
 * - `POD_UNKNOWN`: the API server has no object of the Pod yet: the mirror Pod of a static Pod.
 * - `NODE_GONE`: the Node object of this agent was deleted.
 * - `DELETED_MEANWHILE`: the interface, or its container, was deleted after its addresses were asked for.
 * - `API_AWAY`: the API server did not answer in time.
 * - `REFUSED`: the API server rejected an allocation for a reason that a retry does not resolve.
 */
export type IpPoolErrorCode =
    | "EXHAUSTED"
    | "NO_POOL"
    | "POOL_DELETED"
    | "BAD_ANNOTATION"
    | "NOT_IN_POOL"
    | "ADDRESS_HELD"
    | "NOT_RESERVED"
    | "HELD_ON_OTHER_NODE"
    | "VLAN_CONFLICT"
    | "POOL_CHANGED"
    | "POD_GONE"
    | "POD_UNKNOWN"
    | "NODE_GONE"
    | "DELETED_MEANWHILE"
    | "API_AWAY"
    | "REFUSED";

/** `timeout` where the same call may succeed shortly without intervention. */
const faults: Readonly<Record<IpPoolErrorCode, Fault>> = {
    EXHAUSTED: "environment",
    NO_POOL: "environment",
    POOL_DELETED: "environment",
    BAD_ANNOTATION: "caller",
    NOT_IN_POOL: "caller",
    ADDRESS_HELD: "environment",
    NOT_RESERVED: "timeout",
    HELD_ON_OTHER_NODE: "environment",
    VLAN_CONFLICT: "caller",
    POOL_CHANGED: "timeout",
    POD_GONE: "timeout",
    POD_UNKNOWN: "timeout",
    NODE_GONE: "timeout",
    DELETED_MEANWHILE: "caller",
    API_AWAY: "timeout",
    REFUSED: "environment",
};

/**
 * Failure to allocate an IPPool address for a Pod. The message is a sentence for users and names the next step; the
 * fault follows from the code, and there are no details.
 */
export class IpPoolError extends AntreaError<IpPoolErrorCode> {
    constructor(code: IpPoolErrorCode, message: string, options: AntreaErrorOptions = {}) {
        super(code, faults[code], message, options);
    }
}

/**
 * The error API_AWAY for work on the API server that exceeded its time limit; `what` is the work, as the subject of the
 * message.
 */
export function apiAway(what: string, cause: unknown): IpPoolError {
    return new IpPoolError(
        "API_AWAY",
        `${what} did not end in time; is the API server up? ${messageOf(cause)}`.trimEnd(),
        { cause },
    );
}

/** The error with network and interface in its message; other errors are returned unchanged. */
export function ofNetwork(
    error: unknown,
    { network, ifName }: { readonly network: string; readonly ifName: string },
): unknown {
    if (!(error instanceof IpPoolError)) return error;
    const text = `network ${network}, interface ${ifName}: ${error.message}`;
    return new IpPoolError(error.code, text, { cause: error.cause });
}
