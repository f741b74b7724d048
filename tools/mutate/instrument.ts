import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Instrumenter } from "@stryker-mutator/instrumenter";

export interface Mutant {
    readonly id: string;
    readonly file: string;
    /** From 1. */
    readonly line: number;
    readonly mutator: string;
    /** The code and its replacement. */
    readonly original: string;
    readonly replacement: string;
}

export interface Instrumented {
    readonly mutants: readonly Mutant[];
    /** By source file, its copy, in which every mutant can be activated. */
    readonly copies: Readonly<Record<string, string>>;
    /** How many mutants of human-readable text were left out. */
    readonly words: number;
}

/** The parts of Babel's NodePath in use. */
interface Path {
    readonly node: { readonly type: string; readonly value?: unknown; readonly callee?: Callee };
    readonly parentPath: Path | null;
}
interface Callee {
    readonly type: string;
    readonly name?: string;
    readonly object?: {
        readonly name?: string;
        readonly property?: { readonly name?: string; readonly id?: { readonly name?: string } };
    };
}

const logger = { debug: () => undefined, info: () => undefined, isDebugEnabled: () => false };

/** Writes an instrumented copy of each file into the folder. */
export async function instrument(root: string, files: readonly string[], folder: string): Promise<Instrumented> {
    const contents = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
    const result = await new Instrumenter(logger as never).instrument(
        [...contents].map(([name, content]) => ({ name, content, mutate: true })),
        {
            plugins: null,
            excludedMutations: [],
            ignorers: [{ shouldIgnore: (path) => wordsFor(path as Path) }],
            noHeader: false,
        },
    );
    const copies: Record<string, string> = {};
    for (const { name, content } of result.files) {
        const copy = join(folder, name);
        mkdirSync(dirname(copy), { recursive: true });
        writeFileSync(copy, content);
        copies[name] = copy;
    }
    const kept = result.mutants.filter(({ status }) => status !== "Ignored");
    const mutants = kept.map(({ id, fileName: file, location: { start, end }, mutatorName: mutator, replacement }) => {
        const lines = (contents.get(file) ?? "").split("\n").slice(start.line, end.line + 1);
        lines.push((lines.pop() ?? "").slice(0, end.column));
        lines[0] = (lines[0] ?? "").slice(start.column);
        return { id, file, line: start.line + 1, mutator, original: lines.join("\n"), replacement };
    });
    return { mutants, copies, words: result.mutants.length - kept.length };
}

/**
 * Why a string is not mutated: the text of a log line or an error is for readers. A code, which has no space, is
 * mutated.
 */
function wordsFor(path: Path): string | undefined {
    const { type, value } = path.node;
    const text =
        type === "TemplateLiteral" || (type === "StringLiteral" && typeof value === "string" && /\s/.test(value));
    if (!text) return undefined;
    for (let at = path.parentPath; at !== null; at = at.parentPath) {
        const { type: outer, callee } = at.node;
        if (/Function|Statement|Class/.test(outer)) return undefined;
        if (outer === "NewExpression" && callee?.name?.endsWith("Error")) return "words of an error";
        const object = callee?.object;
        const name = object?.name ?? object?.property?.name ?? object?.property?.id?.name;
        if (outer === "CallExpression" && (name === "logger" || name === "log")) return "words of a log line";
    }
    return undefined;
}
