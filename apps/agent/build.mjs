// Bundles the agent into one ESM file. koffi stays outside: its native part is loaded from beside the bundle.
import { readFileSync } from "node:fs";
import { build } from "esbuild";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

await build({
    entryPoints: [new URL("src/main.ts", import.meta.url).pathname],
    outfile: new URL("dist/antrea-agent.mjs", import.meta.url).pathname,
    bundle: true,
    platform: "node",
    target: "node24",
    format: "esm",
    minify: true,
    keepNames: true,
    sourcemap: "external",
    external: ["koffi"],
    define: { ANTREA_VERSION: JSON.stringify(version) },
    banner: {
        js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "warning",
});
