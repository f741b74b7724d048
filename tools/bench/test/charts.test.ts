import { describe, expect, it } from "@jest/globals";
import { drawAll } from "../charts/charts.ts";
import { labelOf } from "../charts/growth.ts";
import { settled } from "../charts/svg.ts";
import { curve } from "../growth/curve.ts";
import { compared, type Result } from "../result.ts";

const points = [256, 1_024, 4_096].map((x) => ({ x, value: x / 100 }));
const results: readonly Result[] = [
    curve({ id: "growth-size-claim-p50", what: "an allocation", unit: "ms", of: "addresses", points }),
    compared({
        id: "claims-rate-10",
        what: "allocations",
        value: 448.123,
        unit: "/s",
        peer: { what: "creates", value: 535 },
    }),
];

describe("charts", () => {
    it("are drawn where there are results for them, and only there", () => {
        expect(drawAll(results).map(({ file }) => file)).toEqual(["growth-size.svg", "claims.svg"]);
        expect(drawAll([])).toEqual([]);
    });

    it("are the same text each time", () => {
        expect(drawAll(results)).toEqual(drawAll(results));
    });

    it("are small images with a background of their own and nothing that runs", () => {
        for (const { svg } of drawAll(results)) {
            expect(svg.length).toBeLessThan(60_000);
            expect(svg).toMatch(/^<svg [^>]*>\n<rect [^>]*fill="#ffffff">/);
            expect(svg).not.toMatch(/<script|<style|class=|hover|href="http/);
        }
    });

    it("show the figures", () => {
        const svg = drawAll(results).find(({ file }) => file === "claims.svg")?.svg ?? "";
        for (const text of [">448<", ">535<", ">10 agents<"]) expect(svg).toContain(text);
    });
});

describe("settled", () => {
    it("rounds places, and leaves texts alone", () => {
        const svg = '<text transform="translate(1.23456 2)" class="zr7-cls-1">1.23456</text>\n';
        expect(settled(svg)).toBe('<text transform="translate(1.23 2)">1.23456</text>\n');
    });

    it("takes the library's own count out of the names inside", () => {
        const svg = '<g clip-path="url(#zr12-c0)"></g><style ><![CDATA[\n.zr12-cls-0:hover {}\n]]></style>';
        expect(settled(svg)).toBe('<g clip-path="url(#c0)"></g>\n');
    });
});

describe("labelOf", () => {
    it.each([
        [8, 2, "2⁸"],
        [20, 2, "2²⁰"],
        [0, 10, "1"],
        [4, 10, "10,000"],
    ])("10 to the power, or two with its power: %d of %d", (power, base, text) => {
        expect(labelOf(power, base)).toBe(text);
    });
});
