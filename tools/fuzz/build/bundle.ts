import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { build, transform, type Plugin } from "esbuild";
import { instrument } from "./instrument.ts";

/** The repository. */
export const root: string = join(import.meta.dirname, "../../..");

/** Folders of targets: those of the product, and the toys that test the engine. */
const folders = ["tools/fuzz/targets", "tools/fuzz/test/toys"];

/** The names of the targets and their files. */
export function targetFiles(): ReadonlyMap<string, string> {
    return new Map(
        folders.flatMap((folder) =>
            readdirSync(join(root, folder))
                .filter((file) => file.endsWith(".target.ts"))
                .map((file) => [basename(file, ".target.ts"), join(root, folder, file)] as const),
        ),
    );
}

/**
 * Bundles the worker with these targets, instrumenting the product's code; returns the worker's file of each target.
 */
export async function bundle(names: readonly string[], outdir: string): Promise<(name: string) => string> {
    const files = targetFiles();
    rmSync(outdir, { recursive: true, force: true });
    mkdirSync(outdir, { recursive: true });
    const targets = Object.fromEntries(names.map((name) => [name, files.get(name) ?? ""]));
    await build({
        entryPoints: Object.fromEntries(names.map((name) => [name, `fuzz-worker:${name}`])),
        outdir,
        outExtension: { ".js": ".mjs" },
        bundle: true,
        format: "esm",
        platform: "node",
        target: "node24",
        sourcemap: "linked",
        logLevel: "warning",
        external: ["koffi"],
        banner: {
            js: "import { createRequire as bundledRequire } from 'node:module'; const require = bundledRequire(import.meta.url);",
        },
        plugins: [workers(targets), probes],
    });
    return (name) => join(outdir, `${name}.mjs`);
}

/** The entry of each target: the probes first, since the other modules reserve theirs when they are loaded. */
function workers(targets: Readonly<Record<string, string>>): Plugin {
    return {
        name: "workers",
        setup(pluginBuild) {
            pluginBuild.onResolve({ filter: /^fuzz-worker:/ }, ({ path }) => ({
                path: path.slice("fuzz-worker:".length),
                namespace: "fuzz-worker",
            }));
            pluginBuild.onLoad({ filter: /.*/, namespace: "fuzz-worker" }, ({ path }) => ({
                contents: `
                    import "./tools/fuzz/engine/probes.ts";
                    import { target } from ${JSON.stringify(targets[path])};
                    import { serve } from "./tools/fuzz/engine/worker.ts";
                    await serve(target);`,
                resolveDir: root,
                loader: "js",
            }));
        },
    };
}

const instrumented = /^(libs|apps)\/[^/]+\/src\/.*\.ts$|^tools\/fuzz\/test\/toys\//;

const probes: Plugin = {
    name: "probes",
    setup(pluginBuild) {
        pluginBuild.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
            const file = relative(root, path);
            if (!instrumented.test(file)) return undefined;
            const source = await readFile(path, "utf8");
            const plain = await transform(source, {
                loader: "ts",
                target: "node24",
                sourcefile: path,
                sourcemap: "inline",
                tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
            });
            return { contents: instrument(plain.code, file), loader: "js" };
        });
    },
};
