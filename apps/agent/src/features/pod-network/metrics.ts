import { formatPrefix } from "@antrea/ip";
import type { MetricsFactory } from "@antrea/runtime";
import type { FlowTable } from "../../platform/ovs/flow-table/index.ts";
import type { NodeSubnet } from "./node-subnet.ts";
import type { PodInterfaceView } from "../../platform/pod-interfaces/index.ts";

/**
 * Declares the gauges of the Pod network, once per process: `antrea_agent_local_pod_count`,
 * `antrea_agent_ovs_total_flow_count` and `antrea_agent_pod_cidr_addresses_used`. They are read at each scrape.
 */
export function declarePodMetrics(
    metrics: MetricsFactory,
    podInterfaces: Pick<PodInterfaceView, "list">,
    subnet: NodeSubnet,
    flowTable: Pick<FlowTable, "size">,
): void {
    metrics.gauge({
        name: "antrea_agent_local_pod_count",
        help: "Pod interfaces that this agent has wired.",
        collect: () => podInterfaces.list().length,
    });
    metrics.gauge({
        name: "antrea_agent_ovs_total_flow_count",
        help: "Desired flows of this agent in OVS.",
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
