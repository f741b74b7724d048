import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const folder = new URL("../.reports/", import.meta.url).pathname;
const gathered = `${folder}e2e-matrix.jsonl`;
const page = `${folder}e2e-matrix.md`;

/** Who reached whom, as one table: a row for each mode and family, a column for each path. */
export function table(cells) {
    const rows = [...new Set(cells.map(({ mode, family }) => `${mode}, ${family}`))];
    const columns = [...new Set(cells.map(({ path }) => path))];
    const state = new Map();
    for (const { mode, family, path, ok, text } of cells) {
        const key = `${mode}, ${family}|${path}`;
        state.set(key, ok && state.get(key) !== "failed" ? (text ?? "ok") : "failed");
    }
    const lines = [
        ["", ...columns],
        ...rows.map((row) => [row, ...columns.map((column) => state.get(`${row}|${column}`) ?? "-")]),
    ];
    const widths = lines[0].map((_, column) => Math.max(3, ...lines.map((line) => line[column].length)));
    const text = (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column])).join(" | ")} |`;
    const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
    return [text(lines[0]), rule, ...lines.slice(1).map(text)].join("\n");
}

/** Prints what the suites gathered with fixture/matrix.ts once all have ended, and leaves it in .reports. */
export default class MatrixReporter {
    onRunStart() {
        rmSync(gathered, { force: true });
        rmSync(page, { force: true });
    }

    onRunComplete() {
        if (!existsSync(gathered)) return;
        const cells = readFileSync(gathered, "utf8")
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line));
        const text = [...Map.groupBy(cells, ({ table }) => table).values()].map((group) => table(group)).join("\n\n");
        writeFileSync(page, `# Who reaches whom\n\n${text}\n`);
        process.stdout.write(`\n${text}\n`);
        rmSync(gathered);
    }
}
