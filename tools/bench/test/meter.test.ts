import { describe, expect, it } from "@jest/globals";
import { cpuTicks, cpuTicksWithChildren, metricSum, spent } from "../meter.ts";

describe("metricSum", () => {
    const text = [
        "# HELP apiserver_watch_events_sizes Watch event sizes",
        "# TYPE apiserver_watch_events_sizes histogram",
        'apiserver_watch_events_sizes_bucket{resource="pods",le="1024"} 7',
        'apiserver_watch_events_sizes_sum{resource="pods"} 141',
        'apiserver_watch_events_sizes_sum{resource="nodes",note="a b"} 1.32e+02',
        "apiserver_watch_events_sizes_sums 1000",
        "etcd_disk_wal_write_bytes_total 59160",
    ].join("\n");

    it.each([
        ["all samples of a metric with labels", "apiserver_watch_events_sizes_sum", 273],
        ["a metric without labels", "etcd_disk_wal_write_bytes_total", 59_160],
        ["nothing of a metric that is not there", "etcd_disk_wal_write_bytes", 0],
    ])("sums up %s", (_name, metric, sum) => {
        expect(metricSum(text, metric)).toBe(sum);
    });

    it("sums up only the samples that have all labels asked for", () => {
        const metric = "apiserver_watch_events_sizes_sum";
        expect(metricSum(text, metric, ['resource="nodes"'])).toBe(132);
        expect(metricSum(text, metric, ['resource="nodes"', 'note="a b"'])).toBe(132);
        expect(metricSum(text, metric, ['resource="pods"', 'note="a b"'])).toBe(0);
    });
});

describe("cpuTicks", () => {
    it("adds user and system time, whatever the name of the process", () => {
        const rest = "S 1 1 1 0 -1 4194560 9 0 0 0 120 30 7 8 20 0 12 0 4000 1 2";
        expect(cpuTicks(`4711 (kube-apiserver) ${rest}`)).toBe(150);
        expect(cpuTicks(`4711 (a) b (c) ${rest}`)).toBe(150);
        expect(cpuTicksWithChildren(`4711 (a) b (c) ${rest}`)).toBe(165);
    });
});

describe("spent", () => {
    it("is what was spent between two readings, without what they took themselves", () => {
        const before = { cpuMs: 10, cpuMsAfter: 12, etcdBytes: 100, watchedBytes: 5, allocationLists: 3 };
        const after = { cpuMs: 30, cpuMsAfter: 37, etcdBytes: 1_100, watchedBytes: 5, allocationLists: 7 };
        expect(spent(before, after)).toEqual({ cpuMs: 18, etcdBytes: 1_000, watchedBytes: 0, allocationLists: 4 });
    });
});
