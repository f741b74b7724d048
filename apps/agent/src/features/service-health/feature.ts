import type { ServedService } from "@antrea/services";
import type { AgentConfig } from "@antrea/settings";
import type { Feature } from "../../platform/feature.ts";
import { isLeaving } from "../../platform/node/leaving.ts";
import type { NodePlatform } from "../../platform/node-platform.ts";
import { answerProxy } from "./answers.ts";
import { HealthPorts } from "./health-ports.ts";
import { ServiceChecks } from "./service-checks.ts";

/** A change that has not got into OVS, or into the host's rules, for this time makes the proxy unhealthy, as for kube-proxy. */
const healthyMs = 60_000;
const passMs = 60_000;
/** The key of the port for the proxy itself; those of Services have a slash. */
const proxyKey = "proxy";

/** What the feature needs of the platform. */
export type ServiceHealthPlatform = Pick<
    NodePlatform,
    "clock" | "config" | "environment" | "events" | "jobs" | "logger" | "metrics" | "node" | "nodes" | "servesNode"
>;

/** What the feature needs of the one that brings Services into OVS. */
export interface InstalledServices {
    /** Registers a listener, for good, that is called when OVS has the change of a Service; undefined: it has none of it. */
    onInstalled(listener: (key: string, service: ServedService | undefined) => void): void;
    /** For how long changes have been waiting for OVS, and when it got one last (milliseconds since 1970). */
    syncState(): { readonly waitingMs: number | undefined; readonly syncedAt: number | undefined };
}

/** What the feature needs of the one that leads clients outside to Services in OVS. */
export interface HostStackState {
    /** Whether the host's rules are there, and for how long changes of them have been waiting. */
    readonly rulesState: { readonly areInstalled: boolean; readonly waitingMs: number | undefined };
}

/** Whether the agent has this feature; `servesNode` as that of NodePlatform. */
export function servesHealth({ antreaProxy }: Pick<AgentConfig, "antreaProxy">, servesNode: boolean): boolean {
    return servesNode && !antreaProxy.disableServiceHealthCheckServer;
}

/**
 * Health checks of load balancers, with `proxyAll`: the health check node ports of Services, and `/healthz` and `/livez` of
 * AntreaProxy as those of kube-proxy. Adds the job `service-health/ports`. Undefined if kube-proxy serves them.
 *
 * @param host undefined only without `proxyAll`
 */
export function serviceHealth(
    platform: ServiceHealthPlatform,
    served: InstalledServices,
    host: HostStackState | undefined,
): Feature | undefined {
    const { clock, environment, events, jobs, metrics, node, nodes, servesNode } = platform;
    const { nodePortAddresses, serviceHealthCheckServerBindAddress } = platform.config.antreaProxy;
    if (host === undefined || !servesHealth(platform.config, servesNode)) return undefined;
    const { nodeName } = environment;
    const logger = platform.logger.child("service-health");
    const isHealthy = (): boolean => {
        const { areInstalled, waitingMs } = host.rulesState;
        return areInstalled && [served.syncState().waitingMs, waitingMs].every((ms = 0) => ms < healthyMs);
    };
    // an own Node that was never seen is not known to be going: the API server may be away
    let isGoing = false;
    const ports: HealthPorts = new HealthPorts({
        logger,
        clock,
        metrics,
        onFailed: (key, port, { message }) => checks.failed(key, port, message),
    });
    const checks = new ServiceChecks(
        { ports, isHealthy, record: (event) => events.record(event) },
        { nodeName, addresses: nodePortAddresses },
    );
    const families = node.podPrefixes.map(({ family }) => family);
    ports.set(proxyKey, {
        ...placeOf(serviceHealthCheckServerBindAddress),
        answer: answerProxy(() => ({
            isHealthy: isHealthy(),
            isEligible: !isGoing,
            syncedAt: served.syncState().syncedAt,
            families,
            now: clock.now(),
        })),
    });
    let pass = (): void => undefined;
    served.onInstalled((key, service) => {
        if (checks.installed(key, service)) pass();
    });
    const listeners = new DisposableStack();
    return {
        name: "service-health",
        start: () => {
            listeners.use(
                nodes.onChange((type, key, object) => {
                    if (key === nodeName) isGoing = type === "deleted" || isLeaving(object);
                }),
            );
            const job = jobs.every("service-health/ports", passMs, (limit) => ports.pass(limit));
            pass = () => job.trigger();
        },
        stop: async () => {
            listeners.dispose();
            await ports.close();
        },
    };
}

/** `ADDRESS:PORT` as a place to listen at; the unspecified addresses stand for all of both families, as for kube-proxy. */
function placeOf(text: string): { readonly host: string | undefined; readonly port: number } {
    const at = text.lastIndexOf(":");
    const host = text.slice(0, at).replace(/^\[(.*)\]$/, "$1");
    return { host: host === "0.0.0.0" || host === "::" ? undefined : host, port: Number(text.slice(at + 1)) };
}
