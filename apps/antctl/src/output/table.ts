import { type Style } from "./style.ts";
import { fold, widthOf } from "./text.ts";

/** A column of a table; an empty value is printed as `-`. */
export interface Column<Row> {
    readonly title: string;
    readonly value: (row: Row) => string;
    /** Default left. */
    readonly align?: "left" | "right";
}

const gap = "   ";
/** Minimum width at which the last column is wrapped. */
const leastFolded = 24;

/**
 * Rows under their titles with aligned columns, as kubectl prints them; without a final line end. The last column is
 * wrapped to the line if at least 24 characters are left for it.
 */
export function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], style: Style): string {
    const cells = rows.map((row) => columns.map(({ value }) => value(row) || "-"));
    const widths = columns.map(({ title }, at) =>
        Math.max(title.length, ...cells.map((row) => widthOf(row[at] ?? ""))),
    );
    const used = widths.slice(0, -1).reduce((sum, width) => sum + width + gap.length, 0);
    const left = style.columns - used;
    const line = (row: readonly string[]): string =>
        row
            .map((cell, at) => {
                const padding = " ".repeat((widths[at] ?? 0) - Math.min(widthOf(cell), widths[at] ?? 0));
                return columns[at]?.align === "right" ? padding + cell : cell + padding;
            })
            .join(gap)
            .trimEnd();
    const lines = cells.flatMap((row) => {
        const last = row.at(-1) ?? "";
        const [first = "", ...more] = left >= leastFolded ? fold(last, left) : [last];
        return [line([...row.slice(0, -1), first]), ...more.map((each) => " ".repeat(used) + each)];
    });
    return [style.bold(line(columns.map(({ title }) => title))), ...lines].join("\n");
}

/** `Name: value` lines with aligned and wrapped values, `-` for an empty one; without a final line end. */
export function fields(entries: readonly (readonly [name: string, value: string])[], style: Style): string {
    const width = Math.max(0, ...entries.map(([name]) => name.length + 1)) + gap.length;
    return entries
        .flatMap(([name, value]) => {
            const [first = "", ...more] = fold(
                value === "" ? "-" : value,
                Math.max(leastFolded, style.columns - width),
            );
            const head = `${name}:`;
            return [
                `${style.bold(head)}${" ".repeat(width - head.length)}${first}`.trimEnd(),
                ...more.map((each) => " ".repeat(width) + each),
            ];
        })
        .join("\n");
}

/** Items, each after two spaces and `mark`, wrapped to the line; without a final line end. */
export function list(items: readonly string[], style: Style, mark = "-"): string {
    return items
        .flatMap((item) =>
            fold(item, style.columns - mark.length - 3).map(
                (line, at) => `  ${at === 0 ? mark : " ".repeat(mark.length)} ${line}`,
            ),
        )
        .join("\n");
}
