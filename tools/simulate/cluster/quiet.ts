import { type Logger, type MetricsFactory } from "@antrea/runtime";

const nothing = (): void => undefined;

/** A logger that tells each line to the history. */
export function historyLogger(tell: (line: () => string) => void, module: string): Logger {
    const write = (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) =>
        tell(() => `${module}: ${level}: ${message} ${fields === undefined ? "" : fieldsText(fields)}`);
    return {
        trace: nothing,
        debug: write("debug"),
        info: write("info"),
        warn: write("warn"),
        error: write("error"),
        child: (name) => historyLogger(tell, `${module}.${name}`),
        enabled: () => false,
    };
}

export const noMetrics: MetricsFactory = {
    counter: () => ({ inc: nothing }),
    gauge: () => ({ set: nothing, remove: nothing }),
    histogram: () => ({ observe: nothing }),
};

function fieldsText(fields: Readonly<Record<string, unknown>>): string {
    return JSON.stringify(fields, (_key, value: unknown) =>
        value instanceof Error ? value.message : typeof value === "bigint" ? String(value) : value,
    );
}
