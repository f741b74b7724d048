import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "@antrea/errors";
import { root } from "./build/bundle.ts";
import { hashOf, type Finding } from "./engine/campaign.ts";

/** Folders of inputs: those of the repository, those that longer runs found on this machine, and those that fail. */
export const folders = {
    corpus: join(root, "tools/fuzz/corpus"),
    found: join(process.env.ANTREA_CACHE ?? join(process.env.HOME ?? "/root", ".cache/antrea"), "fuzz"),
    findings: join(root, ".reports/fuzz"),
} as const;

/** The inputs in the folder of a target, ordered by name. */
export function readInputs(folder: string, target: string): readonly Uint8Array[] {
    const place = join(folder, target);
    return names(place).map((name) => new Uint8Array(readFileSync(join(place, name))));
}

/** Adds inputs to the folder of a target. */
export function addInputs(folder: string, target: string, inputs: readonly Uint8Array[]): void {
    const place = join(folder, target);
    mkdirSync(place, { recursive: true });
    for (const input of inputs) writeFileSync(join(place, hashOf(input)), input);
}

/** Replaces the inputs in the folder of a target. */
export function replaceInputs(folder: string, target: string, inputs: readonly Uint8Array[]): void {
    const kept = new Set(inputs.map(hashOf));
    for (const name of names(join(folder, target))) if (!kept.has(name)) rmSync(join(folder, target, name));
    addInputs(folder, target, inputs);
}

/** Writes a finding and its input; returns the file of the input. */
export function saveFinding(target: string, finding: Finding): string {
    mkdirSync(folders.findings, { recursive: true });
    const file = join(folders.findings, `${target}-${finding.kind}-${hashOf(finding.input)}`);
    writeFileSync(file, finding.input);
    writeFileSync(`${file}.txt`, `${finding.text}\n\n${replayCommand(target, file)}\n`);
    return file;
}

/** The command that runs the input in a file. */
export function replayCommand(target: string, file: string): string {
    return `tools/fuzz/run.sh ${target} ${file.replace(`${root.replace(/\/$/, "")}/`, "")}`;
}

function names(folder: string): readonly string[] {
    try {
        return readdirSync(folder).sort();
    } catch (error) {
        if (isSystemError(error, "ENOENT")) return [];
        throw error;
    }
}
