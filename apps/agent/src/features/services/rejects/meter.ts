import { isErrorOf, messageOf } from "@antrea/errors";
import { rejectMeter } from "@antrea/flows";
import { OpenFlowError } from "@antrea/openflow";
import type { ReplayLink } from "@antrea/openflow/connection";
import type { Logger } from "@antrea/runtime";

/**
 * Sets the meter of packets to Services without endpoints, which must exist before flows that use it. Resolves with false if
 * the datapath, which may have no meters, refuses it; that is logged. Rejects with OpenFlowError.
 */
export async function ensureRejectMeter(
    link: Pick<ReplayLink, "changeMeter" | "dumpMeters">,
    logger: Logger,
): Promise<boolean> {
    try {
        const isKnown = (await link.dumpMeters()).some(({ id }) => id === rejectMeter.id);
        await link.changeMeter({ command: isKnown ? "modify" : "add", meter: rejectMeter });
        return true;
    } catch (error) {
        if (!isErrorOf(OpenFlowError, error, "REFUSED")) throw error;
        logger.error(
            "OVS refuses the meter of packets to Services without endpoints; such Services are left to the host",
            {
                reason: messageOf(error),
            },
        );
        return false;
    }
}
