import { createLogger, type Logger, type LogLevel } from "../logger.ts";

/**
 * A line of a Logger, parsed: `level`, `time` (RFC 3339), `module`, `msg`, and the fields as `toLogValue` converts
 * them, with names as Logger writes them.
 */
export type LogRecord = Readonly<Record<string, unknown>> & { readonly level: LogLevel; readonly msg: string };

/** A real logger that keeps its lines, parsed, for assertions; by default those of all levels, as module `test`. */
export class MemoryLog {
    readonly #records: LogRecord[] = [];
    readonly logger: Logger;

    constructor(level: LogLevel = "trace", module = "test") {
        const destination = { write: (line: string) => void this.#records.push(JSON.parse(line) as LogRecord) };
        this.logger = createLogger({ level, module, destination });
    }

    /** All lines so far, oldest first. */
    get records(): readonly LogRecord[] {
        return this.#records;
    }

    /** Returns the messages of that level, or of all levels. */
    messages(level?: LogLevel): readonly string[] {
        return this.#records.filter((record) => level === undefined || record.level === level).map(({ msg }) => msg);
    }
}
