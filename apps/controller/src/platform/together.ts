/**
 * Runs several works at once until the signal aborts. When one of them ends or throws, the others are aborted too.
 * Settles when all have ended: resolves if none rejected, else rejects with the error of the first of them in the order
 * of `works`.
 */
export async function together(
    signal: AbortSignal,
    works: readonly ((term: AbortSignal) => Promise<void>)[],
): Promise<void> {
    const ended = new AbortController();
    const term = AbortSignal.any([signal, ended.signal]);
    // async: an error thrown before the first await must not keep the others running
    const all = works.map(async (work) => {
        try {
            await work(term);
        } finally {
            ended.abort();
        }
    });
    const failed = (await Promise.allSettled(all)).find((result) => result.status === "rejected");
    if (failed !== undefined) throw failed.reason;
}
