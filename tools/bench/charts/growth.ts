import { type Point, type Result } from "../result.ts";
import { axis, drawSvg, ink, titled } from "./svg.ts";

const size = { width: 820, height: 620 };

interface Line {
    /** Id of the result with the points. */
    readonly id: string;
    readonly name: string;
    readonly dashed?: boolean;
}

/** Latency above, memory below, by one growing quantity. */
export interface GrowthChart {
    readonly title: string;
    readonly subtitle: string;
    readonly over: string;
    readonly latency: readonly Line[];
    readonly memory: readonly Line[];
    /** Base of the logarithmic axis of the quantity. Default 10. */
    readonly base?: 2;
}

/** Draws the chart. Undefined if none of its results exists. */
export function drawGrowth(chart: GrowthChart, results: readonly Result[]): string | undefined {
    const pointsOf = new Map(results.map(({ id, points }) => [id, points ?? []]));
    const parts = [chart.latency, chart.memory].map((lines) =>
        lines.filter(({ id }) => (pointsOf.get(id)?.length ?? 0) > 0),
    );
    const all = parts.flat().flatMap(({ id }) => pointsOf.get(id) ?? []);
    if (all.length === 0) return undefined;
    const { base = 10 } = chart;
    const bounds = boundsOf(all, base);
    const [top = 0, height = 0] = [78, 190];
    const second = top + height + 70;
    const xAxis = (gridIndex: number): object => ({
        ...axis(chart.over),
        type: "value",
        gridIndex,
        nameGap: 28,
        ...bounds,
        axisLabel: { color: ink, formatter: (power: number) => labelOf(power, base) },
    });
    const yAxis = (gridIndex: number, name: string, more: object): object => ({
        ...axis(name),
        gridIndex,
        nameGap: 44,
        ...more,
    });
    const series = parts.flatMap((lines, at) =>
        lines.map(({ id, name, dashed = false }) => ({
            type: "line",
            name,
            xAxisIndex: at,
            yAxisIndex: at,
            symbolSize: 6,
            lineStyle: { width: 2, type: dashed ? "dashed" : "solid" },
            data: (pointsOf.get(id) ?? []).map(({ x, value }) => [logarithm(x, base), value]),
        })),
    );
    return drawSvg(
        {
            ...titled(chart.title, chart.subtitle),
            grid: [
                { left: 70, right: 30, top, height },
                { left: 70, right: 30, top: second, height },
            ],
            xAxis: [xAxis(0), xAxis(1)],
            yAxis: [yAxis(0, "ms", { type: "log", min: 1 }), yAxis(1, "MiB", { type: "value", min: 0 })],
            series,
        },
        size,
    );
}

/** The exponents of the ends of the axis. */
function boundsOf(points: readonly Point[], base: number): object {
    const powers = points.map(({ x }) => logarithm(x, base));
    const [min, max] = [Math.floor(Math.min(...powers)), Math.ceil(Math.max(...powers))];
    return { min, max, interval: base === 2 ? 2 : 1 };
}

function logarithm(x: number, base: number): number {
    return Number((Math.log(x) / Math.log(base)).toFixed(4));
}

/** Axis label: 1, 10, 1,000; for base 2 the exponent. */
export function labelOf(power: number, base: number): string {
    const digits = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const raised = [...String(power)].map((digit) => digits[Number(digit)] ?? "").join("");
    return base === 2 ? `2${raised}` : (base ** power).toLocaleString("en");
}
