import { AntreaError } from "@antrea/errors";
import type { MetricsFactory } from "@antrea/runtime";
import type { NetworkInterfaceView } from "../../platform/pod-interfaces/index.ts";

/** Counts what Pods get on networks other than the Pod network. */
export interface NetworkMetrics {
    /** Counts a Pod, or an interface that a meta plugin asked for, that did not get its networks. */
    failed(error: unknown): void;
}

/**
 * Declares the metrics of networks, once per process: `antrea_agent_network_interfaces`, read at each scrape, and
 * `antrea_agent_network_failures_total`.
 */
export function networkMetrics(
    metrics: Pick<MetricsFactory, "counter" | "gauge">,
    interfaces: Pick<NetworkInterfaceView, "list">,
): NetworkMetrics {
    metrics.gauge({
        name: "antrea_agent_network_interfaces",
        help: "Pod interfaces on other networks than the Pod network that this agent has made, by kind of network.",
        labelNames: ["kind"],
        collect: () => {
            const all = interfaces.list();
            const functions = all.filter(({ record }) => record.device !== undefined).length;
            return [
                { labels: { kind: "vlan" }, value: all.length - functions },
                { labels: { kind: "sriov" }, value: functions },
            ];
        },
    });
    const failures = metrics.counter({
        name: "antrea_agent_network_failures_total",
        help: "ADDs that failed because of networks other than the Pod network, by reason.",
        labelNames: ["reason"],
    });
    return { failed: (error) => failures.inc({ reason: error instanceof AntreaError ? error.code : "INTERNAL" }) };
}
