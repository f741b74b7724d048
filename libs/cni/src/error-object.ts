import { detailText } from "./text-detail.ts";
import { type CniError } from "./messages.ts";

/** What a plugin prints on standard output when it fails (CNI specification, section "Error"). */
export interface CniErrorObject {
    readonly cniVersion: string;
    readonly code: number;
    readonly msg: string;
    readonly details?: string;
}

/** The error as the runtime reads it; `cniVersion` is that of the configuration. */
export function toErrorObject(error: CniError, cniVersion: string): CniErrorObject {
    const details = detailText(error.details);
    return { cniVersion, code: error.code, msg: error.message, ...(details === "" ? {} : { details }) };
}
