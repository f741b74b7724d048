import { constants, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "@antrea/errors";
import type { Platform } from "../platform.ts";

const pipeName = "antrea-agent.pipe";

/**
 * Lets the container antrea-ovs of this Pod run until this process has ended, when both are stopped: at the end of the Pod
 * the agent may reach the API server only through OVS. Opens the pipe antrea-agent.pipe, which start-ovs has created before
 * it starts OVS, at the first connection to the OVS database, and writes to it when the signal aborts. It is never closed:
 * the kernel does that with the process, however that ends. Where there is no such pipe, OVS is not held; never throws.
 *
 * @param signal aborts when the process begins to end
 */
export function announceEnd(
    {
        config,
        database,
        logger,
    }: {
        readonly config: Pick<Platform["config"], "ovsRunDir">;
        readonly database: Pick<Platform["database"], "onConnect">;
        readonly logger: Pick<Platform["logger"], "warn">;
    },
    signal: AbortSignal,
): void {
    const path = join(config.ovsRunDir, pipeName);
    let pipe: number | undefined;
    const attempt = (work: () => void): void => {
        try {
            work();
        } catch (error) {
            logger.warn("OVS does not learn of the agent's end and may end before it", { reason: messageOf(error) });
        }
    };
    database.onConnect(() => {
        if (pipe !== undefined) return;
        // for both: a pipe that is opened for writing alone must have a reader
        attempt(() => (pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)));
    });
    signal.addEventListener("abort", () => {
        const to = pipe;
        if (to !== undefined) attempt(() => writeSync(to, "."));
    });
}
