import { expect, it } from "@jest/globals";
import { Metrics } from "@antrea/runtime";
import { proxyMetrics } from "../../../src/features/services/metrics.ts";
import { endpointsAt, portAt, serviceWith } from "./examples.ts";

const problem = { reason: "InvalidEndpoint", field: "f", value: "v", rule: "r", next: "n", count: 3 } as const;

it("the metrics of AntreaProxy are those of upstream Antrea and further ones", async () => {
    const metrics = new Metrics({ processMetrics: false });
    const installed = [
        serviceWith([
            portAt("10.96.0.1", endpointsAt("10.10.1.2", "10.10.1.3")),
            portAt("10.96.0.1", endpointsAt("10.10.1.2"), { port: 443 }),
            portAt("fd00::1", []),
        ]),
        serviceWith([portAt("10.96.0.2", [])], { key: "default/other", problems: [problem] }),
    ];
    const proxy = proxyMetrics(
        metrics,
        () => installed,
        () => [serviceWith([], { key: "default/none", problems: [{ ...problem, count: 2 }] })],
    );
    proxy.endpointsUpdated("IPv4");
    proxy.endpointsUpdated("FQDN");
    proxy.serviceUpdated([4, 6]);
    proxy.synced([6], 0.2);
    proxy.endpointsServed(0.5);
    proxy.rejected(4);
    proxy.rejected(4);
    proxy.flushed(3);
    proxy.journalLinesSkipped(2);
    proxy.journalWriteFailed();
    const lines = (await metrics.text())
        .split("\n")
        .filter((line) => !line.startsWith("#") && !line.includes("_bucket"));
    expect(lines.filter((line) => line !== "").sort()).toEqual([
        "antrea_proxy_conntrack_flushes_total 3",
        "antrea_proxy_endpoint_change_duration_seconds_count 1",
        "antrea_proxy_endpoint_change_duration_seconds_sum 0.5",
        "antrea_proxy_journal_skipped_lines_total 2",
        "antrea_proxy_journal_write_failures_total 1",
        'antrea_proxy_problems{reason="InvalidEndpoint"} 5',
        'antrea_proxy_rejected_packets_total{ip_family="v4"} 2',
        'antrea_proxy_sync_proxy_rules_duration_seconds_count{ip_family="v6"} 1',
        'antrea_proxy_sync_proxy_rules_duration_seconds_sum{ip_family="v6"} 0.2',
        'antrea_proxy_total_endpoints_installed{ip_family="v4"} 3',
        'antrea_proxy_total_endpoints_installed{ip_family="v6"} 0',
        'antrea_proxy_total_endpoints_updates{ip_family="v4"} 1',
        'antrea_proxy_total_services_installed{ip_family="v4"} 3',
        'antrea_proxy_total_services_installed{ip_family="v6"} 1',
        'antrea_proxy_total_services_updates{ip_family="v4"} 1',
        'antrea_proxy_total_services_updates{ip_family="v6"} 1',
    ]);
});
