import { type EventInput } from "@antrea/kube";
import { type Logger, type MetricsFactory } from "@antrea/runtime";

const nothing = (): void => undefined;

/** A logger that appends each line to the history. */
export function historyLogger(append: (line: () => string) => void, module: string): Logger {
    const write = (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) =>
        append(() => `${module}: ${level}: ${message} ${fields === undefined ? "" : fieldsText(fields)}`);
    return {
        trace: nothing,
        debug: write("debug"),
        info: write("info"),
        warn: write("warn"),
        error: write("error"),
        child: (name) => historyLogger(append, `${module}.${name}`),
        enabled: () => false,
    };
}

/** Metrics that discard everything. */
export const noMetrics: MetricsFactory = {
    counter: () => ({ inc: nothing }),
    gauge: () => ({ set: nothing, remove: nothing }),
    histogram: () => ({ observe: nothing }),
};

type Check = () => string | undefined;

/** Replaces the server of /livez and /readyz. */
export interface QuietHealth {
    addCheck(name: string, kind: string, check: Check): Disposable;
    showJobs(): void;
    start(): Promise<void>;
    stop(): Promise<void>;
    /** The result of a readiness check. */
    problem(name: string): string | undefined;
}

/** Keeps the checks without serving them. */
export function quietHealth(): QuietHealth {
    const checks = new Map<string, Check>();
    return {
        addCheck: (name, _kind, check) => {
            checks.set(name, check);
            return { [Symbol.dispose]: () => void checks.delete(name) };
        },
        showJobs: () => undefined,
        start: () => Promise.resolve(),
        stop: () => Promise.resolve(),
        problem: (name) => checks.get(name)?.(),
    };
}

/** An event recorder whose events are delivered immediately. */
export function quietEvents(record: (event: EventInput) => void): {
    readonly record: (event: EventInput) => void;
    start(): void;
    close(): Promise<void>;
} {
    return { record, start: nothing, close: () => Promise.resolve() };
}

function fieldsText(fields: Readonly<Record<string, unknown>>): string {
    return JSON.stringify(fields, (_key, value: unknown) =>
        value instanceof Error ? value.message : typeof value === "bigint" ? String(value) : value,
    );
}
