declare module "spdx-expression-parse" {
    /** Throws a SyntaxError for an invalid SPDX expression. */
    export default function parse(expression: string): unknown;
}

declare module "spdx-satisfies" {
    /** Whether the expression can be satisfied with licences of the list. Throws for an invalid SPDX expression. */
    export default function satisfies(expression: string, allowed: readonly string[]): boolean;
}
