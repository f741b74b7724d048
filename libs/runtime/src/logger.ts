import { pino } from "pino";
import { toLogValue } from "./log-fields.ts";

/**
 * Log levels:
 *
 * - `error`: a request was not fulfilled and someone may have to act; a defect; the end of the process.
 * - `warn`: something unexpected that the program handles: a retry, a fallback, a setting without effect.
 * - `info`: rare changes that an operator wants recorded: start, stop, settings, a Pod's network set up or removed,
 *   leadership, connections established and lost.
 * - `debug`: the steps of each operation, one line per step.
 * - `trace`: messages on the wire and every pass of a loop.
 *
 * Work that was cancelled on purpose is never a warning or an error.
 */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** Values beside a message, by name, of any type (`toLogValue` converts them). An error has the name `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Writes one JSON object per line: `level`, `time` (RFC 3339), `module`, `msg` and the fields. Messages are constant;
 * what varies is a field. Undefined fields are omitted; a field with the name of one of the four gets the suffix `_`.
 */
export interface Logger {
    trace(message: string, fields?: LogFields): void;
    debug(message: string, fields?: LogFields): void;
    info(message: string, fields?: LogFields): void;
    warn(message: string, fields?: LogFields): void;
    error(message: string, fields?: LogFields): void;
    /**
     * Returns a logger for the module with this id (lower-case words), whose lines all have `fields` and those of this
     * logger too; level and destination are the same.
     */
    child(module: string, fields?: LogFields): Logger;
    /** True if lines of that level are written: call it before work that only a log line needs. */
    enabled(level: LogLevel): boolean;
}

/** Receives log lines in order. `write` must be complete when it returns, and must not throw. */
export interface LogDestination {
    /** Writes one line, including its line end. */
    write(line: string): void;
}

/** Options of `createLogger`: lowest level, module and destination. */
export interface LoggerOptions {
    /** Lowest level that is written. Default `info`. */
    readonly level?: LogLevel;
    /** Id of the outermost module, e.g. `antrea-agent`. */
    readonly module: string;
    /** Default: standard output, written synchronously, so that the last lines before a crash are not lost. */
    readonly destination?: LogDestination;
}

/** Returns the level for a verbosity `--v N` as in klog: 0 is info, 1 to 3 debug, 4 and higher trace. */
export function levelFromVerbosity(verbosity: number): LogLevel {
    if (verbosity >= 4) return "trace";
    return verbosity >= 1 ? "debug" : "info";
}

/**
 * Creates the logger of a program, which writes JSON lines (see Logger), from level `info` by default, to standard
 * output unless another destination is given. There is nothing to close: each line is written when the call returns.
 */
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
