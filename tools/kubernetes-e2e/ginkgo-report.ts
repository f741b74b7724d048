import { readFileSync } from "node:fs";

/** The result of one test. `left out`: not selected by the expression, or disabled in its source. */
export type Outcome = "passed" | "failed" | "skipped itself" | "left out";

export interface TestResult {
    readonly name: string;
    readonly outcome: Outcome;
    /** Why it failed or skipped itself, on one line; otherwise empty. */
    readonly message: string;
    readonly seconds: number;
}

/** A node of the suite in Ginkgo's JSON report: a test, or setup and teardown of the suite. */
interface SpecReport {
    readonly ContainerHierarchyTexts: readonly string[] | null;
    readonly LeafNodeType: string;
    readonly LeafNodeText: string;
    readonly State: string;
    readonly RunTime: number;
    readonly NumAttempts: number;
    readonly Failure?: { readonly Message: string };
}

interface SuiteReport {
    readonly SpecReports: readonly SpecReport[] | null;
}

/** The tests of this group, and failures around them: the runner itself is not a test, but its failure counts. */
export function readResults(file: string, group: string): readonly TestResult[] {
    const suites = JSON.parse(readFileSync(file, "utf8")) as readonly SuiteReport[];
    return suites
        .flatMap((suite) => suite.SpecReports ?? [])
        .map(resultOf)
        .filter((result) => result.name.startsWith(group) || result.outcome === "failed");
}

function resultOf(spec: SpecReport): TestResult {
    const name = [...(spec.ContainerHierarchyTexts ?? []), spec.LeafNodeText].filter((text) => text !== "").join(" ");
    return {
        name: spec.LeafNodeType === "It" ? name : `(${spec.LeafNodeType}) ${name}`.trim(),
        outcome: outcomeOf(spec),
        message: (spec.Failure?.Message ?? "").replaceAll(/\s+/g, " ").trim(),
        seconds: spec.RunTime / 1e9,
    };
}

function outcomeOf(spec: SpecReport): Outcome {
    switch (spec.State) {
        case "passed":
            return "passed";
        case "pending":
            return "left out";
        case "skipped":
            // one that never started was filtered out; one that did start skipped itself
            return spec.NumAttempts === 0 && spec.Failure === undefined ? "left out" : "skipped itself";
        default:
            return "failed";
    }
}
