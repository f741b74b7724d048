import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

/** A TypeScript file of the repository. */
export interface Source {
    /** Relative to the root of the repository. */
    readonly path: string;
    readonly text: string;
    readonly tree: ts.SourceFile;
    readonly imports: readonly Import[];
    /** The names that it declares and exports, without re-exports. */
    readonly exports: readonly string[];
    /** The names that it re-exports from other files. */
    readonly passedOn: readonly PassedOn[];
}

export interface Import {
    /** As written: relative, or a package with its subpath. */
    readonly from: string;
    /** The imported names; `*` for all of them. */
    readonly names: readonly string[];
}

export interface PassedOn {
    readonly from: string;
    readonly name: string;
    readonly as: string;
}

/** Parses a TypeScript file and collects its imports and exports. */
export function parseSource(path: string, text: string): Source {
    const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const imports: Import[] = [];
    const exports: string[] = [];
    const passedOn: PassedOn[] = [];
    for (const statement of tree.statements) {
        if (ts.isImportDeclaration(statement) && ts.isStringLiteral(statement.moduleSpecifier)) {
            imports.push({ from: statement.moduleSpecifier.text, names: namesOf(statement.importClause) });
        } else if (ts.isExportDeclaration(statement)) {
            const { exportClause, moduleSpecifier } = statement;
            const from =
                moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : undefined;
            if (exportClause === undefined || !ts.isNamedExports(exportClause)) continue;
            for (const { name, propertyName } of exportClause.elements) {
                if (from === undefined) exports.push(name.text);
                else passedOn.push({ from, name: (propertyName ?? name).text, as: name.text });
            }
        } else if (isExported(statement)) {
            exports.push(...declaredNames(statement));
        }
    }
    return { path, text, tree, imports, exports, passedOn };
}

function namesOf(clause: ts.ImportClause | undefined): string[] {
    if (clause === undefined) return [];
    const names = clause.name === undefined ? [] : ["default"];
    const bindings = clause.namedBindings;
    if (bindings === undefined) return names;
    if (ts.isNamespaceImport(bindings)) return [...names, "*"];
    return [...names, ...bindings.elements.map(({ name, propertyName }) => (propertyName ?? name).text)];
}

/** Whether a statement declares something and exports it. */
export function isExported(statement: ts.Statement): boolean {
    if (!ts.canHaveModifiers(statement)) return false;
    return ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** The names that a statement declares. */
export function declaredNames(statement: ts.Statement): string[] {
    if (ts.isVariableStatement(statement)) {
        return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    }
    const { name } = statement as { readonly name?: ts.Node };
    return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

/** All TypeScript files of the repository, by path. */
export function readSources(root: string): ReadonlyMap<string, Source> {
    const paths = globSync(["apps/**/*.ts", "libs/**/*.ts", "tools/**/*.ts", "e2e/**/*.ts"], {
        cwd: root,
        exclude: (name) => name === "node_modules" || name === "dist",
    });
    return new Map(paths.sort().map((path) => [path, parseSource(path, readFileSync(join(root, path), "utf8"))]));
}

/** The exports of the repository's packages: `@antrea/ip` or `@antrea/openflow/testing` and the source file. */
export function readPackages(root: string): ReadonlyMap<string, string> {
    const found = new Map<string, string>();
    for (const file of globSync("{apps,libs,tools}/*/package.json", { cwd: root })) {
        const { name, exports } = JSON.parse(readFileSync(join(root, file), "utf8")) as {
            readonly name: string;
            readonly exports?: Readonly<Record<string, unknown>>;
        };
        for (const [subpath, target] of Object.entries(exports ?? {})) {
            const path = sourceFileOf(target);
            if (path !== undefined) found.set(join(name, subpath), join(dirname(file), path));
        }
    }
    return found;
}

/** The condition of an export that refers to a source file. */
function sourceFileOf(target: unknown): string | undefined {
    if (typeof target === "string") return target.endsWith(".ts") ? target : undefined;
    if (typeof target !== "object" || target === null) return undefined;
    for (const one of Object.values(target)) {
        const found = sourceFileOf(one);
        if (found !== undefined && !found.endsWith(".d.ts")) return found;
    }
    return undefined;
}

/** The file that an import refers to; undefined for external packages. */
export function resolveImport(path: string, from: string, packages: ReadonlyMap<string, string>): string | undefined {
    return from.startsWith(".") ? normalize(join(dirname(path), from)) : packages.get(from);
}

/** Whether a file is shipped or run, and not a test or test support. */
export function isProduct(path: string): boolean {
    return /^(apps|libs)\/[^/]+\/src\//.test(path) && !path.includes("/testing/");
}
