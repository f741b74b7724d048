import type { ErrorCodeName } from "@antrea/cni";
import { AntreaError } from "@antrea/errors";
import { OpenFlowError } from "@antrea/openflow";
import { OvsdbError } from "@antrea/ovsdb";
import { NodeConfigError } from "../../platform/node/config/index.ts";

/** The CNI error code for an error of one feature; undefined for other errors. */
export type ErrorCodeOf = (error: unknown) => ErrorCodeName | undefined;

/**
 * The code of the CNI error result for an error in ADD, DEL or GC: TRY_AGAIN_LATER for what a retry may resolve,
 * CONFIG_INTERFACE_FAILURE for what is not known. Determined by the class of the error, since classes of different
 * libraries have codes of the same name.
 *
 * @param ofFeatures the codes of the features' own errors, which take precedence
 */
export function cniErrorCode(error: unknown, ofFeatures: readonly ErrorCodeOf[]): ErrorCodeName {
    const code = ofFeatures.map((codeOf) => codeOf(error)).find((known) => known !== undefined);
    if (code !== undefined) return code;
    // The Node is gone or has no podCIDRs, and the agent waits for them: the same as before it has any.
    if (error instanceof NodeConfigError) return "TRY_AGAIN_LATER";
    // OVS or its database became unavailable during the call: a retry may succeed when they are back.
    if ((error instanceof OpenFlowError || error instanceof OvsdbError) && error.retryable) return "TRY_AGAIN_LATER";
    if (error instanceof AntreaError && (error.fault === "timeout" || error.fault === "aborted")) {
        return "TRY_AGAIN_LATER";
    }
    return "CONFIG_INTERFACE_FAILURE";
}
