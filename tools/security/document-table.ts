import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./programs.ts";

/** The text of docs/security.md. */
export const securityPage: string = readFileSync(join(root, "docs/security.md"), "utf8");

/** The cells of the table under a heading of docs/security.md, without its header row. */
export function tableUnder(heading: string): readonly (readonly string[])[] {
    const [, after = ""] = securityPage.split(`\n## ${heading}\n`);
    const [section = ""] = after.split("\n## ");
    const lines = section.split("\n").filter((line) => line.startsWith("|"));
    return lines.slice(2).map((line) =>
        line
            .split("|")
            .slice(1, -1)
            .map((cell) => cell.trim()),
    );
}
