import { type Source } from "../input-files.ts";
import { type Command } from "commander";
import { type Style } from "../output/index.ts";
import { type Session } from "./session.ts";

/** A word that the command line may go on with. */
export interface Completion {
    readonly value: string;
    readonly description?: string;
    /** The word goes on: no space is put behind it. */
    readonly open?: boolean;
}

/** Words for the argument that is being typed, given those before it. May ask the cluster. */
export type Completer = (o: {
    readonly session: Session;
    readonly typed: string;
    readonly before: readonly string[];
    /** Values of options that are typed already, by the option's attribute name. */
    readonly options: ReadonlyMap<string, string>;
}) => Promise<readonly Completion[]>;

/** What a command is given to work with. */
export interface CommandContext {
    readonly style: Style;
    /** Milliseconds since 1970. */
    now(): number;
    /** Milliseconds. */
    sleep(ms: number): Promise<void>;
    /** The cluster that the command line and the environment name; closed when the command ends. */
    session(command: Command): Session;
    /** Writes the report of a command to standard output, as the command line asks for it. */
    print<Report>(command: Command, report: Report, render: (report: Report, style: Style) => string): void;
    /** Writes text to standard output. */
    write(text: string): void;
    /** Writes a line to standard error: about the work, not its result. */
    note(text: string): void;
    /** Reads files, folders, or standard input for `-`. Throws BAD_INPUT. */
    readSources(path: string, recursive: boolean): readonly Source[];
    /** The exit code from here on, whether the command does its work or fails. Default 0 and 1. */
    exitWith(code: number): void;
    /** How the arguments of a command are completed. */
    completeWith(command: Command, completer: Completer): Command;
}
