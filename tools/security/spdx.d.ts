declare module "spdx-expression-parse" {
    /** Throws a SyntaxError for what is no SPDX expression. */
    export default function parse(expression: string): unknown;
}

declare module "spdx-satisfies" {
    /** Whether the expression can be met with licences of the list. Throws for what is no SPDX expression. */
    export default function satisfies(expression: string, allowed: readonly string[]): boolean;
}
