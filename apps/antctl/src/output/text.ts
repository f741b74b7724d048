/** The escape sequences that style.ts writes around text. */
const paint = /\u001b\[\d+m/g;

/** Number of columns that text takes: one for each code point, none for the escape sequences of `Style`. */
export function widthOf(text: string): number {
    return [...text.replace(paint, "")].length;
}

/**
 * Wraps text at spaces to lines of at most `width` characters (`widthOf`) and keeps its line breaks; a longer word has
 * its own line.
 */
export function fold(text: string, width: number): readonly string[] {
    const lines: string[] = [];
    for (const paragraph of text.split("\n")) {
        let line = "";
        for (const word of paragraph.split(" ")) {
            if (line === "") line = word;
            else if (widthOf(line) + 1 + widthOf(word) <= width) line += ` ${word}`;
            else {
                lines.push(line);
                line = word;
            }
        }
        lines.push(line);
    }
    return lines;
}

/**
 * Puts external text (an event, an annotation, output of another program) on one line, trimmed: control characters,
 * which could move the cursor or forge lines, become spaces.
 */
export function oneLine(text: string): string {
    return text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ").trim();
}

/** A number with its noun: `1 Pod`, `2 Pods`. */
export function count(n: number | bigint, one: string, many = `${one}s`): string {
    return `${n} ${Number(n) === 1 ? one : many}`;
}

/** The first `most` items (default 5) joined by commas, and how many more there are: `a, b and 3 more`; "" for none. */
export function someOf(items: readonly string[], most = 5): string {
    const rest = items.length - most;
    return rest > 0 ? `${items.slice(0, most).join(", ")} and ${rest} more` : items.join(", ");
}
