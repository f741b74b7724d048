/** Something that must hold: what was checked, or what is wrong. */
export interface Check {
    readonly name: string;
    readonly ok: boolean;
    readonly text: string;
}

/** A check does not hold. */
export class BrokenError extends Error {
    override readonly name = "BrokenError";
}

/** What the check resolves with is what was checked; it does not hold if it rejects. */
export async function checked(name: string, check: () => Promise<string> | string): Promise<Check> {
    try {
        return { name, ok: true, text: await check() };
    } catch (error) {
        const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
        return { name, ok: false, text: `${error instanceof Error ? error.message : String(error)}${cause}` };
    }
}

/** How often something was polled, and why not oftener, if there was a reason. */
export interface Polls {
    readonly count: number;
    readonly atLeast: number;
    readonly lastError?: unknown;
}

/** Returns the text. Throws BrokenError with what was found, if anything, and if there were too few polls. */
export function nothingFound(found: Iterable<string>, { count, atLeast, lastError }: Polls, text: string): string {
    const all = [...found];
    if (all.length > 0) throw new BrokenError(all.slice(0, 20).join("; "));
    if (count < atLeast) {
        const why = lastError instanceof Error ? `: ${lastError.message}` : "";
        throw new BrokenError(`polled ${count} times only, not ${atLeast}${why}`);
    }
    return text;
}
