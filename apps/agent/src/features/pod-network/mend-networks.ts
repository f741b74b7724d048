import type { AddRequest, Attachment, PlannedNetwork } from "../../platform/pod-interfaces/index.ts";
import type { FurtherInterfaces } from "./further-interfaces.ts";
import type { Progress } from "./progress.ts";

/**
 * Completes the planned interfaces of a container whose ADD is repeated, under its lock: makes those that are not there, with
 * their addresses if they were recorded, and configures the others again. Rejects as `FurtherInterfaces.add`, or with
 * PodNetworkError `STILL_REMOVED`; what was removed then gives its addresses back.
 */
export async function mendNetworks(
    further: Pick<FurtherInterfaces, "add" | "configure" | "failedAdds" | "get" | "isThere" | "removeOlder">,
    planned: readonly PlannedNetwork[],
    request: AddRequest,
    progress: Progress,
): Promise<void> {
    const { containerId } = request;
    const missing: PlannedNetwork[] = [];
    const removed: Attachment[] = [];
    try {
        for (const one of planned) {
            const attachment = { containerId, ifName: one.ifName };
            const known = further.get(attachment);
            if (known === undefined) missing.push(one);
            else if (known.leaving === undefined && (await further.isThere(known.record)))
                await further.configure(known.record, one);
            else {
                removed.push(attachment);
                await further.removeOlder(containerId, "keep", request, one.ifName);
                missing.push(one);
            }
        }
        await further.add(missing, request, progress);
    } catch (error) {
        // No ADD of this container may follow, and while it lives nothing else would free them.
        await further.failedAdds.giveUp(removed);
        throw error;
    }
}
