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

/** The first few items with commas between, and how many more there are. `isPart`: there are more than these items. */
export function someOf(items: readonly string[], isPart = false): string {
    const shown = items.slice(0, shownItems).join(", ");
    const rest = Math.max(0, items.length - shownItems);
    if (isPart) return rest > 0 ? `${shown} and more than ${rest} others` : `${shown} and others`;
    return rest > 0 ? `${shown} and ${rest} more` : shown;
}
