import { AntreaError } from "@antrea/errors";

/** The clean-up cannot start. */
export class CleanUpError extends AntreaError<"AGENT_RUNNING" | "NO_DATABASE"> {}

/** The error AGENT_RUNNING. */
export function agentRunning(cause?: unknown): CleanUpError {
    return new CleanUpError(
        "AGENT_RUNNING",
        "caller",
        "an antrea-agent runs on this Node and would make everything again; uninstall Antrea first (helm uninstall), or use --force",
        { cause },
    );
}
