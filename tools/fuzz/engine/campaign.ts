import { createHash } from "node:crypto";
import { type FuzzStatistics } from "./fuzzer.ts";
import { Judge, type Fault } from "./judge.ts";
import { Thread } from "./thread.ts";

export interface CampaignOptions {
    readonly seed: number;
    readonly guided: boolean;
    readonly milliseconds: number;
    readonly executions: number;
    /** Limit of one input in milliseconds of CPU time, after which it counts as a hang. */
    readonly limitMs: number;
    /** How many campaigns this process runs at once. */
    readonly workers: number;
    /** Limits of the inputs that are kept permanently. */
    readonly cover: { readonly entries: number; readonly bytes: number };
}

export interface Finding extends Fault {
    readonly input: Uint8Array;
}

/** The result of fuzzing one target. */
export interface CampaignResult {
    readonly target: string;
    readonly statistics: FuzzStatistics;
    readonly milliseconds: number;
    readonly findings: readonly Finding[];
    /** Inputs that reached new coverage. */
    readonly added: readonly Uint8Array[];
    /** A minimal set that covers all branches; undefined if the worker ended early. */
    readonly cover: readonly Uint8Array[] | undefined;
}

/** A defect that ends the worker is found repeatedly; this limits the restarts. */
const maxRestarts = 3;

/** Fuzzes one target in worker threads, which may crash. */
export async function campaign(
    target: string,
    file: string,
    known: readonly Uint8Array[],
    options: CampaignOptions,
): Promise<CampaignResult> {
    const thread = new Thread(file, options);
    const judge = new Judge(file, options);
    const inSources = new Judge(file, { ...options, sourceMaps: true });
    const began = performance.now();
    const added = new Map<string, Uint8Array>();
    const faults = new Map<string, Finding>();
    let statistics: FuzzStatistics = { executions: 0, edges: 0, probes: 0, features: 0, corpus: 0, slowestMs: 0 };
    let milliseconds = 0;
    let cover: readonly Uint8Array[] | undefined;
    for (let start = 0; start <= maxRestarts; start++) {
        const left = options.milliseconds - (performance.now() - began);
        if (start > 0 && left <= 0) break;
        const { seed, guided, executions } = options;
        const inputs = [...known, ...added.values()];
        const order = { kind: "fuzz", inputs, seed: seed + start, guided, executions, milliseconds: left } as const;
        const ending = await thread.work({ ...order, cover: options.cover }, (report) => {
            if (report.kind === "added") added.set(hashOf(report.input), report.input);
            if (report.kind === "found" && !faults.has(report.outcome.key)) {
                faults.set(report.outcome.key, { ...report.outcome, input: report.input });
            }
            if (report.kind === "progress" || report.kind === "done") ({ statistics, milliseconds } = report);
            if (report.kind !== "done") return false;
            cover = report.cover;
            return true;
        });
        if (ending.kind === "done") break;
        const { input, text } = ending;
        if (ending.kind === "death") faults.set(`death ${text}`, { kind: "memory", key: "death", text, input });
        else if (await judge.hangs(input)) faults.set("hang", { kind: "hang", key: "hang", text, input });
    }
    const findings: Finding[] = [];
    for (const fault of faults.values()) {
        // A leak is not caused by a single input.
        const input = fault.key === "leak" ? fault.input : await judge.shrink(fault.input, fault.key);
        const named = fault.kind === "crash" ? await inSources.judge(input) : undefined;
        findings.push({ ...fault, input, text: named?.text ?? fault.text });
    }
    return { target, statistics, milliseconds, findings, added: [...added.values()], cover };
}

/** The name of an input, a hash of its bytes. */
export function hashOf(input: Uint8Array): string {
    return createHash("sha256").update(input).digest("hex").slice(0, 16);
}
