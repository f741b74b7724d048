import type { Failure } from "./suite.ts";

/** What a runner loads. Files are named relative to the root. */
export interface Plan {
    readonly root: string;
    /** Files of tests. */
    readonly tests: readonly string[];
    /** By source file where its instrumented copy is. */
    readonly instrumented: Readonly<Record<string, string>>;
    /** Of property tests. */
    readonly seed: number;
}

/** `tests`: undefined for all that are loaded. `limits`: by test in milliseconds. */
export type Order =
    | { readonly kind: "survey" }
    | {
          readonly kind: "judge";
          readonly mutant: string;
          readonly tests: readonly string[] | undefined;
          readonly limits: Readonly<Record<string, number>>;
          /** How often the mutated place may be passed before it counts as endless. */
          readonly hitLimit: number;
      };

/** `clean`: nothing is left behind that the next mutant could be blamed for. */
export type Answer =
    | { readonly kind: "loaded" }
    | { readonly kind: "broken"; readonly text: string }
    | { readonly kind: "survived"; readonly clean: boolean }
    | { readonly kind: "killed"; readonly how: "test" | "time"; readonly by: string; readonly clean: boolean };

export interface Survey {
    readonly kind: "survey";
    readonly failure: Failure | undefined;
    readonly tests: readonly SurveyedTest[];
    /** The mutants in code that runs when a file is loaded. */
    readonly atLoad: readonly string[];
    /** By file of tests the mutated files that it loads. */
    readonly reach: Readonly<Record<string, readonly string[]>>;
}

export interface SurveyedTest {
    readonly id: string;
    readonly file: string;
    readonly ms: number;
    /** By mutant how often the test passed it. */
    readonly hits: Readonly<Record<string, number>>;
}
