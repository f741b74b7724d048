import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Area, testsOf } from "./areas.ts";
import { type Mutant, instrument } from "./instrument.ts";
import type { Order, Plan, Survey } from "./protocol.ts";
import { type Reply, RunnerProcess } from "./runner-process.ts";

export interface JudgeOptions {
    readonly root: string;
    /** For instrumented copies; a new folder for each call. */
    readonly scratch: string;
    readonly area: Area;
    /** Of the area, relative to the root. */
    readonly files: readonly string[];
    /** For the order of mutants and for property tests. */
    readonly seed: number;
    /** Maximum number of mutants, selected by the seed. */
    readonly sample: number;
    readonly workers: number;
    /** By performance.now(): no mutant is started after it. */
    readonly deadline: number;
    readonly onVerdict: (judged: JudgedMutant) => void;
}

/** `time`: an endless loop, or much slower than without the mutant. `unseen`: no test executes it. */
export type Verdict = "killed" | "time" | "survived" | "unseen";

export interface JudgedMutant extends Mutant {
    readonly verdict: Verdict;
    readonly by: string | undefined;
}

export interface AreaResult {
    readonly area: Area;
    readonly files: number;
    /** Mutants in the files; `judged` are the selected and tested ones. */
    readonly mutants: number;
    readonly chosen: number;
    readonly judged: readonly JudgedMutant[];
    /** How many mutants of human-readable text were left out. */
    readonly words: number;
}

/** The tests fail, or cannot be run, without any mutant. */
export class UnfitTests extends Error {}

const slowness = 5;
const graceMs = 3_000;
const extraMs = 15_000;
const hitFactor = 100;
/** A process is replaced after this many mutants: each may leave state behind. */
const mutantsOfProcess = 300;

/** Tests the mutants of an area. Rejects with UnfitTests if the tests fail without a mutant. */
export async function judgeArea(options: JudgeOptions): Promise<AreaResult> {
    const { root, scratch, area, files, seed, sample, workers, deadline, onVerdict } = options;
    const { mutants, copies, words } = await instrument(root, files, scratch);
    const chosen = shuffled(mutants, seed).slice(0, sample);
    const planFile = (name: string, tests: readonly string[]): string => {
        const plan: Plan = { root, tests, instrumented: copies, seed };
        const file = join(scratch, `${name}.json`);
        writeFileSync(file, JSON.stringify(plan));
        return file;
    };
    const survey = await surveyOf(planFile("survey", testsOf(area.project, root)));
    const schedule = new Schedule(survey);
    const seen = survey.tests.filter(({ hits }) => Object.keys(hits).length > 0);
    const shared = planFile("shared", [...new Set(seen.map(({ file }) => file))]);

    const ofFile = (file: string): string => {
        const tests = Object.keys(survey.reach).filter((test) => survey.reach[test]?.includes(file));
        return planFile(`file-${files.indexOf(file)}`, tests);
    };
    const judged: JudgedMutant[] = [];
    const left = chosen.values();
    const work = async (): Promise<void> => {
        const bench = new Bench(shared);
        for (const mutant of left) {
            if (performance.now() > deadline) break;
            const found = survey.atLoad.includes(mutant.id)
                ? await judgeAtLoad(mutant, ofFile(mutant.file), schedule)
                : await bench.judge(mutant, schedule);
            judged.push({ ...mutant, ...found });
            onVerdict({ ...mutant, ...found });
        }
        await bench.end();
    };
    await Promise.all(Array.from({ length: workers }, work));
    return { area, files: files.length, mutants: mutants.length, chosen: chosen.length, judged, words };
}

type Found = Pick<JudgedMutant, "verdict" | "by">;

/** Which tests execute a mutant, and their time limits. */
class Schedule {
    readonly #tests: Survey["tests"];

    constructor({ tests }: Survey) {
        // Fast tests first: one of them kills most mutants.
        this.#tests = tests.toSorted((one, other) => one.ms - other.ms);
    }

    /** The order for the mutant, or for all loaded tests. */
    order(mutant: string, all: boolean): { readonly order: Order & { kind: "judge" }; readonly limitMs: number } {
        const tests = all ? this.#tests : this.#tests.filter(({ hits }) => hits[mutant] !== undefined);
        const limits = Object.fromEntries(tests.map(({ id, ms }) => [id, Math.ceil(ms * slowness + graceMs)]));
        const hits = tests.reduce((sum, test) => sum + (test.hits[mutant] ?? 0), 0);
        const limitMs = tests.reduce((sum, { ms }) => sum + ms * slowness, extraMs);
        const ids = tests.map(({ id }) => id);
        const hitLimit = (hits + 100) * hitFactor;
        return { order: { kind: "judge", mutant, tests: all ? undefined : ids, limits, hitLimit }, limitMs };
    }
}

async function surveyOf(planFile: string): Promise<Survey> {
    const runner = new RunnerProcess(planFile);
    try {
        const reply = await runner.ask({ kind: "survey" }, 600_000);
        if (reply.kind !== "survey") throw new UnfitTests(`the tests do not run: ${textOf(reply)}`);
        const { failure } = reply;
        if (failure !== undefined) throw new UnfitTests(`without any mutant "${failure.test}" fails: ${failure.text}`);
        return reply;
    } finally {
        await runner.end();
    }
}

const textOf = (reply: Reply): string => ("text" in reply ? reply.text : `answer "${reply.kind}"`);

/** A mutant in code that runs at load time gets its own process, in which it is active from the beginning. */
async function judgeAtLoad(mutant: Mutant, planFile: string, schedule: Schedule): Promise<Found> {
    const runner = new RunnerProcess(planFile, mutant.id);
    try {
        const { order, limitMs } = schedule.order(mutant.id, true);
        return foundIn(await runner.ask(order, limitMs));
    } finally {
        await runner.end();
    }
}

function foundIn(reply: Reply): Found {
    if (reply.kind === "survived") return { verdict: "survived", by: undefined };
    if (reply.kind === "late") return { verdict: "time", by: undefined };
    if (reply.kind === "killed") return { verdict: reply.how === "time" ? "time" : "killed", by: reply.by };
    return { verdict: "killed", by: "the process ended" };
}

/** Runs processes in sequence, activating one mutant at a time in each. */
class Bench {
    readonly #planFile: string;
    #runner: RunnerProcess | undefined;
    #done = 0;

    constructor(planFile: string) {
        this.#planFile = planFile;
    }

    async judge(mutant: Mutant, schedule: Schedule): Promise<Found> {
        const { order, limitMs } = schedule.order(mutant.id, false);
        if (order.tests?.length === 0) return { verdict: "unseen", by: undefined };
        for (;;) {
            const fresh = this.#runner === undefined;
            this.#runner ??= new RunnerProcess(this.#planFile);
            const reply = await this.#runner.ask(order, limitMs);
            this.#done += 1;
            const clean = (reply.kind === "killed" || reply.kind === "survived") && reply.clean;
            if (!clean || this.#done >= mutantsOfProcess) await this.end();
            // a result that an earlier mutant may have caused is repeated in a clean process
            const doubtful = !clean && (reply.kind === "ended" || (reply.kind === "killed" && reply.how === "test"));
            if (fresh || !doubtful) return foundIn(reply);
        }
    }

    async end(): Promise<void> {
        await this.#runner?.end();
        this.#runner = undefined;
        this.#done = 0;
    }
}

/** In an order that depends only on the seed and the mutants, so that a prefix of it is a sample. */
function shuffled(mutants: readonly Mutant[], seed: number): readonly Mutant[] {
    const digest = ({ file, line, mutator, original, replacement, id }: Mutant): string =>
        createHash("sha256").update([seed, file, line, mutator, original, replacement, id].join("\0")).digest("hex");
    return mutants
        .map((mutant) => ({ mutant, key: digest(mutant) }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
        .map(({ mutant }) => mutant);
}
