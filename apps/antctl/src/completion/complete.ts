import { type Command, type Option } from "commander";
import { type Completion } from "../program/index.ts";

/** Candidates for the word at the cursor, as whole words. */
export interface Completions {
    readonly items: readonly Completion[];
    /** The shell adds file names. */
    readonly files: boolean;
}

/** Values of the options already typed, as text, by the option's attribute name in commander: `requestTimeout`. */
export type TypedOptions = ReadonlyMap<string, string>;

/**
 * Candidates that come from the cluster or the kubeconfig: for an argument of a command, or for the value of the option
 * with this attribute name. `complete` selects those that begin with what is typed. Must not reject: what cannot be
 * read gives none.
 */
export interface DynamicWords {
    argument(o: {
        readonly command: Command;
        readonly typed: string;
        readonly before: readonly string[];
        readonly options: TypedOptions;
    }): Promise<readonly Completion[]>;
    option(name: string, options: TypedOptions): Promise<readonly Completion[]>;
}

const none: Completions = { items: [], files: false };

/**
 * Completes the last of `words`, the words after the program's name; it is "" if nothing of it is typed yet. Commands,
 * flags and choices come from `program`, other candidates from `dynamic`; all begin with what is typed. Runs no
 * command, and rejects only if `dynamic` does.
 */
export async function complete(
    program: Command,
    words: readonly string[],
    dynamic: DynamicWords,
): Promise<Completions> {
    const typed = words.at(-1) ?? "";
    const place = walk(program, words.slice(0, -1));
    const { command, pending, before, endOfOptions, options } = place;
    if (pending !== undefined) return optionValues(place, pending, typed, "", dynamic);
    if (!endOfOptions && typed.startsWith("-")) {
        const equals = typed.indexOf("=");
        if (equals < 0) return { items: startingWith(typed, flagsOf(command)), files: false };
        const option = optionsOf(command).find(({ long }) => long === typed.slice(0, equals));
        if (option === undefined || !takesValue(option)) return none;
        return optionValues(place, option, typed.slice(equals + 1), typed.slice(0, equals + 1), dynamic);
    }
    if (command.commands.length > 0) {
        const items = command.commands.map((each) => ({
            value: each.name(),
            description: each.summary() || each.description(),
        }));
        return { items: startingWith(typed, items), files: false };
    }
    const argument =
        command.registeredArguments[before.length] ?? command.registeredArguments.find(({ variadic }) => variadic);
    if (argument === undefined) return none;
    if (argument.argChoices !== undefined) {
        return {
            items: startingWith(
                typed,
                argument.argChoices.map((value) => ({ value })),
            ),
            files: false,
        };
    }
    return { items: startingWith(typed, await dynamic.argument({ command, typed, before, options })), files: false };
}

interface Place {
    readonly command: Command;
    /** The option whose value is next. */
    readonly pending: Option | undefined;
    /** Arguments of the command before the cursor. */
    readonly before: readonly string[];
    readonly endOfOptions: boolean;
    readonly options: TypedOptions;
}

function walk(program: Command, words: readonly string[]): Place {
    let command = program;
    let pending: Option | undefined;
    let before: string[] = [];
    let endOfOptions = false;
    const options = new Map<string, string>();
    for (const word of words) {
        if (pending !== undefined) {
            options.set(pending.attributeName(), word);
            pending = undefined;
        } else if (!endOfOptions && word === "--") endOfOptions = true;
        else if (!endOfOptions && word.startsWith("-")) {
            const [flag, value] = word.split(/=(.*)/s, 2);
            const option = optionsOf(command).find(({ long, short }) => flag === long || flag === short);
            if (option === undefined || !takesValue(option)) continue;
            if (value === undefined) pending = option;
            else options.set(option.attributeName(), value);
        } else {
            const sub = command.commands.find((each) => each.name() === word);
            if (sub === undefined) before.push(word);
            else {
                command = sub;
                before = [];
            }
        }
    }
    return { command, pending, before, endOfOptions, options };
}

async function optionValues(
    { options }: Place,
    option: Option,
    typed: string,
    prefix: string,
    dynamic: DynamicWords,
): Promise<Completions> {
    const name = option.attributeName();
    if (name === "kubeconfig" || name === "filename") return { items: [], files: true };
    const items =
        option.argChoices === undefined
            ? await dynamic.option(name, options)
            : option.argChoices.map((value) => ({ value }));
    return { items: startingWith(typed, items).map((each) => ({ ...each, value: prefix + each.value })), files: false };
}

function flagsOf(command: Command): readonly Completion[] {
    return [
        ...optionsOf(command).map(({ long, short, description }) => ({ value: long ?? short ?? "", description })),
        { value: "--help", description: "show this help" },
    ];
}

/** The options of the command and of its parents. */
function optionsOf(command: Command): readonly Option[] {
    return [...command.options, ...(command.parent === null ? [] : optionsOf(command.parent))];
}

function takesValue(option: Option): boolean {
    return option.required || option.optional;
}

function startingWith(typed: string, items: readonly Completion[]): readonly Completion[] {
    return items.filter(({ value }) => value.startsWith(typed));
}
