import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A source file: its folder, a direct one of that which was read, its path in there, and its text. */
export interface SourceFile {
    readonly folder: string;
    readonly path: string;
    readonly text: string;
}

/**
 * Reads the TypeScript files of the folders of this folder, such as those of the features of a program. Throws as
 * `readFileSync`.
 *
 * @param root a `file:` URL that ends with a slash
 */
export function readSources(root: URL): readonly SourceFile[] {
    return globSync("*/**/*.ts", { cwd: root.pathname }).map((file) => {
        const [folder = "", ...path] = file.split("/");
        return { folder, path: path.join("/"), text: readFileSync(join(root.pathname, file), "utf8") };
    });
}

/**
 * The names in these files, each with the folder of its file: what the first group of the pattern, which must be global,
 * matches.
 */
export function namesIn(
    files: readonly SourceFile[],
    pattern: RegExp,
): readonly (readonly [folder: string, name: string])[] {
    return files.flatMap(({ folder, text }) =>
        [...text.matchAll(pattern)].map(([, name = ""]): readonly [string, string] => [folder, name]),
    );
}
