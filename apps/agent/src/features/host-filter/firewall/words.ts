/**
 * Splits the output of `iptables -S` into lines, without empty ones; a comment in double quotes may contain line
 * breaks.
 */
export function linesOf(text: string): readonly string[] {
    return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"|[^"\n])+/g)].map(([line]) => line);
}

/**
 * Splits a line that iptables(8) prints for a shell into the original arguments. It uses double quotes only, inside
 * which a backslash precedes each quote character of any kind and each backslash.
 */
export function wordsOf(line: string): readonly string[] {
    return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "",
    );
}
