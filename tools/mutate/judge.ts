import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Area, testsOf } from "./areas.ts";
import { type Mutant, instrument } from "./instrument.ts";
import type { Order, Plan, Survey } from "./protocol.ts";
import { type Reply, RunnerProcess } from "./runner-process.ts";

export interface JudgeOptions {
    readonly root: string;
    /** For instrumented copies; a new one for each call. */
    readonly scratch: string;
    readonly area: Area;
    /** Of the area, relative to the root. */
    readonly files: readonly string[];
    /** Of the order of mutants and of property tests. */
    readonly seed: number;
    /** At most so many mutants, chosen by the seed. */
    readonly sample: number;
    readonly workers: number;
    /** By performance.now(): no mutant is begun after it. */
    readonly deadline: number;
    readonly onVerdict: (judged: JudgedMutant) => void;
}

/** `time`: endless, or many times as slow as without it. `unseen`: no test runs through it. */
export type Verdict = "killed" | "time" | "survived" | "unseen";

export interface JudgedMutant extends Mutant {
    readonly verdict: Verdict;
    readonly by: string | undefined;
}

export interface AreaResult {
    readonly area: Area;
    readonly files: number;
    /** Of all mutants of the files, how many were chosen and judged. */
    readonly mutants: number;
    readonly chosen: number;
    readonly judged: readonly JudgedMutant[];
    /** How many mutants of words for people were left out. */
    readonly words: number;
}

/** The tests fail, or cannot be run, without any mutant. */
export class UnfitTests extends Error {}

const slowness = 5;
const graceMs = 3_000;
const extraMs = 15_000;
const hitFactor = 100;
/** After so many mutants a process is replaced: each may leave something behind. */
const mutantsOfProcess = 300;

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
    const book = new Book(survey);
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
                ? await judgeAtLoad(mutant, ofFile(mutant.file), book)
                : await bench.judge(mutant, book);
            judged.push({ ...mutant, ...found });
            onVerdict({ ...mutant, ...found });
        }
        await bench.end();
    };
    await Promise.all(Array.from({ length: workers }, work));
    return { area, files: files.length, mutants: mutants.length, chosen: chosen.length, judged, words };
}

type Found = Pick<JudgedMutant, "verdict" | "by">;

/** Which tests see a mutant, and how long they may take. */
class Book {
    readonly #tests: Survey["tests"];

    constructor({ tests }: Survey) {
        // The quick ones first: most mutants are caught by one of them.
        this.#tests = tests.toSorted((one, other) => one.ms - other.ms);
    }

    /** For the mutant, or for whatever is loaded. */
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

/** A mutant in code that runs when its file is loaded has a process of its own, in which it is on from the beginning. */
async function judgeAtLoad(mutant: Mutant, planFile: string, book: Book): Promise<Found> {
    const runner = new RunnerProcess(planFile, mutant.id);
    try {
        const { order, limitMs } = book.order(mutant.id, true);
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

/** One process after the other, in which mutants are switched on in turn. */
class Bench {
    readonly #planFile: string;
    #runner: RunnerProcess | undefined;
    #done = 0;

    constructor(planFile: string) {
        this.#planFile = planFile;
    }

    async judge(mutant: Mutant, book: Book): Promise<Found> {
        const { order, limitMs } = book.order(mutant.id, false);
        if (order.tests?.length === 0) return { verdict: "unseen", by: undefined };
        for (;;) {
            const fresh = this.#runner === undefined;
            this.#runner ??= new RunnerProcess(this.#planFile);
            const reply = await this.#runner.ask(order, limitMs);
            this.#done += 1;
            const clean = (reply.kind === "killed" || reply.kind === "survived") && reply.clean;
            if (!clean || this.#done >= mutantsOfProcess) await this.end();
            // what may be the fault of a mutant before is judged again where none was
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

/** In an order that depends on the seed and on the mutants alone, so that the first ones of it are a sample. */
function shuffled(mutants: readonly Mutant[], seed: number): readonly Mutant[] {
    const digest = ({ file, line, mutator, original, replacement, id }: Mutant): string =>
        createHash("sha256").update([seed, file, line, mutator, original, replacement, id].join("\0")).digest("hex");
    return mutants
        .map((mutant) => ({ mutant, key: digest(mutant) }))
        .toSorted((a, b) => (a.key < b.key ? -1 : 1))
        .map(({ mutant }) => mutant);
}
