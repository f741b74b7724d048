const shownCharacters = 80;

/** Any value as it shall stand in an error message: JSON, escaped, and cut so that hostile input cannot fill a log. */
export function shown(value: unknown): string {
    const text = value === undefined ? "nothing" : JSON.stringify(value);
    return text.length > shownCharacters ? `${text.slice(0, shownCharacters)}…` : text;
}
