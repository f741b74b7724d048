import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { LineSplitter } from "../../../../src/features/services/journal/line-splitter.ts";

/** The lines of parts, and "" for each that is longer than three bytes. */
function linesOf(parts: readonly string[]): readonly string[] {
    const splitter = new LineSplitter({ maxBytes: 3 });
    const lines = parts.flatMap((part) => Array.from(splitter.push(Buffer.from(part)), String));
    const last = splitter.end();
    return last === undefined ? lines : [...lines, last.toString()];
}

it("lines are the same however they arrive, and empty if they are too long", () => {
    expect(linesOf(["a\nbc", "d\nabc", "d", "efgh\n", "\nx"])).toEqual(["a", "bcd", "", "", "x"]);
    expect(linesOf(["abcd\nab\n"])).toEqual(["", "ab"]);
    const parts = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "\n"), maxLength: 9 }));
    fc.assert(
        fc.property(parts, (list) => {
            const wanted = list
                .join("")
                .split("\n")
                .map((line) => (line.length > 3 ? "" : line));
            const isEnded = list.join("").endsWith("\n") || list.join("") === "";
            expect(linesOf(list)).toEqual(isEnded ? wanted.slice(0, -1) : wanted);
        }),
    );
});
