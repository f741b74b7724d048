const shownCharacters = 80;

/**
 * A JSON value or undefined as text for an error message: its JSON, cut after 80 characters with "…", so that hostile
 * input cannot fill a log; `nothing` for undefined, `a value of too many levels` for one that JSON.stringify cannot
 * write.
 */
export function shown(value: unknown): string {
    const text = value === undefined ? "nothing" : jsonOf(value);
    return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}

function jsonOf(value: unknown): string {
    try {
        return JSON.stringify(value);
    } catch {
        // JSON.parse accepts any depth; JSON.stringify needs stack for each level.
        return "a value of too many levels";
    }
}
