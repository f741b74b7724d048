// Bundles a daemon into one ESM file, apps/NAME/dist/antrea-NAME.mjs. koffi stays outside: its native part is loaded
// from beside the bundle. What is in it stands in antrea-NAME.meta.json beside it, for the bill of materials.
//   build-daemon.mjs NAME
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const root = new URL("..", import.meta.url).pathname;
const app = `${root}apps/${process.argv[2]}`;
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

// @kubernetes/client-node does not say that its generated classes have no side effects; without them the bundle is a
// third smaller and takes less memory.
const dropUnused = {
    name: "drop-unused",
    setup(pluginBuild) {
        pluginBuild.onResolve({ filter: /.*/ }, async ({ path, kind, resolveDir, importer, pluginData }) => {
            if (pluginData === "drop-unused") return undefined;
            const found = await pluginBuild.resolve(path, { kind, resolveDir, importer, pluginData: "drop-unused" });
            return found.path.includes("/@kubernetes/client-node/") ? { ...found, sideEffects: false } : found;
        });
    },
};

const { metafile } = await build({
    absWorkingDir: root,
    metafile: true,
    entryPoints: [`${app}/src/main.ts`],
    outfile: `${app}/dist/antrea-${process.argv[2]}.mjs`,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    minify: true,
    keepNames: true,
    sourcemap: "external",
    legalComments: "linked",
    external: ["koffi"],
    define: { ANTREA_VERSION: JSON.stringify(version) },
    banner: {
        js: "import { createRequire as bundledRequire } from 'node:module'; const require = bundledRequire(import.meta.url);",
    },
    plugins: [dropUnused],
    logLevel: "warning",
});
writeFileSync(`${app}/dist/antrea-${process.argv[2]}.meta.json`, JSON.stringify(metafile));
