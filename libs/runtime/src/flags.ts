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
}

/** Parses the arguments after the program's name. Throws RuntimeError `BAD_FLAGS`. */
export function parseFlags(args: readonly string[]): Flags {
    let values: { config?: string; v?: string; version?: boolean };
    try {
        ({ values } = parseArgs({
            args: [...args],
            options: { config: { type: "string" }, v: { type: "string" }, version: { type: "boolean" } },
            strict: true,
        }));
    } catch (cause) {
        const usage = "known are --config FILE, --v N, --version";
        throw new RuntimeError("BAD_FLAGS", "caller", `the command line is not understood; ${usage}`, { cause });
    }
    const v = values.v ?? "0";
    if (!/^\d{1,3}$/.test(v)) {
        throw new RuntimeError("BAD_FLAGS", "caller", `--v: ${JSON.stringify(v)}: must be a number from 0 to 999`);
    }
    return { config: values.config, verbosity: Number(v), version: values.version ?? false };
}
