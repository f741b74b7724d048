import { parseArgs } from "node:util";
import { RuntimeError } from "./errors.ts";

/** The parsed command line of a daemon; its flags have been checked by `parseFlags`, but not carried out. */
export interface Flags {
    /** `--config FILE`; undefined if absent. */
    readonly config: string | undefined;
    /** `--v N`, verbosity as in klog, 0 to 999. Default 0. */
    readonly verbosity: number;
    /** `--version`: print the version and exit. */
    readonly version: boolean;
    /** `--check`: validate the settings and exit. */
    readonly check: boolean;
    /** `--print-start-order`: print the names of the parts in their start order and exit. */
    readonly printStartOrder: boolean;
    /** The program-specific flags that were given, by name without dashes, `config` among them. */
    readonly own: Readonly<Record<string, string>>;
}

/**
 * The program-specific flags, all with a value and optional: name without dashes → placeholder of the value in the
 * usage text (`{ config: "FILE" }`).
 */
export type OwnFlags = Readonly<Record<string, string>>;

/** Flags of a daemon that is configured by a file. */
const defaultOwnFlags: OwnFlags = { config: "FILE" };

/**
 * Parses the arguments after the program name. `known` are the flags besides `--v`, `--check`, `--print-start-order`
 * and `--version`; default `--config FILE`. Throws RuntimeError `BAD_FLAGS` for an unknown flag or argument, a missing
 * value, or a verbosity that is not 0 to 999. Prints nothing.
 */
export function parseFlags(args: readonly string[], known: OwnFlags = defaultOwnFlags): Flags {
    const names = Object.keys(known);
    let values: Readonly<Record<string, string | boolean | undefined>>;
    try {
        const options = Object.fromEntries([...names, "v"].map((name) => [name, { type: "string" as const }]));
        ({ values } = parseArgs({
            args: [...args],
            options: {
                ...options,
                check: { type: "boolean" },
                "print-start-order": { type: "boolean" },
                version: { type: "boolean" },
            },
            strict: true,
        }));
    } catch (cause) {
        const own = names.map((name) => `--${name} ${known[name]}`);
        const usage = [...own, "--v N", "--check", "--print-start-order", "--version"].join(", ");
        throw new RuntimeError("BAD_FLAGS", "caller", `the command line is not understood; known are ${usage}`, {
            cause,
        });
    }
    const {
        v = "0",
        check = false,
        "print-start-order": printStartOrder = false,
        version = false,
        ...own
    } = values as Readonly<Record<string, string>>;
    if (!/^\d{1,3}$/.test(v)) {
        throw new RuntimeError("BAD_FLAGS", "caller", `--v: ${JSON.stringify(v)}: must be a number from 0 to 999`);
    }
    return {
        config: own.config,
        verbosity: Number(v),
        version: version !== false,
        check: check !== false,
        printStartOrder: printStartOrder !== false,
        own,
    };
}
