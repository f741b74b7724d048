import type { Logger } from "@antrea/runtime";

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
