import { join, relative } from "node:path";
import * as crd from "@antrea/crd";
import * as kube from "@antrea/kube";
import ts from "typescript";
import { bundledFiles, root, type Daemon } from "../programs.ts";

/** A request that a program's code can send to the API server. */
export interface Call {
    readonly verb: string;
    /** Empty for the core group. */
    readonly group: string;
    /** With its subresource: `nodes/status`. */
    readonly resource: string;
    /** The source file, relative to the repository. */
    readonly file: string;
    readonly line: number;
}

/** The calls that were found, and those whose resource could not be determined. */
export interface Calls {
    readonly calls: readonly Call[];
    readonly unclear: readonly string[];
}

interface Kind {
    readonly group: string;
    readonly plural: string;
}

const verbsOf: Readonly<Record<string, readonly string[]>> = {
    get: ["get"],
    find: ["get"],
    list: ["list"],
    pages: ["list"],
    watch: ["watch"],
    create: ["create"],
    update: ["update"],
    patch: ["patch"],
    delete: ["delete"],
    request: [],
};

const kinds: ReadonlyMap<string, Kind> = new Map(
    [...Object.entries(kube), ...Object.entries(crd)].flatMap(([name, value]) =>
        isKind(value) ? [[name, value]] : [],
    ),
);

/**
 * Finds in the bundled sources of programs which requests each can send: every call of a method of ApiClient, by its
 * type, and every Informer, which lists and watches.
 */
export async function callsOf(daemons: readonly Daemon[]): Promise<ReadonlyMap<Daemon, Calls>> {
    const bundled = new Map<Daemon, readonly string[]>();
    for (const daemon of daemons) {
        bundled.set(
            daemon,
            (await bundledFiles(daemon)).filter((file) => /^(apps|libs)\//.test(file)),
        );
    }
    // shared: most of its time goes to the common types
    const files = new Set([...bundled.values()].flat().map((file) => join(root, file)));
    const program = ts.createProgram([...files], compilerOptions());
    const checker = program.getTypeChecker();
    const found = [...bundled].map(([daemon, own]): [Daemon, Calls] => {
        const finder = new CallFinder(checker);
        for (const file of own) {
            const source = program.getSourceFile(join(root, file));
            if (source !== undefined && !isTransport(file)) finder.search(source);
        }
        return [daemon, finder];
    });
    return new Map(found);
}

/** The client itself, and the informer, whose requests are found where one is constructed. */
function isTransport(file: string): boolean {
    return file.startsWith("libs/kube/src/api/") || file.startsWith("libs/kube/src/informer/");
}

function compilerOptions(): ts.CompilerOptions {
    const read = ts.readConfigFile(join(root, "tsconfig.base.json"), (path) => ts.sys.readFile(path));
    return ts.convertCompilerOptionsFromJson((read.config as { compilerOptions: unknown }).compilerOptions, root)
        .options;
}

class CallFinder implements Calls {
    readonly calls: Call[] = [];
    readonly unclear: string[] = [];
    readonly #checker: ts.TypeChecker;

    constructor(checker: ts.TypeChecker) {
        this.#checker = checker;
    }

    search(node: ts.Node): void {
        if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression))
            this.#call(node, node.expression);
        if (ts.isNewExpression(node) && node.expression.getText() === "Informer") this.#informer(node);
        ts.forEachChild(node, (child) => this.search(child));
    }

    #call(node: ts.CallExpression, { name }: ts.PropertyAccessExpression): void {
        const verbs = verbsOf[name.text];
        if (verbs === undefined || !this.#isOfClient(name)) return;
        const [resource, ...rest] = node.arguments;
        if (name.text === "request") this.#request(node);
        else if (resource !== undefined) this.#add(node, verbs, resource, subresourceIn(rest));
    }

    #isOfClient(name: ts.MemberName): boolean {
        const declarations = this.#checker.getSymbolAtLocation(name)?.declarations ?? [];
        return declarations.some(({ parent }) => ts.isClassDeclaration(parent) && parent.name?.text === "ApiClient");
    }

    #informer(node: ts.NewExpression): void {
        const options = node.arguments?.[1];
        const property =
            options !== undefined && ts.isObjectLiteralExpression(options)
                ? options.properties.find((one) => one.name?.getText() === "resource")
                : undefined;
        if (property !== undefined && ts.isPropertyAssignment(property)) {
            this.#add(node, ["list", "watch"], property.initializer);
        } else if (property !== undefined && ts.isShorthandPropertyAssignment(property)) {
            this.#add(node, ["list", "watch"], property);
        } else {
            this.unclear.push(this.#place(node));
        }
    }

    /**
     * A raw request: its verb from the method, its resource from the argument of `pathOf`, both in the same function.
     */
    #request(node: ts.CallExpression): void {
        const method = /method: "(GET|POST|PUT|PATCH|DELETE)"/.exec(node.arguments[0]?.getText() ?? "")?.[1];
        let around: ts.Node = node;
        while (!ts.isFunctionLike(around) && !ts.isSourceFile(around)) around = around.parent;
        const paths: ts.Expression[] = [];
        const visit = (one: ts.Node): void => {
            if (ts.isCallExpression(one) && one.expression.getText() === "pathOf")
                paths.push(...one.arguments.slice(0, 1));
            ts.forEachChild(one, visit);
        };
        visit(around);
        const verb = method === "GET" ? "list" : method?.toLowerCase();
        if (verb === undefined || paths.length === 0) this.unclear.push(this.#place(node));
        for (const path of paths) this.#add(node, [verb ?? ""], path);
    }

    #add(node: ts.Node, verbs: readonly string[], resource: ts.Node, subresource?: string): void {
        const found = this.#kinds(resource);
        if (found === "passed on") return;
        if (found.length === 0) this.unclear.push(this.#place(node));
        const { file, line } = this.#where(node);
        for (const { group, plural } of found) {
            const name = subresource === undefined ? plural : `${plural}/${subresource}`;
            for (const verb of verbs) this.calls.push({ verb, group, resource: name, file, line });
        }
    }

    /** The resources of an expression of type Resource; "passed on" if the caller supplies it. */
    #kinds(node: ts.Node): readonly Kind[] | "passed on" {
        if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node)) return this.#kinds(node.expression);
        if (ts.isConditionalExpression(node)) return this.#all([node.whenTrue, node.whenFalse]);
        const symbol = ts.isShorthandPropertyAssignment(node)
            ? this.#checker.getShorthandAssignmentValueSymbol(node)
            : this.#checker.getSymbolAtLocation(node);
        if (symbol === undefined) return [];
        const target = symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
        const known = kinds.get(target.name);
        const [declaration] = target.declarations ?? [];
        if (declaration === undefined) return [];
        if (known !== undefined && /\/libs\/(kube|crd)\/src\//.test(declaration.getSourceFile().fileName))
            return [known];
        if (ts.isBindingElement(declaration)) {
            const { parent } = declaration.parent;
            return ts.isVariableDeclaration(parent) && parent.initializer !== undefined
                ? this.#kinds(parent.initializer)
                : [];
        }
        if (ts.isVariableDeclaration(declaration) && declaration.initializer !== undefined) {
            return this.#kinds(declaration.initializer);
        }
        return ts.isParameter(declaration) ? this.#given(declaration) : [];
    }

    /** The arguments that callers in the same file pass for a parameter of a named function. */
    #given(parameter: ts.ParameterDeclaration): readonly Kind[] | "passed on" {
        const { parent: owner } = parameter;
        const at = owner.parameters.indexOf(parameter);
        const holder = owner.parent;
        const name = ts.isVariableDeclaration(holder) ? holder.name.getText() : owner.name?.getText();
        const given: ts.Node[] = [];
        const visit = (one: ts.Node): void => {
            if (ts.isCallExpression(one) && one.expression.getText() === name && one.arguments[at] !== undefined) {
                given.push(one.arguments[at]);
            }
            ts.forEachChild(one, visit);
        };
        visit(parameter.getSourceFile());
        return given.length === 0 ? "passed on" : this.#all(given);
    }

    #all(nodes: readonly ts.Node[]): readonly Kind[] {
        return nodes.flatMap((node) => {
            const found = this.#kinds(node);
            return found === "passed on" ? [] : found;
        });
    }

    #where(node: ts.Node): { readonly file: string; readonly line: number } {
        const source = node.getSourceFile();
        const { line } = source.getLineAndCharacterOfPosition(node.getStart());
        return { file: relative(root, source.fileName), line: line + 1 };
    }

    #place(node: ts.Node): string {
        const { file, line } = this.#where(node);
        return `${file}:${line}`;
    }
}

function subresourceIn(options: readonly ts.Expression[]): string | undefined {
    for (const option of options) {
        const found = ts.isObjectLiteralExpression(option)
            ? option.properties.find((one) => one.name?.getText() === "subresource")
            : undefined;
        if (found !== undefined && ts.isPropertyAssignment(found) && ts.isStringLiteral(found.initializer)) {
            return found.initializer.text;
        }
    }
    return undefined;
}

function isKind(value: unknown): value is Kind {
    return typeof value === "object" && value !== null && "plural" in value && "group" in value;
}
