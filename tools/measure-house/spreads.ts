import ts from "typescript";
import { type Source } from "./sources.ts";

/** Literals that are unconditionally spread into another literal: `...{ a, b }`, `...[a, b]`. As `file:line`. */
export function spreadGroups(source: Source): string[] {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
        if (ts.isSpreadAssignment(node) || ts.isSpreadElement(node)) {
            const { expression } = node;
            if (ts.isObjectLiteralExpression(expression) || ts.isArrayLiteralExpression(expression))
                found.push(placeOf(source, node));
        }
        ts.forEachChild(node, visit);
    };
    visit(source.tree);
    return found;
}

/** Conditionally spread members, `...(x !== undefined && { x })`, of a type that accepts undefined for them. */
export function needlessConditionalSpreads(program: ts.Program, isCounted: (path: string) => boolean): string[] {
    const checker = program.getTypeChecker();
    const found: string[] = [];
    for (const tree of program.getSourceFiles()) {
        if (!isCounted(tree.fileName)) continue;
        const visit = (node: ts.Node): void => {
            if (ts.isSpreadAssignment(node)) {
                const member = conditionalMember(node.expression);
                const outer = checker.getContextualType(node.parent);
                if (member !== undefined && outer !== undefined && takesUndefined(checker, outer, member)) {
                    const { line } = tree.getLineAndCharacterOfPosition(node.getStart());
                    found.push(`${tree.fileName}:${line + 1}`);
                }
            }
            ts.forEachChild(node, visit);
        };
        visit(tree);
    }
    return found;
}

/** The name of the only member of `(x !== undefined && { name: … })` or `(x === undefined ? {} : { name: … })`. */
function conditionalMember(expression: ts.Expression): string | undefined {
    const inner = ts.isParenthesizedExpression(expression) ? expression.expression : expression;
    const literals = ts.isConditionalExpression(inner)
        ? [inner.whenTrue, inner.whenFalse]
        : ts.isBinaryExpression(inner) && inner.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken
          ? [inner.right]
          : [];
    const condition = ts.isConditionalExpression(inner)
        ? inner.condition
        : ts.isBinaryExpression(inner)
          ? inner.left
          : undefined;
    if (condition === undefined || !/[!=]== undefined$/.test(condition.getText())) return undefined;
    const members = literals.flatMap((one) => (ts.isObjectLiteralExpression(one) ? [...one.properties] : []));
    const [member] = members;
    if (members.length !== 1 || member?.name === undefined || !ts.isIdentifier(member.name)) return undefined;
    return member.name.text;
}

function takesUndefined(checker: ts.TypeChecker, type: ts.Type, name: string): boolean {
    const member = type.getProperty(name)?.valueDeclaration;
    if (member === undefined || !ts.isPropertySignature(member) || member.type === undefined) return false;
    const declared = checker.getTypeFromTypeNode(member.type);
    return declared.isUnion() && declared.types.some(({ flags }) => (flags & ts.TypeFlags.Undefined) !== 0);
}

function placeOf(source: Source, node: ts.Node): string {
    return `${source.path}:${source.tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
}
