/** The words of a line that iptables(8) prints for a shell; the only quotes are double ones around comments. */
export function wordsOf(line: string): readonly string[] {
    return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}
