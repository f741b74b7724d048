import type { AddRequest, PlannedNetwork } from "../../platform/pod-interfaces/index.ts";
import type { FurtherInterfaces } from "./further-interfaces.ts";
import type { Progress } from "./progress.ts";

/**
 * Completes the planned interfaces of a container whose ADD is repeated, under its lock: makes those that are not there, with
 * their addresses if they were recorded, and configures the others again. Rejects as `FurtherInterfaces.add`, or with
 * PodNetworkError `STILL_REMOVED`.
 */
export async function mendNetworks(
    further: Pick<FurtherInterfaces, "add" | "configure" | "get" | "isThere" | "removeOlder">,
    planned: readonly PlannedNetwork[],
    request: AddRequest,
    progress: Progress,
): Promise<void> {
    const { containerId } = request;
    const missing: PlannedNetwork[] = [];
    for (const one of planned) {
        const { ifName } = one;
        const known = further.get({ containerId, ifName });
        if (known === undefined) missing.push(one);
        else if (known.leaving === undefined && (await further.isThere(known.record)))
            await further.configure(known.record, one);
        else {
            await further.removeOlder(containerId, "keep", request, ifName);
            missing.push(one);
        }
    }
    await further.add(missing, request, progress);
}
