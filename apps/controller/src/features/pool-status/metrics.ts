import { type IpPoolUsage } from "@antrea/crd";
import { type MetricsFactory } from "@antrea/runtime";

/**
 * Declares four gauges `antrea_controller_ippool_…addresses` (label `pool`) with the usage of each pool in `usages`,
 * read at each scrape. Once for a registry.
 */
export function poolMetrics(metrics: MetricsFactory, usages: () => ReadonlyMap<string, IpPoolUsage>): void {
    // Complete names, so that grep finds them.
    const gauge = (name: string, help: string, part: keyof IpPoolUsage): void => {
        metrics.gauge<"pool">({
            name,
            help,
            labelNames: ["pool"],
            collect: () => [...usages()].map(([pool, usage]) => ({ labels: { pool }, value: usage[part] })),
        });
    };
    gauge("antrea_controller_ippool_addresses", "Addresses that the pool can hand out, at most 2^53-1.", "total");
    gauge("antrea_controller_ippool_used_addresses", "Addresses of the pool that a Pod uses.", "used");
    gauge(
        "antrea_controller_ippool_reserved_addresses",
        "Addresses of the pool held for an owner that no Pod uses now.",
        "reserved",
    );
    gauge(
        "antrea_controller_ippool_free_addresses",
        "Addresses of the pool that are neither used nor reserved, at most 2^53-1.",
        "free",
    );
}
