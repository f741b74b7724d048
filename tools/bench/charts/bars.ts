import { type Result } from "../result.ts";
import { axis, drawSvg, ink, titled } from "./svg.ts";

const size = { width: 820, height: 400 };

/** The figure of a result to plot: its value, that of its peer, or the ratio. */
export type Figure = "value" | "peer" | "ratio";

export interface Bar {
    readonly id: string;
    readonly figure: Figure;
}

/** Groups of adjacent bars, one per name. */
export interface BarChart {
    readonly title: string;
    readonly subtitle: string;
    /** Unit of the value axis. */
    readonly unit: string;
    readonly scale: "log" | "linear";
    readonly groups: readonly string[];
    readonly bars: readonly { readonly name: string; readonly bars: readonly Bar[] }[];
    /** A horizontal line at a goal. */
    readonly line?: { readonly at: number; readonly name: string };
}

/** Draws the chart. Undefined if none of its results exists. */
export function drawBars(chart: BarChart, results: readonly Result[]): string | undefined {
    const byId = new Map(results.map((result) => [result.id, result]));
    const figures = chart.bars.map(({ name, bars }) => ({
        name,
        values: bars.map(({ id, figure }) => figureOf(byId.get(id), figure)),
    }));
    if (figures.every(({ values }) => values.every((value) => value === undefined))) return undefined;
    const { line } = chart;
    const series = figures.map(({ name, values }, at) => ({
        type: "bar",
        name,
        barMaxWidth: 26,
        data: values.map((value) => value ?? "-"),
        label: { show: true, position: "top", color: ink, fontSize: 10 },
        ...(at === 0 && line !== undefined && { markLine: goalLine(line) }),
    }));
    return drawSvg(
        {
            ...titled(chart.title, chart.subtitle),
            grid: { left: 70, right: 60, top: 80, bottom: 70 },
            xAxis: {
                ...axis(""),
                type: "category",
                data: [...chart.groups],
                axisLabel: { color: ink, interval: 0 },
            },
            yAxis: {
                ...axis(chart.unit),
                nameGap: 48,
                ...(chart.scale === "log" ? { type: "log", min: 1 } : { min: 0 }),
            },
            series,
        },
        size,
    );
}

function figureOf(result: Result | undefined, figure: Figure): number | undefined {
    if (result === undefined) return undefined;
    if (figure === "peer") return result.against?.value;
    return figure === "ratio" ? (result.pairRatio ?? result.ratio ?? undefined) : result.value;
}

function goalLine({ at, name }: { readonly at: number; readonly name: string }): object {
    return {
        silent: true,
        symbol: "none",
        data: [{ yAxis: at }],
        lineStyle: { color: ink, type: "dashed" },
        label: { formatter: name, color: ink, position: "end" },
    };
}
