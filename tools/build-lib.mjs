// Bundles each export of a library into its dist folder. A pure export is built for no platform at all, so that a
// Node.js built-in reached through any of its imports fails the build.
//   build-lib.mjs PROJECT-FOLDER
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { build } from "esbuild";

const root = resolve(process.argv[2]);
const project = JSON.parse(readFileSync(resolve(root, "package.json"), "utf8"));
const pureLayers = ["layer:wire", "layer:domain"];
const isPure = project.nx.tags.some((tag) => pureLayers.includes(tag));

for (const [name, entry] of Object.entries(project.exports)) {
    if (/^\.\/(testing|fuzzing)\b/.test(name)) continue;
    const platform = isPure && name === "." ? "neutral" : "node";
    await build({
        entryPoints: [resolve(root, entry)],
        outfile: resolve(root, "dist", `${name === "." ? "index" : name.slice(2)}.mjs`),
        bundle: true,
        platform,
        mainFields: ["module", "main"],
        target: "node24",
        format: "esm",
        external: platform === "node" ? ["koffi"] : [],
        logLevel: "warning",
    });
}
