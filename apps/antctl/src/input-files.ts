import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { AntreaError, isSystemError, messageOf } from "@antrea/errors";
import { Option, type Command } from "commander";
import { CliError } from "./errors.ts";
import { readInput } from "./standard-streams.ts";

/** The content of one file or of standard input. */
export interface Source {
    /** Its path, or `standard input`; for messages. */
    readonly name: string;
    readonly text: string;
}

const manifests = /\.(json|ya?ml)$/;

/**
 * Reads an argument of `-f`, as kubectl does: a file, standard input for `-`, or the .json, .yaml and .yml files of a
 * directory, in the order of their names, and, if `recursive`, of its subdirectories. Throws CliError `BAD_INPUT` for a
 * path that cannot be read and a directory without such files.
 */
export function readSources(path: string, recursive: boolean): readonly Source[] {
    try {
        if (path === "-") return [{ name: "standard input", text: readInput() }];
        if (!statSync(path).isDirectory()) return [{ name: path, text: readFileSync(path, "utf8") }];
        const files = filesIn(path, recursive);
        if (files.length === 0) {
            const next = recursive ? "name another folder" : "name another folder, or give -R to read its folders too";
            throw new CliError("BAD_INPUT", "caller", `${path} has no .json, .yaml or .yml files`, next);
        }
        return files.map((name) => ({ name, text: readFileSync(name, "utf8") }));
    } catch (cause) {
        if (cause instanceof AntreaError) throw cause;
        const next = "name a file or folder that can be read, or - for standard input";
        throw new CliError("BAD_INPUT", "caller", `cannot read ${path}: ${reasonOf(cause)}`, next, { cause });
    }
}

/**
 * Values of the options that `addFileOptions` adds: the paths of all `-f` in their order, each for `readSources`, and
 * whether `-R` was given.
 */
export interface FileOptions {
    readonly filename: readonly string[];
    readonly recursive?: boolean;
}

/**
 * Adds `-f` (required, repeatable, may have commas) and `-R`, as in kubectl, for files with IPPools. Returns the same
 * command, whose action gets `FileOptions`.
 */
export function addFileOptions(command: Command): Command {
    return command
        .addOption(
            new Option(
                "-f, --filename <FILE>",
                "YAML or JSON with IPPools, a folder of such files, or - for standard input; may be repeated",
            )
                .argParser(oneMore)
                .makeOptionMandatory(),
        )
        .addOption(new Option("-R, --recursive", "read the folders of a folder too"));
}

/** Appends one `-f`, which may be repeated or contain commas, as in kubectl. */
function oneMore(text: string, before: readonly string[] = []): readonly string[] {
    return [...before, ...text.split(",").filter((path) => path !== "")];
}

function filesIn(folder: string, recursive: boolean): readonly string[] {
    const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    return entries.flatMap((entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return recursive ? filesIn(path, true) : [];
        return manifests.test(entry.name) ? [path] : [];
    });
}

const reasons: Readonly<Record<string, string>> = {
    ENOENT: "there is no such file or folder",
    EACCES: "permission denied",
};

function reasonOf(cause: unknown): string {
    return (isSystemError(cause) ? reasons[cause.code] : undefined) ?? messageOf(cause);
}
