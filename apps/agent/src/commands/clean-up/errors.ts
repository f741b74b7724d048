import { AntreaError } from "@antrea/errors";

export class CleanUpError extends AntreaError<"AGENT_RUNNING" | "NO_DATABASE"> {}

export function agentRunning(cause?: unknown): CleanUpError {
    return new CleanUpError(
        "AGENT_RUNNING",
        "caller",
        "an antrea-agent runs on this Node and would make everything again; uninstall Antrea first (helm uninstall), or use --force",
        { cause },
    );
}
