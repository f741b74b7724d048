/**
 * Polls `probe` every 25 ms until it returns a value other than undefined or false, and resolves with it. An exception
 * counts as "not yet". Rejects after `timeoutMs` milliseconds with an Error that names `what` (default: the text of
 * `probe`), the last exception as its cause. The default, 45,000, is for real programs on a machine that is several
 * times slower than usual.
 */
export async function eventually<T>(
    probe: () => T | undefined | false | Promise<T | undefined | false>,
    o: { readonly timeoutMs?: number; readonly what?: string } = {},
): Promise<T> {
    const end = Date.now() + (o.timeoutMs ?? 45_000);
    for (;;) {
        let failure: unknown;
        try {
            const found = await probe();
            if (found !== undefined && found !== false) return found;
        } catch (error) {
            failure = error;
        }
        if (Date.now() > end)
            throw new Error(`did not happen in time: ${o.what ?? probe.toString()}`, { cause: failure });
        await new Promise((resolve) => setTimeout(resolve, 25));
    }
}
