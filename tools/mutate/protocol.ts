import type { Failure } from "./suite.ts";

/** What a runner loads. Paths are relative to the root. */
export interface Plan {
    readonly root: string;
    /** Test files. */
    readonly tests: readonly string[];
    /** By source file, its instrumented copy. */
    readonly instrumented: Readonly<Record<string, string>>;
    /** For property tests. */
    readonly seed: number;
}

/** `tests`: undefined for all loaded tests. `limits`: by test in milliseconds. */
export type Order =
    | { readonly kind: "survey" }
    | {
          readonly kind: "judge";
          readonly mutant: string;
          readonly tests: readonly string[] | undefined;
          readonly limits: Readonly<Record<string, number>>;
          /** How often the mutated code may run before it counts as an endless loop. */
          readonly hitLimit: number;
      };

/** `clean`: no state is left behind that could affect the next mutant. */
export type Answer =
    | { readonly kind: "loaded" }
    | { readonly kind: "broken"; readonly text: string }
    | { readonly kind: "survived"; readonly clean: boolean }
    | { readonly kind: "killed"; readonly how: "test" | "time"; readonly by: string; readonly clean: boolean };

export interface Survey {
    readonly kind: "survey";
    readonly failure: Failure | undefined;
    readonly tests: readonly SurveyedTest[];
    /** The mutants in code that runs at load time. */
    readonly atLoad: readonly string[];
    /** By test file, the mutated files that it loads. */
    readonly reach: Readonly<Record<string, readonly string[]>>;
}

export interface SurveyedTest {
    readonly id: string;
    readonly file: string;
    readonly ms: number;
    /** By mutant, how often the test executed it. */
    readonly hits: Readonly<Record<string, number>>;
}
