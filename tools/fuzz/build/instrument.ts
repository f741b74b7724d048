import { parse } from "acorn";

interface AstNode {
    readonly type: string;
    readonly start: number;
    readonly end: number;
    readonly [key: string]: unknown;
}

/**
 * Adds a counter to each branch (function, both sides of a condition, loop body, case, catch), and routes comparisons
 * and switch cases through functions that record the operands. `globalThis.antreaProbes` of engine/probes.ts must
 * exist before the code runs. The names and strings of the source are recorded as tokens: likely parts of valid
 * inputs. Line numbers are preserved.
 */
export function instrument(code: string, file: string): string {
    const edits = new Edits(code);
    const root = parse(code, { ecmaVersion: "latest", sourceType: "module" }) as unknown as AstNode;
    const tokens = new Set<string>();
    visit(root, edits, tokens);
    const names = JSON.stringify([...tokens]);
    const header =
        `const __probes=globalThis.antreaProbes,__hits=__probes.hits,` +
        `__base=__probes.reserve(${JSON.stringify(file)},${edits.probes},${names});`;
    return header + edits.apply();
}

/** Insertions into a text. At one position closing text precedes opening text, the innermost first. */
class Edits {
    readonly #code: string;
    readonly #opens = new Map<number, string[]>();
    readonly #closes = new Map<number, string[]>();
    readonly #replaced = new Map<number, { readonly end: number; readonly text: string }>();
    probes = 0;

    constructor(code: string) {
        this.#code = code;
    }

    text(start: number, end: number): string {
        return this.#code.slice(start, end);
    }

    probe(): string {
        return `__hits[__base+${this.probes++}]++`;
    }

    open(at: number, text: string): void {
        this.#opens.set(at, [...(this.#opens.get(at) ?? []), text]);
    }

    close(at: number, text: string): void {
        this.#closes.set(at, [text, ...(this.#closes.get(at) ?? [])]);
    }

    replace(start: number, end: number, text: string): void {
        this.#replaced.set(start, { end, text });
    }

    /** A statement in its own block that begins with a probe. */
    block(node: AstNode, after = ""): void {
        this.open(node.start, `{${this.probe()};`);
        this.close(node.end, `}${after}`);
    }

    /** An expression preceded by a probe. */
    expression(node: AstNode): void {
        this.open(node.start, `(${this.probe()},`);
        this.close(node.end, ")");
    }

    apply(): string {
        const places = new Set([...this.#opens.keys(), ...this.#closes.keys(), ...this.#replaced.keys()]);
        const parts: string[] = [];
        let from = 0;
        for (const at of [...places].sort((a, b) => a - b)) {
            parts.push(this.#code.slice(from, at));
            parts.push(...(this.#closes.get(at) ?? []), ...(this.#opens.get(at) ?? []));
            const replaced = this.#replaced.get(at);
            from = at;
            if (replaced === undefined) continue;
            parts.push(replaced.text);
            from = replaced.end;
        }
        return [...parts, this.#code.slice(from)].join("");
    }
}

function visit(node: AstNode, edits: Edits, tokens: Set<string>): void {
    visitors[node.type]?.(node, edits);
    collect(node, tokens);
    for (const value of Object.values(node)) {
        for (const child of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
            if (isNode(child)) visit(child, edits, tokens);
        }
    }
}

const maxToken = 48;

function collect(node: AstNode, tokens: Set<string>): void {
    if (node.type === "Literal" && typeof node.value === "string") add(node.value, tokens);
    const named = node.type === "MemberExpression" ? node.property : node.type === "Property" ? node.key : undefined;
    if (!isNode(named) || node.computed === true || named.type !== "Identifier") return;
    add(String(named.name), tokens);
}

function add(token: string, tokens: Set<string>): void {
    if (token.length > 1 && token.length <= maxToken) tokens.add(token);
}

function isNode(value: unknown): value is AstNode {
    return typeof value === "object" && value !== null && "type" in value && "start" in value;
}

type Visitor = (node: AstNode, edits: Edits) => void;

const child = (node: AstNode, key: string): AstNode => node[key] as AstNode; // the grammar guarantees it

const loop: Visitor = (node, edits) => edits.block(child(node, "body"));

const functionBody: Visitor = (node, edits) => {
    const body = child(node, "body");
    if (body.type === "BlockStatement") edits.open(body.start + 1, `${edits.probe()};`);
    else edits.expression(body);
};

const visitors: Readonly<Record<string, Visitor>> = {
    FunctionDeclaration: functionBody,
    FunctionExpression: functionBody,
    ArrowFunctionExpression: functionBody,
    ForStatement: loop,
    ForInStatement: loop,
    ForOfStatement: loop,
    WhileStatement: loop,
    DoWhileStatement: loop,
    CatchClause: (node, edits) => edits.open(child(node, "body").start + 1, `${edits.probe()};`),
    ConditionalExpression: (node, edits) => {
        edits.expression(child(node, "consequent"));
        edits.expression(child(node, "alternate"));
    },
    LogicalExpression: (node, edits) => edits.expression(child(node, "right")),
    IfStatement: (node, edits) => {
        const alternate = node.alternate;
        if (isNode(alternate)) {
            edits.block(child(node, "consequent"));
            edits.block(alternate);
        } else {
            edits.block(child(node, "consequent"), `else{${edits.probe()}}`);
        }
    },
    SwitchStatement: (node, edits) => {
        const value = child(node, "discriminant");
        edits.open(value.start, "__probes.subject(");
        edits.close(value.end, ")");
    },
    SwitchCase: (node, edits) => {
        if (isNode(node.test)) {
            edits.open(node.test.start, "__probes.case(");
            edits.close(node.test.end, ")");
        }
        const [first] = node.consequent as readonly AstNode[];
        if (first !== undefined) edits.open(first.start, `${edits.probe()};`);
    },
    BinaryExpression: compared,
    CallExpression: asked,
};

const comparisons: Readonly<Record<string, string>> = {
    "===": "same",
    "!==": "other",
    "<": "less",
    "<=": "atMost",
    ">": "more",
    ">=": "atLeast",
};

function compared(node: AstNode, edits: Edits): void {
    const name = comparisons[String(node.operator)];
    const [left, right] = [child(node, "left"), child(node, "right")];
    if (name === undefined || [left, right].some(showsNothing)) return;
    edits.open(node.start, `__probes.${name}(`);
    const between = edits.text(left.end, right.start);
    const at = left.end + between.indexOf(String(node.operator));
    edits.replace(at, at + String(node.operator).length, ",");
    edits.close(node.end, ")");
}

/** Whether a comparison with this node shows nothing about the input. */
function showsNothing(node: AstNode): boolean {
    return (
        (node.type === "UnaryExpression" && node.operator === "typeof") ||
        (node.type === "Identifier" && node.name === "undefined") ||
        (node.type === "Literal" && (node.value === null || typeof node.value === "boolean"))
    );
}

const askedFor: ReadonlySet<string> = new Set(["hasOwn", "has", "get", "startsWith", "endsWith", "includes"]);

/** Records the last argument of a call like `Object.hasOwn(object, name)`: an input may need that string. */
function asked(node: AstNode, edits: Edits): void {
    const callee = child(node, "callee");
    const property = callee.property;
    if (callee.type !== "MemberExpression" || callee.computed === true || !isNode(property)) return;
    if (!askedFor.has(String(property.name))) return;
    const last = (node.arguments as readonly AstNode[]).at(-1);
    if (last === undefined || last.type === "SpreadElement") return;
    edits.open(last.start, "__probes.asked(");
    edits.close(last.end, ")");
}
