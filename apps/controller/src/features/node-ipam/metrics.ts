import { formatPrefix, type Prefix } from "@antrea/ip";
import { type Counter, type Histogram, type MetricsFactory } from "@antrea/runtime";
import { type CidrAllocator } from "./cidr-allocator.ts";

/** The state that the metrics report, for the current term of leadership; its members are live. */
export interface NodeIpamState {
    readonly allocator: CidrAllocator;
    /** Names of the Nodes that wait for a subnet. */
    readonly waiting: ReadonlySet<string>;
    /** Names of the Nodes whose podCIDRs overlap those of another Node. */
    readonly duplicates: ReadonlySet<string>;
}

/** Updates the counters and the histogram of NodeIPAM; made by `nodeIpamMetrics`. */
export interface NodeIpamMetrics {
    /** Counts subnets that a Node has got. */
    allocated(cidrs: readonly Prefix[]): void;
    /** Counts, for each of these prefixes, a Node that got no subnet. */
    exhausted(clusters: readonly Prefix[]): void;
    /** Observes the duration of a write of the ledger, in seconds. */
    ledgerWritten(seconds: number): void;
}

/**
 * Declares the metrics of NodeIPAM (`antrea_node_ipam_controller_…`), once for a registry, and returns what updates
 * them. `state` is read at each scrape, undefined while this process does not lead: gauges have no sample or 0 then.
 */
export function nodeIpamMetrics(factory: MetricsFactory, state: () => NodeIpamState | undefined): NodeIpamMetrics {
    const allocations: Counter<"clusterCIDR"> = factory.counter({
        name: "antrea_node_ipam_controller_cidrset_cidrs_allocations_total",
        help: "Subnets given to Nodes, per cluster CIDR.",
        labelNames: ["clusterCIDR"],
    });
    const failures: Counter<"clusterCIDR"> = factory.counter({
        name: "antrea_node_ipam_controller_cidrset_exhausted_total",
        help: "Times that a Node got no subnet because none was free, per cluster CIDR.",
        labelNames: ["clusterCIDR"],
    });
    const ledger: Histogram = factory.histogram({
        name: "antrea_node_ipam_controller_ledger_write_duration_seconds",
        help: "Time to record assignments before they are written to Nodes.",
    });
    factory.gauge<"clusterCIDR">({
        name: "antrea_node_ipam_controller_cidrset_usage_cidrs",
        help: "Part of the subnets that is not free (0 to 1), per cluster CIDR.",
        labelNames: ["clusterCIDR"],
        collect: () =>
            (state()?.allocator.usage ?? []).map(({ cluster, size, free }) => ({
                labels: { clusterCIDR: formatPrefix(cluster) },
                value: (size - free) / size,
            })),
    });
    factory.gauge({
        name: "antrea_node_ipam_controller_gone_nodes",
        help: "Deleted Nodes whose subnets are not reassigned yet or are recorded.",
        collect: () => state()?.allocator.goneNodes ?? 0,
    });
    factory.gauge({
        name: "antrea_node_ipam_controller_waiting_nodes",
        help: "Nodes that wait for a subnet because none is free.",
        collect: () => state()?.waiting.size ?? 0,
    });
    factory.gauge({
        name: "antrea_node_ipam_controller_duplicate_nodes",
        help: "Nodes whose podCIDRs overlap those of another Node.",
        collect: () => state()?.duplicates.size ?? 0,
    });
    // The allocator's prefixes are the labels: both are in the order of the configuration.
    const clusterOf = (cidr: Prefix): string => {
        const usage = state()?.allocator.usage.find(({ cluster }) => cluster.family === cidr.family);
        return usage === undefined ? "" : formatPrefix(usage.cluster);
    };
    return {
        allocated: (cidrs) => cidrs.forEach((cidr) => allocations.inc({ clusterCIDR: clusterOf(cidr) })),
        exhausted: (clusters) => clusters.forEach((cluster) => failures.inc({ clusterCIDR: formatPrefix(cluster) })),
        ledgerWritten: (seconds) => ledger.observe(seconds),
    };
}
