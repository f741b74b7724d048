// Queries the npm registry for known vulnerabilities of the packages in package-lock.json: those that ship, and all.
//   audit.ts
// Fails for a finding of severity high or above. If the registry gives no result, neither a finding nor a pass is
// reported, but that.
import { spawnSync } from "node:child_process";
import { root } from "./programs.ts";

/** The result of one query. */
export type Verdict =
    | { readonly kind: "passed" | "failed"; readonly text: string }
    | { readonly kind: "not checked"; readonly text: string };

type Severities = Readonly<Record<string, number>>;

const failing = ["high", "critical"];
const severities = ["info", "low", "moderate", ...failing];

/** Evaluates the output of `npm audit --json`. */
export function verdictOf(output: string): Verdict {
    let answer: unknown;
    try {
        answer = JSON.parse(output);
    } catch {
        return { kind: "failed", text: `npm audit printed no JSON: ${output.slice(0, 300)}` };
    }
    const counts = countsIn(answer);
    if (counts === undefined) return withoutCounts(answer);
    const found = severities.filter((one) => (counts[one] ?? 0) > 0).map((one) => `${counts[one]} ${one}`);
    const text = found.length === 0 ? "no known weakness" : `known weaknesses: ${found.join(", ")}`;
    return { kind: failing.some((one) => (counts[one] ?? 0) > 0) ? "failed" : "passed", text };
}

function countsIn(answer: unknown): Severities | undefined {
    const { metadata } = answer as { readonly metadata?: { readonly vulnerabilities?: Severities } };
    return metadata?.vulnerabilities;
}

/** The registry returned no list. That it serves none, or cannot be reached, shows nothing about the packages. */
function withoutCounts(answer: unknown): Verdict {
    const {
        message = "",
        statusCode,
        error,
    } = answer as {
        readonly message?: string;
        readonly statusCode?: number;
        readonly error?: { readonly code?: string; readonly summary?: string; readonly detail?: string };
    };
    const details = [message, error?.code, error?.summary, error?.detail].filter(Boolean).join(" ");
    const status = statusCode ?? Number(/\b(40[45]|410|501)\b/.exec(details)?.[1] ?? 0);
    if ([404, 405, 410, 501].includes(status) || /ENOAUDIT|endpoint/.test(details)) {
        return { kind: "not checked", text: "the registry has no audit endpoint" };
    }
    if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH/.test(details)) {
        return { kind: "not checked", text: "the registry is not reached" };
    }
    return { kind: "failed", text: `npm audit failed: ${details.slice(0, 300)}` };
}

if (import.meta.main) {
    let failed = false;
    for (const [what, args] of [["packages that ship", ["--omit=dev"]] as const, ["all packages", []] as const]) {
        const { stdout } = spawnSync("npm", ["audit", "--json", ...args], {
            cwd: root,
            encoding: "utf8",
            maxBuffer: 64 << 20,
        });
        const { kind, text } = verdictOf(stdout);
        process.stdout.write(`${kind}: ${what}: ${text}\n`);
        if (kind !== "failed") continue;
        failed = true;
        process.stdout.write(`  next: npm audit ${args.join(" ")}\n`);
    }
    process.exitCode = failed ? 1 : 0;
}
