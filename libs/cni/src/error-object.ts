import { detailText } from "./text-detail.ts";
import { type CniError } from "./messages.ts";

/**
 * The JSON object that a plugin prints on standard output when it fails (CNI specification, section "Error"): `code` is
 * an `ErrorCode`, `msg` the message, `details` a longer text, absent if there is none.
 */
export interface CniErrorObject {
    readonly cniVersion: string;
    readonly code: number;
    readonly msg: string;
    readonly details?: string;
}

/**
 * The error object to print for an error of the wire; `cniVersion` is that of the configuration. `details` has the
 * texts of `detailText`, if any.
 */
export function toErrorObject(error: CniError, cniVersion: string): CniErrorObject {
    const details = detailText(error.details);
    return { cniVersion, code: error.code, msg: error.message, ...(details === "" ? {} : { details }) };
}
