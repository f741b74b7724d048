import ts from "typescript";
import { isProduct, type Source } from "./sources.ts";

/** An exported declaration with its comment. */
export interface Docstring {
    readonly place: string;
    readonly text: string;
    readonly declaration: string;
}

/** The exported declarations of a product file with their comments; empty for other files. */
export function docstringsOf(source: Source): Docstring[] {
    if (!isProduct(source.path)) return [];
    return source.tree.statements.flatMap((statement): Docstring[] => {
        const names = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
        const comments = ts.getJSDocCommentsAndTags(statement).filter((one) => ts.isJSDoc(one));
        if (names?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true || comments.length === 0)
            return [];
        const { line } = source.tree.getLineAndCharacterOfPosition(statement.getStart());
        const [declaration = ""] = statement.getText().split("\n");
        return [
            { place: `${source.path}:${line + 1}`, text: comments.map((one) => one.getText()).join("\n"), declaration },
        ];
    });
}

/** Draws without replacement, the same for the same seed: a linear congruential generator (Knuth, MMIX). */
export function draw<T>(items: readonly T[], count: number, seed: number): T[] {
    const left = [...items];
    const drawn: T[] = [];
    let state = BigInt(seed);
    while (drawn.length < count && left.length > 0) {
        state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
        drawn.push(...left.splice(Number((state >> 33n) % BigInt(left.length)), 1));
    }
    return drawn;
}
