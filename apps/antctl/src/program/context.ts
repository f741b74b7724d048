import { type Source } from "../input-files.ts";
import { type Command } from "commander";
import { type Style } from "../output/index.ts";
import { type Session } from "./session.ts";

/** A candidate for the word at the cursor: `value` is the whole word; `description` is shown where the shell can. */
export interface Completion {
    readonly value: string;
    readonly description?: string;
    /** The word continues: no space is added after it. */
    readonly open?: boolean;
}

/**
 * Returns the candidates for the argument at the cursor; `typed` is what is typed of it ("" for nothing), `before` are
 * the arguments before it. The caller selects those that begin with `typed`, closes the session, and takes a rejection
 * as none.
 */
export type Completer = (o: {
    readonly session: Session;
    readonly typed: string;
    readonly before: readonly string[];
    /** Values of the options already typed, by the option's attribute name. */
    readonly options: ReadonlyMap<string, string>;
}) => Promise<readonly Completion[]>;

/** What a command of antctl depends on: one object for all commands of a run. */
export interface CommandContext {
    readonly style: Style;
    /** Milliseconds since 1970. */
    now(): number;
    /** Milliseconds. */
    sleep(ms: number): Promise<void>;
    /**
     * Opens the cluster that the command line and the environment select (`openSession`); the command disposes of it.
     * Throws KubeError `BAD_CONFIG`.
     */
    session(command: Command): Session;
    /** Writes a command's report to standard output in the format that the command line selects (`formatReport`). */
    print<Report>(command: Command, report: Report, render: (report: Report, style: Style) => string): void;
    /** Writes text to standard output. */
    write(text: string): void;
    /** Writes a line, given without its end, to standard error: progress, not the result. */
    note(text: string): void;
    /** See `readSources` of input-files.ts. Throws CliError `BAD_INPUT`. */
    readSources(path: string, recursive: boolean): readonly Source[];
    /**
     * Sets the exit code; the last call counts. Unless 0, it also applies if the command then fails, but not with
     * `USAGE`. Default 0, and 1 for a failure.
     */
    exitWith(code: number): void;
    /** Sets how the arguments of a command are completed, and returns the command. */
    completeWith(command: Command, completer: Completer): Command;
}
