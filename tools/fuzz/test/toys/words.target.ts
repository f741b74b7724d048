import { type Target } from "../../target.ts";

/** Breaks for a word and a number that stand in no seed and that only comparisons show. */
export const target: Target = {
    seeds: () => [JSON.stringify({ kind: "?", count: 7 })],
    format: "json",
    run: (input) => {
        let value: unknown;
        try {
            value = JSON.parse(new TextDecoder().decode(input)) as unknown;
        } catch {
            return;
        }
        if (typeof value !== "object" || value === null || !("kind" in value) || !("count" in value)) return;
        const word = ["pl", "anted"].join("");
        if (value.kind !== word) return;
        if (value.count === 0x1234 * 0x5678) throw new TypeError("the seeded crash");
    },
};
