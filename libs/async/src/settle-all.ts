/**
 * Waits until all promises have settled and returns their values in order. If any rejected, rejects with the reason of
 * the first in the array; unlike Promise.all only after all have settled, so that a rollback does not run beside
 * unfinished work.
 */
export async function settleAll<const T extends readonly Promise<unknown>[]>(
    work: T,
): Promise<{ readonly [Index in keyof T]: Awaited<T[Index]> }> {
    const failed = (await Promise.allSettled(work)).find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return (await Promise.all(work)) as { readonly [Index in keyof T]: Awaited<T[Index]> };
}
