import { AntreaError } from "@antrea/errors";

/**
 * Why the NIC is not moved, or not moved back:
 *
 * - `NIC_MISSING`, `NIC_UNSUITABLE`: the link does not exist, or cannot be an uplink.
 * - `NIC_IN_USE`: it is a port of another bridge, bond or VRF.
 * - `MULTIPATH_ROUTES`, `NEXT_HOP_OBJECTS`, `ENCAPSULATING_ROUTES`: it has routes that would not survive the move.
 * - `NAME_TAKEN`: another link has the NIC's name now.
 * - `NO_DEVICE`: OVS did not create the host port.
 * - `JOURNAL_UNWRITABLE`: without a journal nothing is moved.
 * - `AGENT_RUNNING`: the command was run while an agent manages the uplink.
 * - `DATABASE_UNREACHABLE`: the ports could not be removed from the OVS database.
 */
export type UplinkErrorCode =
    | "NIC_MISSING"
    | "NIC_UNSUITABLE"
    | "NIC_IN_USE"
    | "MULTIPATH_ROUTES"
    | "NEXT_HOP_OBJECTS"
    | "ENCAPSULATING_ROUTES"
    | "NAME_TAKEN"
    | "NO_DEVICE"
    | "JOURNAL_UNWRITABLE"
    | "AGENT_RUNNING"
    | "DATABASE_UNREACHABLE";

/** The unsuitable link and the route that makes it so; see UplinkError for when they are set. */
export interface UplinkErrorDetails {
    readonly link: string;
    /** Destination prefix: "10.0.0.0/8". */
    readonly dst: string;
    /** Number of the routing table. */
    readonly table: number;
}

/**
 * Failure to move the uplink or to restore it. Details are set only if the NIC is found unsuitable before a move:
 * `link`, and with the codes about routes also `dst` and `table`.
 */
export class UplinkError extends AntreaError<UplinkErrorCode, UplinkErrorDetails> {}
