import { formatPrefix } from "@antrea/ip";
import type { Metrics } from "@antrea/runtime";
import type { ObserveCall } from "./cni-server/index.ts";
import type { FlowTable } from "./flow-table/index.ts";
import type { NodeSubnet, PodNetwork } from "./pod-network/index.ts";
import type { Readiness } from "./readiness.ts";

/** Counts and times CNI calls. */
export function observeCalls(metrics: Metrics): ObserveCall {
    const calls = metrics.counter({
        name: "antrea_agent_cni_calls_total",
        help: "CNI calls by command and outcome (OK or the name of the error code).",
        labelNames: ["command", "outcome"],
    });
    const durations = metrics.histogram({
        name: "antrea_agent_cni_call_duration_seconds",
        help: "How long CNI calls took in the agent.",
        labelNames: ["command"],
    });
    return (command, outcome, seconds) => {
        calls.inc({ command, outcome });
        durations.observe(seconds, { command });
    };
}

/** What keeps Pods from being wired, read at each scrape. */
export function declareReadiness(metrics: Metrics, readiness: Pick<Readiness, "unmetConditions">): void {
    metrics.gauge({
        name: "antrea_agent_unmet_conditions",
        help: "1 for each condition that is missing so that Pods can be wired; /readyz?verbose says what it is.",
        labelNames: ["condition"],
        collect: () => readiness.unmetConditions().map((condition) => ({ labels: { condition }, value: 1 })),
    });
}

/** What the Pod network holds, read at each scrape. */
export function declareMetrics(metrics: Metrics, network: PodNetwork, subnet: NodeSubnet, flowTable: FlowTable): void {
    metrics.gauge({
        name: "antrea_agent_local_pod_count",
        help: "Pod interfaces that this agent has wired.",
        collect: () => network.interfaces().length,
    });
    metrics.gauge({
        name: "antrea_agent_ovs_total_flow_count",
        help: "Flows that this agent wants in OVS.",
        collect: () => flowTable.size,
    });
    metrics.gauge({
        name: "antrea_agent_pod_cidr_addresses_used",
        help: "Addresses in use of each podCIDR of this Node.",
        labelNames: ["cidr"],
        collect: () =>
            subnet.usage().map(({ prefix, used }) => ({ labels: { cidr: formatPrefix(prefix) }, value: used })),
    });
}
