import { type Result } from "../result.ts";
import { drawBars, type Bar, type BarChart } from "./bars.ts";
import { drawGrowth, type GrowthChart } from "./growth.ts";

/** A rendered chart of docs/benchmarks. */
export interface Drawn {
    readonly file: string;
    /** Alternative text of the image. */
    readonly alt: string;
    readonly svg: string;
}

/** Draws all charts with results, in the order of the page. */
export function drawAll(results: readonly Result[]): readonly Drawn[] {
    const drawn = [
        ...growthCharts.map(({ file, chart }) => ({ file, alt: altOf(chart), svg: drawGrowth(chart, results) })),
        ...barCharts.map(({ file, chart }) => ({ file, alt: altOf(chart), svg: drawBars(chart, results) })),
    ];
    return drawn.flatMap(({ svg, ...rest }) => (svg === undefined ? [] : [{ ...rest, svg }]));
}

function altOf({ title, subtitle }: { readonly title: string; readonly subtitle: string }): string {
    return `${title}: ${subtitle}`;
}

const latencyOf = (axis: string): GrowthChart["latency"] => [
    { id: `growth-${axis}-claim-p50`, name: "an allocation, p50" },
    { id: `growth-${axis}-claim-p99`, name: "an allocation, p99", dashed: true },
    { id: `growth-${axis}-add-p50`, name: "agent ADD, p50" },
];
const memoryOf = (axis: string): GrowthChart["memory"] => [
    { id: `growth-${axis}-agent`, name: "antrea-agent, resident" },
    { id: `growth-${axis}-controller`, name: "antrea-controller, resident" },
];

const growthCharts: readonly { readonly file: string; readonly chart: GrowthChart }[] = [
    {
        file: "growth-size.svg",
        chart: {
            title: "Addresses in the pool",
            subtitle: "a pool that is nearly empty; lower is better",
            over: "addresses",
            latency: latencyOf("size"),
            memory: memoryOf("size"),
            base: 2,
        },
    },
    {
        file: "growth-full.svg",
        chart: {
            title: "Addresses in the pool, 95 % claimed",
            subtitle: "the allocations grow with the pool; lower is better",
            over: "addresses",
            latency: latencyOf("full"),
            memory: memoryOf("full"),
            base: 2,
        },
    },
    {
        file: "growth-nodes.svg",
        chart: {
            title: "Nodes",
            subtitle: "simulated Nodes beside the agent's, with the watches of their agents; lower is better",
            over: "Nodes",
            latency: latencyOf("nodes"),
            memory: memoryOf("nodes"),
        },
    },
    {
        file: "growth-pools.svg",
        chart: {
            title: "Pools",
            subtitle: "IPPools of 256 addresses; lower is better",
            over: "pools",
            latency: latencyOf("pools"),
            memory: memoryOf("pools"),
        },
    },
];

const sizes = [1, 10, 100];
const quantiles = ["p50", "p99", "max"];
const ipamIds = (plugin: string): readonly string[] =>
    sizes.flatMap((count) => quantiles.map((quantile) => `ipam-${plugin}-add-${count}-${quantile}`));
const ways = ["same", "noencap", "geneve"];
const loads = ["throughput", "requests", "connections"];
const dataPlaneIds = (peer: string): readonly string[] =>
    ways.flatMap((way) => loads.map((load) => `data-plane-${way}-${load}-${peer}`));

const networkWays: readonly { readonly name: string; readonly bar: Bar }[] = [
    { name: "one call\nfor all", bar: { id: "networks-burst-time", figure: "value" } },
    { name: "one network\nafter another", bar: { id: "networks-burst-time", figure: "peer" } },
    { name: "bridge +\nhost-local", bar: { id: "networks-burst-time-bridges", figure: "peer" } },
    { name: "floor: links\nand ports", bar: { id: "networks-burst-time-floor", figure: "peer" } },
];

const barCharts: readonly { readonly file: string; readonly chart: BarChart }[] = [
    {
        file: "ipam.svg",
        chart: {
            title: "One address by the protocol of CNI",
            subtitle: "whole processes, ms; lower is better",
            unit: "ms",
            scale: "log",
            groups: sizes.flatMap((count) => quantiles.map((name) => `${count} at once\n${name}`)),
            bars: [
                { name: "antrea-cni", bars: ipamIds("antrea").map((id) => ({ id, figure: "value" as const })) },
                { name: "host-local", bars: ipamIds("antrea").map((id) => ({ id, figure: "peer" as const })) },
                { name: "dhcp", bars: ipamIds("dhcp").map((id) => ({ id, figure: "value" as const })) },
            ],
        },
    },
    {
        file: "claims.svg",
        chart: {
            title: "Allocations of one pool in a second",
            subtitle: "agents that claim at the same time; higher is better",
            unit: "allocations a second",
            scale: "log",
            groups: sizes.map((count) => (count === 1 ? "1 agent" : `${count} agents`)),
            bars: [
                {
                    name: "allocations",
                    bars: sizes.map((count) => ({ id: `claims-rate-${count}`, figure: "value" as const })),
                },
                {
                    name: "bare creates",
                    bars: sizes.map((count) => ({ id: `claims-rate-${count}`, figure: "peer" as const })),
                },
                {
                    name: "a list in the status of one object",
                    bars: sizes.map((count) => ({ id: `claims-rate-list-${count}`, figure: "peer" as const })),
                },
            ],
        },
    },
    {
        file: "networks.svg",
        chart: {
            title: "128 Pods with 16 networks at once",
            subtitle: "seconds until the last Pod has all its interfaces; lower is better",
            unit: "s",
            scale: "linear",
            groups: networkWays.map(({ name }) => name),
            bars: [{ name: "seconds", bars: networkWays.map(({ bar }) => bar) }],
        },
    },
    {
        file: "data-plane.svg",
        chart: {
            title: "Pod to Pod",
            subtitle: "the agent's pipeline divided by a plain bridge, pair by pair; higher is better",
            unit: "ratio",
            scale: "linear",
            line: { at: 1, name: "1" },
            groups: ways.flatMap((way) => loads.map((load) => `${way}\n${load}`)),
            bars: [
                { name: "against NORMAL", bars: dataPlaneIds("plain").map((id) => ({ id, figure: "ratio" as const })) },
                {
                    name: "against as many ct() passes",
                    bars: dataPlaneIds("ct").map((id) => ({ id, figure: "ratio" as const })),
                },
            ],
        },
    },
];
