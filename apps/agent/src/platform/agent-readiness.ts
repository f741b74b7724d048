import { type Clock } from "@antrea/async";
import type { ConnectionState } from "@antrea/openflow/connection";
import type { Jobs, Logger, MetricsFactory } from "@antrea/runtime";
import { type DaemonServer } from "@antrea/serving";
import { declareReadiness, openflowProblem, Readiness } from "./readiness.ts";
import { RefusedToken, type RefusedTokenComponents } from "./refused-token.ts";

const tokenCheckMs = 5_000;

/** Dependencies of buildReadiness, which adds checks, a job and metrics to them and starts nothing. */
export interface ReadinessComponents {
    readonly health: Pick<DaemonServer, "addCheck">;
    readonly jobs: Jobs;
    readonly metrics: MetricsFactory;
    readonly logger: Logger;
    readonly clock: Clock;
    /** The connection to ovs-vswitchd; its state is read at each check. */
    readonly openflow: { readonly state: ConnectionState };
    /** Of the client of the API server. */
    readonly api: RefusedTokenComponents["api"];
}

/**
 * Builds the agent's checks of /readyz: `network` (unmet conditions; if all are met, the connection to ovs-vswitchd)
 * and `token`; adds the job `readiness/token` and metrics. An unmet condition makes ADD wait, and each problem of `network` fails
 * CNI STATUS. A rejected token does neither: the runtime would report every Node of a cluster as NotReady if its
 * authentication fails, and Pods with a podCIDR address can be wired without the API server.
 *
 * @param conditions by name, the problem reported until the condition is first met
 */
export function buildReadiness(
    { api, clock, health, jobs, logger, metrics, openflow }: ReadinessComponents,
    conditions: Readonly<Record<string, string>>,
): Readiness {
    const readiness = new Readiness(conditions, () => openflowProblem(openflow.state));
    const token = new RefusedToken({ api, clock, metrics, logger });
    jobs.every("readiness/token", tokenCheckMs, () => token.check());
    health.addCheck("network", "ready", () => readiness.missing());
    health.addCheck("token", "ready", () => token.problem);
    declareReadiness(metrics, readiness);
    return readiness;
}
