import type { Clock } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import { Limit } from "./limit.ts";

/** Limit of DEL for other work on the container; the reconcile removes what remains. */
const limitMs = 5_000;

/**
 * The work of a DEL, which waits 5 s for other work on the container. Rejects as the work; if that could not begin in
 * time, `leave` gets the reason, to leave it to the reconcile.
 */
export async function deleteSoon(
    clock: Clock,
    {
        run,
        work,
        leave,
    }: {
        /** Begins the work under the lock of the container; rejects on abort before that. */
        readonly run: (limit: AbortSignal, begin: () => Promise<void>) => Promise<void>;
        readonly work: () => Promise<unknown>;
        readonly leave: (reason: string) => void;
    },
): Promise<void> {
    let hasBegun = false;
    const begin = async (): Promise<void> => {
        hasBegun = true;
        await work();
    };
    using limit = new Limit(clock, limitMs, "other work on the container");
    try {
        await run(limit.signal, begin);
    } catch (error) {
        if (hasBegun) throw error;
        leave(messageOf(error));
    }
}
