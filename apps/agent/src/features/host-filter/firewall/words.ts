/** The lines that `iptables -S` prints; a comment may have line breaks in it. */
export function linesOf(text: string): readonly string[] {
    return [...text.matchAll(/(?:"(?:[^"\\]|\\.)*"|[^"\n])+/g)].map(([line]) => line);
}

/**
 * The words of a line that iptables(8) prints for a shell, as they were given to it. The only quotes are double ones, and
 * within them a backslash stands before each quote of any kind and each backslash.
 */
export function wordsOf(line: string): readonly string[] {
    return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(
        ([, quoted, plain]) => quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? "",
    );
}
