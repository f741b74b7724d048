import { describe, expect, it } from "@jest/globals";
import { Metrics, exportBuildInfo } from "../src/metrics.ts";

const plain = (): Metrics => new Metrics({ processMetrics: false });
const samples = async (metrics: Metrics): Promise<string[]> =>
    (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));

describe("Metrics", () => {
    it("counts, sets and observes, with and without labels", async () => {
        const metrics = plain();
        const calls = metrics.counter({ name: "calls_total", help: "Calls.", labelNames: ["result"] });
        calls.inc({ result: "ok" });
        calls.inc({ result: "ok" }, 2);
        metrics.counter({ name: "all_total", help: "All." }).inc();
        const pods = metrics.gauge({ name: "pods", help: "Pods.", labelNames: ["family"] });
        pods.set(3, { family: "4" });
        pods.set(1, { family: "6" });
        pods.remove({ family: "6" });
        const seconds = metrics.histogram({ name: "seconds", help: "Time.", buckets: [1, 2] });
        seconds.observe(1.5);
        expect(await samples(metrics)).toEqual([
            'calls_total{result="ok"} 3',
            "all_total 1",
            'pods{family="4"} 3',
            'seconds_bucket{le="1"} 0',
            'seconds_bucket{le="2"} 1',
            'seconds_bucket{le="+Inf"} 1',
            "seconds_sum 1.5",
            "seconds_count 1",
        ]);
    });

    it("computes gauges on each scrape and forgets the samples of the last", async () => {
        const metrics = plain();
        let now: { labels: { table: string }; value: number }[] = [{ labels: { table: "a" }, value: 1 }];
        metrics.gauge({ name: "flows", help: "Flows.", labelNames: ["table"], collect: () => now });
        let size = 5;
        metrics.gauge({
            name: "size",
            help: "Size.",
            collect: () => {
                if (size === 0) throw new TypeError("no size");
                return size;
            },
        });
        expect(await samples(metrics)).toEqual(['flows{table="a"} 1', "size 5"]);
        now = [{ labels: { table: "b" }, value: 2 }];
        size = 0;
        expect(await samples(metrics)).toEqual(['flows{table="b"} 2']);
        size = 6;
        expect(await samples(metrics)).toEqual(['flows{table="b"} 2', "size 6"]);
    });

    it("has a registry of its own, with the metrics of the process", async () => {
        const [one, other] = [new Metrics(), new Metrics()];
        one.counter({ name: "mine_total", help: "Mine." }).inc();
        expect(await one.text()).toMatch(/^process_cpu_seconds_total /m);
        expect(await one.text()).toMatch(/^nodejs_eventloop_lag_seconds /m);
        expect(await other.text()).not.toMatch(/mine_total/);
        expect(one.contentType).toMatch(/^text\/plain/);
    });

    it("refuses a name twice", () => {
        const metrics = plain();
        metrics.gauge({ name: "x", help: "X." });
        expect(() => metrics.counter({ name: "x", help: "X." })).toThrow("the metric x is declared twice");
    });

    it("has the version of the program", async () => {
        const metrics = new Metrics({ processMetrics: false });
        exportBuildInfo(metrics, "antrea-agent", "1.2.3");
        expect(await metrics.text()).toContain(
            `antrea_build_info{program="antrea-agent",version="1.2.3",node_version="${process.version}"} 1`,
        );
    });
});
