import ts from "typescript";
import { isExported, isProduct, type Source } from "./sources.ts";

/**
 * The public methods and accessors of exported classes of the product, as `file#Class.member`, that tests use and
 * nothing else does. By name alone: one that has the name of another member in use is not found.
 */
export function membersOnlyTestsUse(sources: Iterable<Source>): string[] {
    const [used, tested] = [new Set<string>(), new Set<string>()];
    const members: { readonly place: string; readonly name: string }[] = [];
    for (const source of sources) {
        const isTest = /\/(test|testing|fuzzing)\//.test(source.path);
        for (const name of accessedNames(source.tree)) (isTest ? tested : used).add(name);
        if (isProduct(source.path)) members.push(...publicMembers(source));
    }
    return members.filter(({ name }) => tested.has(name) && !used.has(name)).map(({ place }) => place);
}

function publicMembers({ path, tree }: Source): { readonly place: string; readonly name: string }[] {
    return tree.statements.flatMap((statement) => {
        if (!ts.isClassDeclaration(statement) || !isExported(statement)) return [];
        return statement.members.flatMap((member) => {
            if (!ts.isMethodDeclaration(member) && !ts.isAccessor(member)) return [];
            if (!ts.isIdentifier(member.name)) return [];
            return [{ place: `${path}#${statement.name?.text}.${member.name.text}`, name: member.name.text }];
        });
    });
}

/** The names of properties that a file reads, by a dot, a text in brackets or a pattern. */
function accessedNames(tree: ts.SourceFile): ReadonlySet<string> {
    const names = new Set<string>();
    const visit = (node: ts.Node): void => {
        if (ts.isPropertyAccessExpression(node)) names.add(node.name.text);
        else if (ts.isElementAccessExpression(node) && ts.isStringLiteral(node.argumentExpression))
            names.add(node.argumentExpression.text);
        else if (ts.isObjectBindingPattern(node))
            for (const { name, propertyName } of node.elements) names.add((propertyName ?? name).getText());
        ts.forEachChild(node, visit);
    };
    visit(tree);
    return names;
}
