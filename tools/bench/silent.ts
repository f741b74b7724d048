import { type Logger } from "@antrea/runtime";

const silence = (): void => undefined;

/** A logger that discards everything, for parts that run in the benchmark's own processes. */
export const silent: Logger = {
    trace: silence,
    debug: silence,
    info: silence,
    warn: silence,
    error: silence,
    child: () => silent,
    enabled: () => false,
};
