import { AntreaError } from "@antrea/errors";

/**
 * - `PORT_REFUSED`: OVS could not open the link of a port; message and details have its name and the reason of OVS.
 * - `BRIDGE_MISSING`: the database has no bridge of this name.
 * - `NO_DEVICE`: a device of OVS is missing, and OVS does not create it again.
 */
export class OvsBridgeError extends AntreaError<
    "PORT_REFUSED" | "BRIDGE_MISSING" | "FOREIGN_BRIDGE" | "NO_DEVICE",
    PortRefusal
> {}

/** Details of an OvsBridgeError `PORT_REFUSED`; absent for other codes. */
export interface PortRefusal {
    /** Name of the port, and of its link. */
    readonly port: string;
    /** In the words of OVS, which may name the link. */
    readonly reason: string;
}

/** The OvsBridgeError `PORT_REFUSED` for a port that OVS could not open; `reason` undefined if OVS gave none. */
export function portRefused(port: string, bridge: string, reason = "no reason given"): OvsBridgeError {
    const text = `OVS could not add port ${port} to ${bridge}: ${reason}; see the log of ovs-vswitchd`;
    return new OvsBridgeError("PORT_REFUSED", "environment", text, { details: { port, reason } });
}
