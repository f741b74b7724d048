import { isErrorOf, messageOf } from "@antrea/errors";
import { rejectMeter } from "@antrea/flows";
import { OpenFlowError } from "@antrea/openflow";
import type { ReplayLink } from "@antrea/openflow/connection";
import type { Logger } from "@antrea/runtime";

/**
 * Sets the meter of packets to Services without endpoints, which must exist before flows that use it. A datapath that has no
 * meters refuses it, which is logged: OVS then refuses the flows of such Services too. Rejects with OpenFlowError.
 */
export async function ensureRejectMeter(
    link: Pick<ReplayLink, "changeMeter" | "dumpMeters">,
    logger: Logger,
): Promise<void> {
    try {
        const isKnown = (await link.dumpMeters()).some(({ id }) => id === rejectMeter.id);
        await link.changeMeter({ command: isKnown ? "modify" : "add", meter: rejectMeter });
    } catch (error) {
        if (!isErrorOf(OpenFlowError, error, "REFUSED")) throw error;
        logger.error("OVS refuses the meter of packets to Services without endpoints, which are not rejected then", {
            reason: messageOf(error),
        });
    }
}
