import { isKubeError, leases } from "@antrea/kube";
import { type Cluster } from "../cluster/index.ts";

/**
 * Whether antrea-controller is running, by the Lease that its leader renews. `away`: the Lease is missing, has no
 * holder, or was not renewed for twice its duration. `unknown`: it was not read.
 */
export type ControllerState = "runs" | "away" | "unknown";

const lease = "antrea-controller";
const defaultSeconds = 15;

/**
 * Reads the Lease `antrea-controller` in Antrea's Namespace; `unknown` without permission to read it, any other
 * KubeError rejects. `nowMs` is in milliseconds since 1970.
 */
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
