import type { Family } from "@antrea/ip";
import type { MetricsFactory } from "@antrea/runtime";
import type { ServedService } from "@antrea/services";

/** Counts what AntreaProxy does; label `ip_family` is `v4` or `v6`. */
export interface ProxyMetrics {
    /** An EndpointSlice was added, changed or deleted; only those of IP addresses count. */
    endpointsUpdated(addressType: string): void;
    /** A Service was added, changed or deleted, in these families. */
    serviceUpdated(families: readonly Family[]): void;
    /** The attempt by which OVS got a change of a Service took so long. */
    synced(families: readonly Family[], seconds: number): void;
    /** OVS has a change of endpoints so long after what caused it, by the clock of the control plane. */
    endpointsServed(seconds: number): void;
    /** A first packet to a Service without endpoints was answered. */
    rejected(family: Family): void;
    /** Entries of conntrack were removed by so many requests. */
    flushed(requests: number): void;
    /** So many lines of the journal could not be read. */
    journalLinesSkipped(lines: number): void;
    /** The journal could not be written. */
    journalWriteFailed(): void;
}

const families = [4, 6] as const;

/**
 * Declares the metrics of AntreaProxy, once per process: those of upstream Antrea by its names, and further ones.
 *
 * @param installed the Services that OVS has, read at each scrape
 * @param unserved those of which nothing can be served, read likewise
 */
export function proxyMetrics(
    metrics: Pick<MetricsFactory, "counter" | "gauge" | "histogram">,
    installed: () => Iterable<ServedService>,
    unserved: () => Iterable<Pick<ServedService, "problems">>,
): ProxyMetrics {
    const labelNames = ["ip_family"] as const;
    metrics.gauge({
        name: "antrea_proxy_total_services_installed",
        help: "Ports of Services that OVS serves.",
        labelNames,
        collect: () => perFamily(installed(), () => 1),
    });
    metrics.gauge({
        name: "antrea_proxy_total_endpoints_installed",
        help: "Endpoints that OVS serves, counted for each port of a Service.",
        labelNames,
        collect: () => perFamily(installed(), ({ endpoints }) => endpoints.cluster.length),
    });
    metrics.gauge({
        name: "antrea_proxy_problems",
        help: "Parts of Services (endpoints, addresses, ports and others) that are not served as written, by the reason of their event.",
        labelNames: ["reason"],
        collect: () => {
            const counts = new Map<string, number>();
            for (const { problems } of [...installed(), ...unserved()])
                for (const { reason, count } of problems) counts.set(reason, (counts.get(reason) ?? 0) + count);
            return [...counts].map(([reason, value]) => ({ labels: { reason }, value }));
        },
    });
    const endpointUpdates = metrics.counter({
        name: "antrea_proxy_total_endpoints_updates",
        help: "Changes of EndpointSlices.",
        labelNames,
    });
    const serviceUpdates = metrics.counter({
        name: "antrea_proxy_total_services_updates",
        help: "Changes of Services.",
        labelNames,
    });
    const syncs = metrics.histogram({
        name: "antrea_proxy_sync_proxy_rules_duration_seconds",
        help: "Time of the attempt by which OVS got a change of a Service or its endpoints, without waits and failed attempts; deletions are not counted.",
        labelNames,
    });
    const fromTrigger = metrics.histogram({
        name: "antrea_proxy_endpoint_change_duration_seconds",
        help: "Time from what changed endpoints (annotation endpoints.kubernetes.io/last-change-trigger-time) until OVS has it.",
    });
    const rejects = metrics.counter({
        name: "antrea_proxy_rejected_packets_total",
        help: "Packets to Services without endpoints that were answered with a reset or an ICMP error.",
        labelNames,
    });
    const flushes = metrics.counter({
        name: "antrea_proxy_conntrack_flushes_total",
        help: "Requests to OVS to remove UDP entries of conntrack that lead to endpoints that stopped serving.",
    });
    const skippedLines = metrics.counter({
        name: "antrea_proxy_journal_skipped_lines_total",
        help: "Lines of the journal of Services that could not be read at a start.",
    });
    const writeFailures = metrics.counter({
        name: "antrea_proxy_journal_write_failures_total",
        help: "Tries to write the journal of Services that failed.",
    });
    return {
        endpointsUpdated: (addressType) => {
            if (addressType === "IPv4") endpointUpdates.inc({ ip_family: "v4" });
            if (addressType === "IPv6") endpointUpdates.inc({ ip_family: "v6" });
        },
        serviceUpdated: (of) => of.forEach((family) => serviceUpdates.inc(labelsOf(family))),
        synced: (of, seconds) => of.forEach((family) => syncs.observe(seconds, labelsOf(family))),
        endpointsServed: (seconds) => fromTrigger.observe(seconds),
        rejected: (family) => rejects.inc(labelsOf(family)),
        flushed: (requests) => flushes.inc(undefined, requests),
        journalLinesSkipped: (lines) => skippedLines.inc(undefined, lines),
        journalWriteFailed: () => writeFailures.inc(),
    };
}

function labelsOf(family: Family): { readonly ip_family: string } {
    return { ip_family: `v${family}` };
}

function perFamily(
    installed: Iterable<ServedService>,
    count: (port: ServedService["ports"][number]) => number,
): readonly { readonly labels: { readonly ip_family: string }; readonly value: number }[] {
    const sums = { 4: 0, 6: 0 };
    for (const { ports } of installed) for (const port of ports) sums[port.family] += count(port);
    return families.map((family) => ({ labels: labelsOf(family), value: sums[family] }));
}
