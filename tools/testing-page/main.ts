import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format, resolveConfig } from "prettier";

/** The cells of a row; the first one identifies it. */
export type Row = readonly string[];

/**
 * The page with these rows, which replace their old versions in the table between `<!-- NAME -->` and `<!-- /NAME
 * -->`.
 */
export function withRows(page: string, name: string, head: Row, rows: readonly Row[]): string {
    const [before, rest] = parted(page, `<!-- ${name} -->`);
    const [table, after] = parted(rest, `<!-- /${name} -->`);
    const old = table
        .split("\n")
        .filter((line) => line.startsWith("|"))
        .slice(2)
        .map((line) =>
            line
                .split("|")
                .slice(1, -1)
                .map((cell) => cell.trim()),
        );
    const kept = old.map((row) => rows.find(([first]) => first === row[0]) ?? row);
    const added = rows.filter(([first]) => !old.some((row) => row[0] === first));
    const rule = head.map((_, at) => (at === 0 ? "---" : "--:"));
    const text = [head, rule, ...kept, ...added].map((row) => `| ${row.join(" | ")} |`).join("\n");
    return `${before}<!-- ${name} -->\n\n${text}\n\n<!-- /${name} -->${after}`;
}

/** Writes rows into docs/testing.md. */
export async function writeRows(root: string, name: string, head: Row, rows: readonly Row[]): Promise<void> {
    const file = join(root, "docs/testing.md");
    const page = withRows(readFileSync(file, "utf8"), name, head, rows);
    writeFileSync(file, await format(page, { ...(await resolveConfig(file)), parser: "markdown" }));
}

function parted(text: string, mark: string): readonly [string, string] {
    const at = text.indexOf(mark);
    assert(at >= 0, `docs/testing.md has no ${mark}`);
    return [text.slice(0, at), text.slice(at + mark.length)];
}

// main.ts NAME HEAD-CELL... with one row per line on stdin, cells separated by tabs
if (import.meta.main) {
    const [name = "", ...head] = process.argv.slice(2);
    const rows = readFileSync(0, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.split("\t"));
    await writeRows(join(import.meta.dirname, "../.."), name, head, rows);
}
