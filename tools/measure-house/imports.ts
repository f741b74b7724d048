import ts from "typescript";
import { declaredNames, isExported, isProduct, resolveImport, type Source } from "./sources.ts";

type Sources = ReadonlyMap<string, Source>;
type Packages = ReadonlyMap<string, string>;

/** The import graph of the product: from a file to the files it imports or re-exports from. */
export function importGraph(sources: Sources, packages: Packages): ReadonlyMap<string, readonly string[]> {
    const graph = new Map<string, readonly string[]>();
    for (const { path, imports, passedOn } of sources.values()) {
        if (!isProduct(path) && !path.startsWith("tools/")) continue;
        const targets = [...imports, ...passedOn].flatMap(({ from }) => resolveImport(path, from, packages) ?? []);
        graph.set(
            path,
            [...new Set(targets)].filter((target) => sources.has(target)),
        );
    }
    return graph;
}

/** The import cycles as strongly connected components: Tarjan, SIAM J. Comput. 1 (1972). */
export function importCircles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
    const indexes = new Map<string, number>();
    const lowest = new Map<string, number>();
    const stack: string[] = [];
    const circles: string[][] = [];
    const visit = (node: string): number => {
        const index = indexes.size;
        indexes.set(node, index);
        stack.push(node);
        let low = index;
        for (const next of graph.get(node) ?? []) {
            if (!indexes.has(next)) low = Math.min(low, visit(next));
            else if (stack.includes(next)) low = Math.min(low, indexes.get(next) ?? low);
        }
        lowest.set(node, low);
        if (low === index) {
            const circle = stack.splice(stack.indexOf(node));
            if (circle.length > 1) circles.push(circle.sort());
        }
        return low;
    };
    for (const node of graph.keys()) if (!indexes.has(node)) visit(node);
    return circles;
}

const feature = /^apps\/[^/]+\/src\/features\/([^/]+)\//;

/** Imports from a folder of `features` into another of the same app, as `importing -> imported`. */
export function featureCrossings(graph: ReadonlyMap<string, readonly string[]>): string[] {
    const crossings: string[] = [];
    for (const [path, targets] of graph) {
        const own = feature.exec(path)?.[0];
        if (own === undefined) continue;
        for (const target of targets) {
            const other = feature.exec(target)?.[0];
            if (other !== undefined && other !== own) crossings.push(`${path} -> ${target}`);
        }
    }
    return crossings;
}

/** Exports of the product by their users. */
export interface Unused {
    /** Named in no other file. */
    readonly unnamed: readonly string[];
    /** Named in tests, by no other program, library or tool, and not used in their own file either. */
    readonly onlyTests: readonly string[];
}

/**
 * The exported names, as `file#name`, that are unused or used only by tests; a re-exported name counts by its users.
 */
export function unusedExports(sources: Sources, packages: Packages): Unused {
    const users = new Map<string, Set<"product" | "tests">>();
    const note = (path: string, name: string, user: "product" | "tests"): void => {
        const source = sources.get(path);
        if (source === undefined) return;
        if (name === "*") {
            for (const one of [...source.exports, ...source.passedOn.map(({ as }) => as)]) note(path, one, user);
            return;
        }
        const passed = source.passedOn.find(({ as }) => as === name);
        if (passed !== undefined) {
            const from = resolveImport(path, passed.from, packages);
            if (from !== undefined) note(from, passed.name, user);
            return;
        }
        const key = `${path}#${name}`;
        users.set(key, (users.get(key) ?? new Set<"product" | "tests">()).add(user));
    };
    for (const { path, imports } of sources.values()) {
        for (const { from, names } of imports) {
            const target = resolveImport(path, from, packages);
            if (target !== undefined)
                for (const name of names)
                    note(
                        target,
                        name,
                        isProduct(path) || (path.startsWith("tools/") && !path.includes("/test/"))
                            ? "product"
                            : "tests",
                    );
        }
    }
    const declared = [...sources.values()]
        .filter(({ path }) => isProduct(path))
        .flatMap((source) =>
            source.exports.filter((name) => !isPartOfAnother(source, name)).map((name) => `${source.path}#${name}`),
        );
    return {
        unnamed: declared.filter((key) => !users.has(key)),
        onlyTests: declared.filter((key) => users.get(key)?.has("product") === false && !isUsedAtHome(sources, key)),
    };
}

function isUsedAtHome(sources: Sources, key: string): boolean {
    const [path = "", name = ""] = key.split("#");
    return (sources.get(path)?.text.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0) > 1;
}

/** A type in the declaration of another export of its file belongs to that export: its users use the type. */
function isPartOfAnother({ tree }: Source, name: string): boolean {
    const others = tree.statements.filter(
        (statement) => isExported(statement) && !declaredNames(statement).includes(name),
    );
    const isType = tree.statements.some(
        (one) => (ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one)) && one.name.text === name,
    );
    return isType && others.some((statement) => new RegExp(`\\b${name}\\b`).test(statement.getText()));
}
