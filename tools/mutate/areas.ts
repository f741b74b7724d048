import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";

/** A part of the code with its own score, judged by the unit tests of its project. */
export interface Area {
    readonly name: string;
    readonly project: string;
    readonly folder: string;
    /** The minimum score in percent: raise it when the tests improve. */
    readonly least: number;
}

/** `folder`: below `src`; all of it by default. */
function library(
    name: string,
    { folder, least = 85 }: { readonly folder?: string; readonly least?: number } = {},
): Area {
    const project = `libs/${name}`;
    const [title, below] = folder === undefined ? [project, "src"] : [`${project} ${folder}`, `src/${folder}`];
    return { name: title, project, folder: `${project}/${below}`, least };
}

function part(
    app: string,
    folder: string,
    { name = folder, least = 85 }: { readonly name?: string; readonly least?: number } = {},
): Area {
    return { name: `${app} ${name}`, project: `apps/${app}`, folder: `apps/${app}/src/${folder}`, least };
}

// 82 is for areas with a score near 85 (docs/testing.md): with 100 mutants it is known only to within 7 points.
/** All areas with a score. */
export const areas: readonly Area[] = [
    library("ip"),
    library("ipam"),
    part("agent", "features/ip-pools", { name: "ip-pools", least: 82 }),
    part("agent", "features/pod-network", { name: "pod-network" }),
    library("openflow", { folder: "codec" }),
    library("openflow", { folder: "connection", least: 82 }),
    library("ovsdb", { folder: "codec" }),
    library("ovsdb", { folder: "session", least: 82 }),
    library("netlink", { folder: "message" }),
    part("cni", "http2"),
    library("flows"),
    library("services"),
    library("kube"),
];

/** The TypeScript files of an area, without fakes for tests. */
export function sourcesOf({ folder }: Area, root: string): readonly string[] {
    return filesUnder(folder, root).filter((file) => file.endsWith(".ts") && !file.includes("/testing/"));
}

/** The unit test files of a project. */
export function testsOf(project: string, root: string): readonly string[] {
    return filesUnder(project, root).filter((file) => file.endsWith(".test.ts"));
}

function filesUnder(folder: string, root: string): readonly string[] {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !/\/(node_modules|dist)(\/|$)/.test(entry.parentPath))
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
        .toSorted();
}

/**
 * The files that differ from the merge base with `base`, committed or not. Throws git's error if the base does not
 * exist.
 */
export function changedSince(base: string, root: string): readonly string[] {
    const git = (...args: string[]): string[] =>
        execFileSync("git", args, { cwd: root, encoding: "utf8" })
            .split("\n")
            .filter((line) => line !== "");
    const [since = base] = git("merge-base", base, "HEAD");
    return [...git("diff", "--name-only", since), ...git("ls-files", "--others", "--exclude-standard")];
}
