import { AntreaError, messageOf, type AntreaErrorOptions, type Fault } from "@antrea/errors";

/**
 * Why a Pod gets no address of a pool:
 *
 * - `EXHAUSTED`: all addresses of the pools are claimed.
 * - `NO_POOL`: an IPPool that is named does not exist, or none of its ranges can be read.
 * - `POOL_DELETED`: all IPPools that could give an address are being deleted.
 * - `BAD_ANNOTATION`: an annotation of the Pod or of its Namespace breaks a rule.
 * - `NOT_IN_POOL`: the fixed address is not one that the pool hands out.
 * - `ADDRESS_HELD`: the fixed address is claimed for another.
 * - `NOT_RESERVED`: the StatefulSet's ordinal has no address yet, or not yet again.
 * - `HELD_ON_OTHER_NODE`: the StatefulSet's ordinal has an address, which an earlier Pod uses on another Node.
 * - `VLAN_CONFLICT`: the addresses of the two families lie in different VLANs.
 * - `POOL_CHANGED`: an IPPool was changed each time while an address of it was claimed.
 * - `POD_GONE`: the Pod that the address is asked for does not exist any more.
 * - `POD_UNKNOWN`: the API server has no object of the Pod yet: the mirror of a static Pod.
 * - `NODE_GONE`: the Node object of this agent was deleted.
 * - `API_AWAY`: the API server did not answer in time.
 * - `REFUSED`: the API server refused a claim for a reason that trying again does not change.
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
    | "API_AWAY"
    | "REFUSED";

/** `timeout` where the same call may succeed a moment later without anybody doing anything. */
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
    API_AWAY: "timeout",
    REFUSED: "environment",
};

/** Every failure to give a Pod an address of a pool. The message is a sentence for users, with the next step. */
export class IpPoolError extends AntreaError<IpPoolErrorCode> {
    constructor(code: IpPoolErrorCode, message: string, options: AntreaErrorOptions = {}) {
        super(code, faults[code], message, options);
    }
}

/** The error of work on the API server that did not end within its time. */
export function apiAway(what: string, cause: unknown): IpPoolError {
    return new IpPoolError(
        "API_AWAY",
        `${what} did not end in time; is the API server up? ${messageOf(cause)}`.trimEnd(),
        { cause },
    );
}
