import { AntreaError } from "@antrea/errors";

/**
 * Why the NIC is not moved, or not brought back:
 *
 * - `NIC_MISSING`, `NIC_UNSUITABLE`: there is no such link, or it is one that cannot be an uplink.
 * - `NIC_IN_USE`: it is a port of another bridge, bond or VRF.
 * - `MULTIPATH_ROUTES`, `NEXT_HOP_OBJECTS`, `ENCAPSULATING_ROUTES`: it has routes that would not survive the move.
 * - `NAME_TAKEN`: a link of somebody else has the NIC's name now.
 * - `NO_DEVICE`: OVS did not make the host port.
 * - `JOURNAL_UNWRITABLE`: without a journal nothing is moved.
 * - `AGENT_RUNNING`: the command was given while an agent takes care of the uplink.
 * - `DATABASE_UNREACHABLE`: the ports could not be taken out of the OVS database.
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

/** Of a link that is not suitable, and of the route that makes it so. */
export interface UplinkErrorDetails {
    readonly link: string;
    readonly dst: string;
    /** The number of the route's table. */
    readonly table: number;
}

export class UplinkError extends AntreaError<UplinkErrorCode, UplinkErrorDetails> {}
