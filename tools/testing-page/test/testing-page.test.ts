import { expect, it } from "@jest/globals";
import { withRows } from "../main.ts";

const page = `# Page

<!-- scores -->
| Area | Score |
| --- | ---: |
| a | 1 |
| b | 2 |
<!-- /scores -->

after
`;

it("puts a row in the place of its older version, a new one at the end, and leaves the rest", () => {
    const written = withRows(
        page,
        "scores",
        ["Area", "Score"],
        [
            ["c", "4"],
            ["a", "3"],
        ],
    );
    expect(written.split("\n").filter((line) => line.startsWith("|"))).toEqual([
        "| Area | Score |",
        "| --- | --: |",
        "| a | 3 |",
        "| b | 2 |",
        "| c | 4 |",
    ]);
    expect(written).toMatch(/^# Page\n\n<!-- scores -->/);
    expect(written).toMatch(/<!-- \/scores -->\n\nafter\n$/);
});

it("does not write into a page without the marks", () => {
    expect(() => withRows("# Page\n", "scores", ["Area"], [])).toThrow("no <!-- scores -->");
});
