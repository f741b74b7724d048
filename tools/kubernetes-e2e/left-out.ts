import { readFileSync } from "node:fs";
import { AntreaError } from "@antrea/errors";
import type { TestResult } from "./ginkgo-report.ts";

/** `NO_REASON`: the list has a test without a reason above it. */
class LeftOutError extends AntreaError<"NO_REASON"> {}

/** A reason for omitting tests, and the omitted tests. */
export interface LeftOut {
    readonly reason: string;
    readonly tests: readonly string[];
}

/** Parses the list: lines that start with # are a reason, the lines below it are names of tests. */
export function readLeftOut(file: string): readonly LeftOut[] {
    const groups: { reason: string; tests: string[] }[] = [];
    let open = false;
    for (const line of readFileSync(file, "utf8")
        .split("\n")
        .map((text) => text.trim())) {
        const group = groups.at(-1);
        if (line === "") {
            open = false;
        } else if (!line.startsWith("#")) {
            if (group === undefined)
                throw new LeftOutError("NO_REASON", "caller", `${file}: "${line}" has no reason above it`);
            group.tests.push(line);
            open = false;
        } else if (open && group !== undefined) {
            group.reason += ` ${line.slice(1).trim()}`;
        } else {
            groups.push({ reason: line.slice(1).trim(), tests: [] });
            open = true;
        }
    }
    return groups;
}

/** Where the list and the selection disagree: each test must be either selected or omitted. */
export function disagreements(results: readonly TestResult[], leftOut: readonly LeftOut[]): readonly string[] {
    const listed = leftOut.flatMap((group) => group.tests);
    const known = new Map(results.map((result) => [result.name, result]));
    const found: string[] = [];
    for (const [index, name] of listed.entries()) {
        if (listed.indexOf(name) !== index) found.push(`listed twice: ${name}`);
        else if (!known.has(name)) found.push(`listed, but there is no such test: ${name}`);
        else if (known.get(name)?.outcome !== "left out") found.push(`listed as left out, and chosen: ${name}`);
    }
    for (const result of results) {
        if (result.outcome === "left out" && !listed.includes(result.name)) {
            found.push(`left out without a reason: ${result.name}`);
        }
    }
    return found;
}
