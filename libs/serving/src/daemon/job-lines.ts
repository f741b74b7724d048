import { AntreaError } from "@antrea/errors";
import { type JobHealth } from "@antrea/runtime";

/**
 * Formats the status of a job in one line: its last result with the time, how many of its objects failed, and the time
 * of the next run or the state: `job a: failed 3 times with TIMEOUT, last at …; next run at …`. Of an error only the
 * code or class is included: the health endpoints are open to everyone, and the message is in the log.
 */
export function jobLine({ name, state, failures, error, endedAtMs, nextAtMs, failedObjects }: JobHealth): string {
    const text = [`job ${name}: ${resultOf({ failures, error, endedAtMs })}`];
    if (failedObjects !== undefined) {
        const { count, error: one } = failedObjects;
        text.push(
            count === 1 ? `1 object failed with ${kindOf(one)}` : `${count} objects failed, one with ${kindOf(one)}`,
        );
    }
    if (nextAtMs !== undefined) text.push(`next run at ${timeOf(nextAtMs)}`);
    else if (state !== "waiting") text.push(state);
    return text.join("; ");
}

function resultOf({ failures, error, endedAtMs }: Pick<JobHealth, "failures" | "error" | "endedAtMs">): string {
    if (endedAtMs === undefined) return "has not run yet";
    if (failures === 0) return `succeeded at ${timeOf(endedAtMs)}`;
    const times = failures === 1 ? "" : ` ${failures} times`;
    return `failed${times} with ${kindOf(error)}, last at ${timeOf(endedAtMs)}`;
}

function kindOf(error: unknown): string {
    if (error instanceof AntreaError) return error.code;
    return error instanceof Error ? error.name : typeof error;
}

function timeOf(ms: number): string {
    return new Date(ms).toISOString();
}
