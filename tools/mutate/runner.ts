// The process that runs the tests of one project repeatedly, each time with another mutant activated. Usage: runner.ts
// PLAN-FILE, with an IPC channel; the mutant of the environment variable is active from the beginning.
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { pathToFileURL } from "node:url";
import { configureGlobal } from "fast-check";
import { type Place, type Suite, lineOf } from "./suite.ts";
import type { Answer, Order, Plan, Survey } from "./protocol.ts";

/** The state that instrumented code reads and writes (@stryker-mutator/instrumenter). */
interface Switch {
    activeMutant?: string | undefined;
    currentTestId?: string | undefined;
    hitCount?: number;
    hitLimit?: number;
    mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

const limitOfSurveyMs = 60_000;
const plan = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8")) as Plan;
const active: Switch = ((globalThis as { __stryker__?: Switch }).__stryker__ = {});
active.activeMutant = process.env.__STRYKER_ACTIVE_MUTANT__;
const globals = new URL("globals.ts", import.meta.url).href;
const instrumented = new Map(
    Object.entries(plan.instrumented).map(([file, copy]) => [pathToFileURL(`${plan.root}/${file}`).href, copy]),
);
/** By URL, its imports. */
const imports = new Map<string, Set<string>>();

registerHooks({
    resolve(specifier, context, next) {
        if (specifier === "@jest/globals") return { url: globals, shortCircuit: true };
        const resolved = next(specifier, context);
        if (context.parentURL !== undefined && resolved.url.startsWith("file:")) {
            const known = imports.get(context.parentURL) ?? new Set();
            imports.set(context.parentURL, known.add(resolved.url));
        }
        return resolved;
    },
    load(url, context, next) {
        const copy = instrumented.get(url);
        if (copy === undefined) return next(url, context);
        return { format: "module-typescript", source: readFileSync(copy, "utf8"), shortCircuit: true };
    },
});
// the same inputs each time; a failure is not shrunk
configureGlobal({ seed: plan.seed, endOnFailure: true });

const send = (answer: Answer | Survey): void => void process.send?.(answer);
const { suite } = (await import(globals)) as { readonly suite: Suite };
try {
    for (const file of plan.tests) {
        suite.open(file);
        await import(pathToFileURL(`${plan.root}/${file}`).href);
    }
} catch (error) {
    send({ kind: "broken", text: String(error) });
    process.exit(1);
}

process.on("disconnect", () => process.exit(1));
process.on("message", (order: Order) => {
    void (order.kind === "survey" ? survey() : judge(order)).then(send);
});
send({ kind: "loaded" });

/** Runs all tests once and reports which mutants each executes. */
async function survey(): Promise<Survey> {
    const reach = Object.fromEntries(plan.tests.map((file) => [file, mutatedBelow(file)]));
    const ids = [...suite.tests.values()].filter(({ file }) => reach[file]?.length).map(({ id }) => id);
    const took: Record<string, number> = {};
    suite.onPlace = (place: Place) => {
        active.currentTestId = place === undefined ? undefined : "test" in place ? place.test : `block ${place.block}`;
    };
    const failure = await suite.run(
        ids,
        () => limitOfSurveyMs,
        (id, ms) => void (took[id] = ms),
    );
    suite.onPlace = () => undefined;
    active.currentTestId = undefined;
    const { static: atLoad, perTest } = active.mutantCoverage ?? { static: {}, perTest: {} };
    const tests = ids.map((id) => {
        const test = suite.tests.get(id);
        const hits = { ...perTest[id] };
        for (const { id: block } of test === undefined ? [] : lineOf(test.block)) {
            for (const [mutant, count] of Object.entries(perTest[`block ${block}`] ?? {})) {
                hits[mutant] = (hits[mutant] ?? 0) + count;
            }
        }
        return { id, file: test?.file ?? "", ms: took[id] ?? 0, hits };
    });
    return { kind: "survey", failure, tests, atLoad: Object.keys(atLoad), reach };
}

/** The mutated files that a test file imports, directly or indirectly. */
function mutatedBelow(file: string): readonly string[] {
    const all = new Set([pathToFileURL(`${plan.root}/${file}`).href]);
    for (const url of all) for (const below of imports.get(url) ?? []) all.add(below);
    return Object.keys(plan.instrumented).filter((name) => all.has(pathToFileURL(`${plan.root}/${name}`).href));
}

async function judge({ mutant, tests, limits, hitLimit }: Order & { readonly kind: "judge" }): Promise<Answer> {
    active.activeMutant = mutant;
    active.hitCount = 0;
    active.hitLimit = hitLimit;
    suite.takeStray();
    const limitOf = (id: string): number => limits[id] ?? limitOfSurveyMs;
    const failure = await suite.run(tests ?? suite.tests.keys(), limitOf);
    const endless = active.hitCount > hitLimit;
    // pending work of a test ends before the next begins
    await new Promise((resolve) => setImmediate(resolve));
    const stray = suite.takeStray();
    active.activeMutant = undefined;
    if (failure === undefined) return { kind: "survived", clean: !stray };
    if (failure.kind === "hung" || endless) return { kind: "killed", how: "time", by: failure.test, clean: false };
    // a test that now also fails without the mutant fails because of an earlier mutant's state
    const again = tests === undefined ? undefined : await suite.run([failure.test], limitOf);
    return {
        kind: "killed",
        how: "test",
        by: failure.test,
        clean: again === undefined && !stray && !suite.takeStray(),
    };
}
