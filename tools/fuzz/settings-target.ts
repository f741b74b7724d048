import { SettingsError } from "@antrea/settings";
import { type Target } from "./target.ts";

/** Limit of a settings file in a run, in bytes. */
const MAX_BYTES = 3_000;

/** YAML syntax besides keys and values. */
export const yamlTokens: readonly string[] = [
    "&a ",
    "*a",
    "<<: ",
    "? ",
    "- ",
    "|\n",
    ">-\n",
    "!!",
    "!!binary ",
    "{",
    "[",
    "---\n",
    "...\n",
    "%YAML 1.1\n",
    "\t",
    "~",
    "0x10",
    "1e400",
    ".inf",
    "2001-01-01",
    "__proto__: ",
];

/**
 * A target that loads a program's settings file, with the chart's file and others as seeds; SettingsError is a
 * refusal.
 */
export function settingsTarget(
    load: (text: string) => unknown,
    chartsFile: () => string,
    seeds: readonly string[],
): Target {
    return {
        format: "text",
        maxBytes: MAX_BYTES,
        // The YAML parser's nodes are large.
        bytesPerByte: 16_384,
        seeds: () => [
            withoutComments(chartsFile()),
            ...seeds,
            "a: &a [1, 2]\nb: *a\n",
            "a: &a [*a]\n",
            // Near the limit: a file of another program.
            Array.from({ length: 3_000 }, (_, at) => `k${at}: 1\n`).join(""),
        ],
        tokens: yamlTokens,
        run: (input) => void load(new TextDecoder().decode(input)),
        isRefusal: (error) => error instanceof SettingsError && error.fault === "caller",
    };
}

/** A chart's file with its settings uncommented, and without Helm's placeholders. */
function withoutComments(text: string): string {
    return text
        .split("\n")
        .map((line) => line.replace(/^(\s*)#\s?(?=\w+:)/, "$1"))
        .filter((line) => !/^\s*(#|$|\{\{)/.test(line) && !line.includes("{{"))
        .join("\n")
        .slice(0, MAX_BYTES);
}
