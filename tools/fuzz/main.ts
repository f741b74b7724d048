import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { bundle, root, targetFiles } from "./build/bundle.ts";
import { campaign, type CampaignOptions, type CampaignResult } from "./engine/campaign.ts";
import { Judge } from "./engine/judge.ts";
import { addInputs, folders, readInputs, replaceInputs, replayCommand, saveFinding } from "./files.ts";
import { tableOf } from "./report.ts";

const usage = `main.ts [OPTION...] [TARGET...]     fuzzes these targets; default: all of the product
main.ts --replay TARGET FILE         runs one input
  --seconds N      for all targets together; default 60
  --executions N   at most so many for each target
  --seed N         default 1
  --workers N      targets at once; default 2
  --limit-ms N     CPU time after which one input counts as a hang; default 2000
  --save           keep what was found: all of it on this machine, the least that takes all branches in the repository
  --unguided       count coverage and do not use it
  --json FILE      the results, for programs`;

const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
        seconds: { type: "string", default: "60" },
        executions: { type: "string", default: "1000000000000" },
        seed: { type: "string", default: "1" },
        workers: { type: "string", default: "2" },
        "limit-ms": { type: "string", default: "2000" },
        save: { type: "boolean", default: false },
        unguided: { type: "boolean", default: false },
        json: { type: "string" },
        replay: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
    },
});

const known = targetFiles();
const ofProduct = [...known].filter(([, file]) => !file.includes("/toys/")).map(([name]) => name);
/** Limits of the inputs per target in the repository. */
const cover = { entries: 12, bytes: 12_000 };

process.chdir(root);
process.env.FUZZ_SCRATCH = mkdtempSync(join(tmpdir(), "fuzz-"));
try {
    process.exitCode = values.help ? help() : values.replay ? await replay() : await fuzz();
} finally {
    rmSync(buildFolder(), { recursive: true, force: true });
    rmSync(process.env.FUZZ_SCRATCH, { recursive: true, force: true });
}

function help(): number {
    console.log(`${usage}\n\ntargets: ${ofProduct.join(" ")}`);
    return 0;
}

async function replay(): Promise<number> {
    const [target = "", file = ""] = positionals;
    if (!known.has(target)) return unknown(target);
    const built = await bundle([target], buildFolder());
    const input = new Uint8Array(readFileSync(file));
    const limitMs = Number(values["limit-ms"]);
    const found = await new Judge(built(target), { limitMs }).judge(input);
    const inSources = await new Judge(built(target), { limitMs, sourceMaps: true }).judge(input);
    const fault = found?.kind === "crash" ? inSources : found;
    console.log(fault === undefined ? "nothing is wrong with it" : `${fault.kind}: ${fault.text}`);
    return fault === undefined ? 0 : 1;
}

async function fuzz(): Promise<number> {
    const names = positionals.length > 0 ? positionals : ofProduct;
    const stranger = names.find((name) => !known.has(name));
    if (stranger !== undefined) return unknown(stranger);
    const built = await bundle(names, buildFolder());
    const workers = Math.min(Number(values.workers), names.length);
    const options: CampaignOptions = {
        seed: Number(values.seed),
        guided: !values.unguided,
        milliseconds: (Number(values.seconds) * 1000 * workers) / names.length,
        executions: Number(values.executions),
        limitMs: Number(values["limit-ms"]),
        workers,
        cover,
    };
    const results: CampaignResult[] = [];
    const waiting = [...names];
    const work = async (): Promise<void> => {
        for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
            const inputs = [
                ...readInputs(folders.corpus, name),
                ...(values.save ? readInputs(folders.found, name) : []),
            ];
            const result = await campaign(name, built(name), inputs, options);
            results.push(result);
            if (values.save) keep(result);
            console.error(`${name}: ${result.statistics.executions} executions, ${result.findings.length} findings`);
            for (const finding of result.findings) {
                const file = saveFinding(name, finding);
                console.log(`${name}: ${finding.kind}: ${finding.text}\n    ${replayCommand(name, file)}`);
            }
        }
    };
    await Promise.all(Array.from({ length: workers }, work));
    results.sort((a, b) => names.indexOf(a.target) - names.indexOf(b.target));
    console.log(tableOf(results));
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(results.map(plain), undefined, 1));
    return results.some(({ findings }) => findings.length > 0) ? 1 : 0;
}

function keep(result: CampaignResult): void {
    addInputs(folders.found, result.target, result.added);
    if (result.cover !== undefined) replaceInputs(folders.corpus, result.target, result.cover);
}

function plain({ target, statistics, milliseconds, findings }: CampaignResult): object {
    const reported = findings.map(({ kind, key, text, input }) => ({
        kind,
        key,
        text,
        input: Buffer.from(input).toString("base64"),
    }));
    return { target, ...statistics, milliseconds, findings: reported };
}

/** Specific to this process, as others may run at the same time; inside the repository, so that packages are found. */
function buildFolder(): string {
    return join(root, `tools/fuzz/dist/${process.pid}`);
}

function unknown(target: string): number {
    console.error(`there is no target ${JSON.stringify(target)}: use ${[...known.keys()].join(", ")}`);
    return 2;
}
