import { isKubeError, leases } from "@antrea/kube";
import { type Cluster } from "../cluster/index.ts";

/** Whether antrea-controller is running, by the Lease that its leader renews. */
export type ControllerState = "runs" | "away" | "unknown";

const lease = "antrea-controller";
const defaultSeconds = 15;

/** Reads the Lease; "unknown" without permission to read it. */
export async function readController(
    cluster: Pick<Cluster, "find">,
    namespace: string,
    nowMs: number,
): Promise<ControllerState> {
    try {
        const { spec } = (await cluster.find(leases, { namespace, name: lease })) ?? {};
        if (spec?.renewTime === undefined || (spec.holderIdentity ?? "") === "") return "away";
        const limitMs = 2_000 * (spec.leaseDurationSeconds ?? defaultSeconds);
        return nowMs - Date.parse(spec.renewTime) > limitMs ? "away" : "runs";
    } catch (error) {
        if (isKubeError(error, "FORBIDDEN")) return "unknown";
        throw error;
    }
}
