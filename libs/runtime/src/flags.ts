import { parseArgs } from "node:util";
import { RuntimeError } from "./errors.ts";

/** The command line of a daemon. */
export interface Flags {
    /** `--config FILE`; undefined when not given. */
    readonly config: string | undefined;
    /** `--v N`, klog's verbosity. Default 0. */
    readonly verbosity: number;
    /** `--version`: print the version and exit. */
    readonly version: boolean;
    /** `--check`: read the settings, say what is wrong with them, and exit. */
    readonly check: boolean;
    /** `--print-start-order`: print the names of the parts in the order in which they start, and exit. */
    readonly printStartOrder: boolean;
    /** The program's own flags that were given, by name, each with its value. */
    readonly own: Readonly<Record<string, string>>;
}

/** The program's own flags: what the value is called in the list of known flags, by name. */
export type OwnFlags = Readonly<Record<string, string>>;

/** Of a daemon that is configured by a file. */
const defaultOwnFlags: OwnFlags = { config: "FILE" };

/** Parses the arguments after the program's name. Throws RuntimeError `BAD_FLAGS`. */
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
