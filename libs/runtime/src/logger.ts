import { pino } from "pino";
import { toLogValue } from "./log-fields.ts";

/**
 * The levels and what they mean:
 *
 * - `error`: something that was asked for was not done and someone may have to act; a defect; the end of the process.
 * - `warn`: something unexpected that the program deals with by itself: a retry, a fallback, a setting without effect.
 * - `info`: what changes rarely and an operator wants in the record: start, stop, settings, a Pod's network made or
 *   removed, leadership, connections won and lost.
 * - `debug`: the steps of each piece of work, one line a step.
 * - `trace`: messages on the wire and every pass of a loop.
 *
 * Work that was cancelled on purpose is never a warning or an error.
 */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** Values beside a message. `error` is the customary name for an error. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Writes one JSON object a line: `level`, `time` (RFC 3339), `module`, `msg`, and the fields. A message is constant;
 * what varies is a field. Fields of undefined are left out; a field that bears the name of one of the four gets a `_`.
 */
export interface Logger {
    trace(message: string, fields?: LogFields): void;
    debug(message: string, fields?: LogFields): void;
    info(message: string, fields?: LogFields): void;
    warn(message: string, fields?: LogFields): void;
    error(message: string, fields?: LogFields): void;
    /** A logger for the module of that id (lower-case words), whose lines all carry `fields` too. */
    child(module: string, fields?: LogFields): Logger;
    /** True when lines of that level are written: ask before work that only a log line needs. */
    enabled(level: LogLevel): boolean;
}

/** Where lines go. `write` must have done its work when it returns. */
export interface LogDestination {
    write(line: string): void;
}

export interface LoggerOptions {
    /** Lines below are not written. Default `info`. */
    readonly level?: LogLevel;
    /** The id of the outermost module, e.g. `antrea-agent`. */
    readonly module: string;
    /** Default: standard output, written synchronously, so that the last line before a crash is there. */
    readonly destination?: LogDestination;
}

/** The level of a klog verbosity as given by `--v N`: 0 is info, 1 to 3 debug, 4 and more trace. */
export function levelFromVerbosity(verbosity: number): LogLevel {
    if (verbosity >= 4) return "trace";
    return verbosity >= 1 ? "debug" : "info";
}

export function createLogger(options: LoggerOptions): Logger {
    const base = pino(
        {
            level: options.level ?? "info",
            base: null,
            timestamp: () => `,"time":"${new Date().toISOString()}"`,
            formatters: { level: (label) => ({ level: label }) },
        },
        options.destination ?? pino.destination({ dest: 1, sync: true }),
    );
    return new PinoLogger(base, options.module, {});
}

const reserved: ReadonlySet<string> = new Set(["level", "time", "module", "msg"]);

class PinoLogger implements Logger {
    readonly #base: pino.Logger;
    readonly #own: pino.Logger;
    readonly #fields: LogFields;

    constructor(base: pino.Logger, module: string, fields: LogFields) {
        this.#base = base;
        this.#fields = fields;
        this.#own = base.child({ module, ...convertFields(fields) });
    }

    trace(message: string, fields?: LogFields): void {
        this.#write("trace", message, fields);
    }

    debug(message: string, fields?: LogFields): void {
        this.#write("debug", message, fields);
    }

    info(message: string, fields?: LogFields): void {
        this.#write("info", message, fields);
    }

    warn(message: string, fields?: LogFields): void {
        this.#write("warn", message, fields);
    }

    error(message: string, fields?: LogFields): void {
        this.#write("error", message, fields);
    }

    child(module: string, fields?: LogFields): Logger {
        return new PinoLogger(this.#base, module, { ...this.#fields, ...fields });
    }

    enabled(level: LogLevel): boolean {
        return this.#own.isLevelEnabled(level);
    }

    #write(level: LogLevel, message: string, fields: LogFields | undefined): void {
        if (!this.#own.isLevelEnabled(level)) return;
        this.#own[level](fields === undefined ? {} : convertFields(fields), message);
    }
}

function convertFields(fields: LogFields): Record<string, unknown> {
    const converted: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(fields)) {
        if (value !== undefined) converted[reserved.has(key) ? `${key}_` : key] = toLogValue(value);
    }
    return converted;
}
