import { type Refusal } from "../refusal.ts";

/**
 * Result of a validation: the request is rejected if there is an error; warnings are returned to the client in any
 * case.
 */
export interface Verdict {
    /** Violations; the request is rejected unless empty. */
    readonly errors: readonly Refusal[];
    /** Texts for the client, one sentence each. */
    readonly warnings: readonly string[];
}

/** The verdict that allows a request without warnings. */
export const allowed: Verdict = { errors: [], warnings: [] };

/** Returns a verdict that rejects a request with these errors, or allows it if there are none. */
export function refused(...errors: readonly Refusal[]): Verdict {
    return { errors, warnings: [] };
}

/** Returns a verdict with all errors and warnings of these, in their order. */
export function together(...verdicts: readonly Verdict[]): Verdict {
    return {
        errors: verdicts.flatMap(({ errors }) => errors),
        warnings: verdicts.flatMap(({ warnings }) => warnings),
    };
}

const shownItems = 3;

/**
 * Joins the first three items by commas and adds the number of the others: `a, b, c and 2 more`; "" for none. With
 * `isPart` there are more than these items: `a and others`.
 */
export function someOf(items: readonly string[], isPart = false): string {
    const shown = items.slice(0, shownItems).join(", ");
    const rest = Math.max(0, items.length - shownItems);
    if (isPart) return rest > 0 ? `${shown} and more than ${rest} others` : `${shown} and others`;
    return rest > 0 ? `${shown} and ${rest} more` : shown;
}
