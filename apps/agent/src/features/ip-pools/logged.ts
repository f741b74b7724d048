import { messageOf } from "@antrea/errors";
import { type Logger } from "@antrea/runtime";

/**
 * Runs the work and logs a failure as a warning with this message; returns it as `{ error }`, or undefined on success.
 * An abort counts as a failure. Never rejects.
 */
export async function logged(
    logger: Logger,
    message: string,
    work: () => Promise<void>,
): Promise<{ readonly error: unknown } | undefined> {
    try {
        await work();
        return undefined;
    } catch (error) {
        logger.warn(message, { reason: messageOf(error) });
        return { error };
    }
}
