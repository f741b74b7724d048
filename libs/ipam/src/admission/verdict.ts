import { type Refusal } from "../refusal.ts";

/** What admission says of a request: it is refused when there is an error; warnings are told either way. */
export interface Verdict {
    readonly errors: readonly Refusal[];
    readonly warnings: readonly string[];
}

export const allowed: Verdict = { errors: [], warnings: [] };

export function refused(...errors: readonly Refusal[]): Verdict {
    return { errors, warnings: [] };
}

export function together(...verdicts: readonly Verdict[]): Verdict {
    return {
        errors: verdicts.flatMap(({ errors }) => errors),
        warnings: verdicts.flatMap(({ warnings }) => warnings),
    };
}

const shownItems = 3;

/** The first few items with commas between, and how many more there are. */
export function someOf(items: readonly string[]): string {
    const shown = items.slice(0, shownItems).join(", ");
    return items.length > shownItems ? `${shown} and ${items.length - shownItems} more` : shown;
}
