import { BarChart, LineChart } from "echarts/charts";
import { GridComponent, LegendComponent, MarkLineComponent, TitleComponent } from "echarts/components";
import { init, use, type EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

export interface Size {
    readonly width: number;
    readonly height: number;
}

/** For light and dark pages: with its own background, and colours distinguishable with red-green colour blindness. */
export const colours = ["#0072b2", "#d55e00", "#009e73", "#7f7f7f", "#cc79a7"] as const;
/** Colour of text and lines. */
export const ink = "#24292f";

/** Draws a chart as SVG. The same option gives the same text. */
export function drawSvg(option: EChartsCoreOption, { width, height }: Size): string {
    use([BarChart, LineChart, GridComponent, LegendComponent, MarkLineComponent, TitleComponent, SVGRenderer]);
    const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
    try {
        chart.setOption({
            animation: false,
            backgroundColor: "#ffffff",
            color: [...colours],
            textStyle: { color: ink },
            ...option,
        });
        return settled(chart.renderToSVGString());
    } finally {
        chart.dispose();
    }
}

/**
 * Removes mouse interaction and the counters that the library increments across charts: a page embeds the image only.
 */
export function settled(svg: string): string {
    return `${svg
        .replace(/<style\b[^>]*>.*?<\/style>\n?/gs, "")
        .replace(/ (?:class|ecmeta_\w+|pointer-events)="[^"]*"/g, "")
        .replace(/\bzr\d+-/g, "")
        .replace(/ (?:d|transform|x|y)="[^"]*"/g, (attribute) => attribute.replace(/-?\d+\.\d{3,}/g, hundredths))
        .replace(/\n{2,}/g, "\n")
        .trim()}\n`;
}

function hundredths(number: string): string {
    return String(Number(Number(number).toFixed(2)));
}

/** The title that all charts use. */
export function titled(text: string, subtext: string): object {
    return {
        title: {
            text,
            subtext,
            left: 12,
            top: 8,
            itemGap: 4,
            textStyle: { color: ink, fontSize: 15 },
            subtextStyle: { color: "#57606a", fontSize: 12 },
        },
        legend: { bottom: 8, itemGap: 24, textStyle: { color: ink }, icon: "roundRect" },
    };
}

/** Common options of every axis. */
export function axis(name: string): object {
    return {
        name,
        nameLocation: "middle",
        nameTextStyle: { color: ink },
        axisLabel: { color: ink },
        axisLine: { lineStyle: { color: "#57606a" } },
        splitLine: { lineStyle: { color: "#d8dee4" } },
    };
}
