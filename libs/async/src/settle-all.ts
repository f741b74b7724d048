/** Waits for all, then rejects with the first failure: what is rolled back after it must not be under way. */
export async function settleAll<const T extends readonly Promise<unknown>[]>(
    work: T,
): Promise<{ readonly [Index in keyof T]: Awaited<T[Index]> }> {
    const failed = (await Promise.allSettled(work)).find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    return (await Promise.all(work)) as { readonly [Index in keyof T]: Awaited<T[Index]> };
}
