import { type Source } from "../input-files.ts";
import { type Command } from "commander";
import { type Style } from "../output/index.ts";
import { type Session } from "./session.ts";

/** A candidate for the next word of the command line. */
export interface Completion {
    readonly value: string;
    readonly description?: string;
    /** The word continues: no space is added after it. */
    readonly open?: boolean;
}

/** Candidates for the argument at the cursor, given the arguments before it. May read from the cluster. */
export type Completer = (o: {
    readonly session: Session;
    readonly typed: string;
    readonly before: readonly string[];
    /** Values of the options already typed, by the option's attribute name. */
    readonly options: ReadonlyMap<string, string>;
}) => Promise<readonly Completion[]>;

/** What a command depends on. */
export interface CommandContext {
    readonly style: Style;
    /** Milliseconds since 1970. */
    now(): number;
    /** Milliseconds. */
    sleep(ms: number): Promise<void>;
    /** The cluster that the command line and the environment select; closed when the command ends. */
    session(command: Command): Session;
    /** Writes a command's report to standard output in the format that the command line selects. */
    print<Report>(command: Command, report: Report, render: (report: Report, style: Style) => string): void;
    /** Writes text to standard output. */
    write(text: string): void;
    /** Writes a line to standard error: progress, not the result. */
    note(text: string): void;
    /** Reads files, folders, or standard input for `-`. Throws BAD_INPUT. */
    readSources(path: string, recursive: boolean): readonly Source[];
    /** Sets the exit code for success and failure. Default 0 and 1. */
    exitWith(code: number): void;
    /** Sets how the arguments of a command are completed. */
    completeWith(command: Command, completer: Completer): Command;
}
