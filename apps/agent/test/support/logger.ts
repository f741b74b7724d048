import type { Logger } from "@antrea/runtime";

/** One message with its level and fields. */
export interface LogEntry {
    readonly level: "trace" | "debug" | "info" | "warn" | "error";
    readonly message: string;
    readonly fields: Readonly<Record<string, unknown>>;
}

/** Keeps what is logged, also by its children, in a list. */
export function listLogger(entries: LogEntry[]): Logger {
    const log =
        (level: LogEntry["level"]) =>
        (message: string, fields: Readonly<Record<string, unknown>> = {}): void =>
            void entries.push({ level, message, fields });
    const logger: Logger = {
        trace: log("trace"),
        debug: log("debug"),
        info: log("info"),
        warn: log("warn"),
        error: log("error"),
        child: () => logger,
        enabled: () => true,
    };
    return logger;
}

/** Keeps nothing. */
export const silentLogger: Logger = {
    trace: () => undefined,
    debug: () => undefined,
    info: () => undefined,
    warn: () => undefined,
    error: () => undefined,
    child: () => silentLogger,
    enabled: () => false,
};
