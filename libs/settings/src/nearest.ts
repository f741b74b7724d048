/**
 * Returns the candidate with the fewest edits (Levenshtein distance, case ignored) from the word, the first of equal
 * ones, if these are at most a third of the candidate's length, or one; for "did you mean". Undefined if there is none,
 * or for a word of more than 64 characters.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
    // The cost is the product of the lengths; a word this long is not a misspelt key.
    if (word.length > 64) return undefined;
    let best: { candidate: string; edits: number } | undefined;
    for (const candidate of candidates) {
        const edits = distance(word.toLowerCase(), candidate.toLowerCase());
        if (edits <= Math.max(1, Math.floor(candidate.length / 3)) && (best === undefined || edits < best.edits)) {
            best = { candidate, edits };
        }
    }
    return best?.candidate;
}

/** Levenshtein's distance: insertions, deletions and replacements of characters. */
function distance(a: string, b: string): number {
    let row = Array.from({ length: b.length + 1 }, (_, index) => index);
    for (let i = 1; i <= a.length; i += 1) {
        const next = [i];
        for (let j = 1; j <= b.length; j += 1) {
            const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
            next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
        }
        row = next;
    }
    return row[b.length] ?? 0;
}
