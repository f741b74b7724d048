import { AntreaError } from "@antrea/errors";

/**
 * The clean-up cannot start. `AGENT_RUNNING`: an agent runs on the Node; `NO_DATABASE`: the file of the OVS database
 * cannot be served.
 */
export class CleanUpError extends AntreaError<"AGENT_RUNNING" | "NO_DATABASE"> {}

/** Returns CleanUpError `AGENT_RUNNING`; its message has the next step: uninstall Antrea first, or --force. */
export function agentRunning(cause?: unknown): CleanUpError {
    return new CleanUpError(
        "AGENT_RUNNING",
        "caller",
        "an antrea-agent runs on this Node and would make everything again; uninstall Antrea first (helm uninstall), or use --force",
        { cause },
    );
}
