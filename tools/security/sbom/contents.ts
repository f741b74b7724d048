import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { SecurityError } from "../error.ts";
import { bundledFiles, filesIn, root, type Daemon } from "../programs.ts";
import { goModules } from "./go.ts";
import { packageIn, packagesOf } from "./npm.ts";
import { type Part } from "./part.ts";

/** Packages with native code, which are copied into the agent's image completely. */
const native = ["koffi", "@koromix/koffi-linux-x64"];
/** The compiler of antrea-cni and antctl, which becomes part of them. */
const bun = "@oven/bun-linux-x64-baseline";

/** Versions and folders from the scripts of the project. */
export interface Pinned {
    readonly node: string;
    readonly goHome: string;
    /** The folder of the reference CNI plugins. */
    readonly cniPlugins: string;
}

/** Reads tools/versions.env and the cache location. */
export function pinned(): Pinned {
    const text = readFileSync(join(root, "tools/versions.env"), "utf8");
    const of = (key: string): string => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? "";
    const cache =
        process.env["ANTREA_CACHE"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "antrea");
    return {
        node: of("NODE_VERSION"),
        goHome: join(cache, `go-${of("GO_VERSION")}`),
        cniPlugins: join(cache, "programs", `cni-plugins-${of("CNI_PLUGINS_VERSION")}`),
    };
}

/** The npm packages in the bundle of a daemon, from its metafile. */
export function packagesInBundle(daemon: Daemon): readonly Part[] {
    const file = join(root, "apps", daemon, "dist", `antrea-${daemon}.meta.json`);
    if (!existsSync(file)) throw new SecurityError("UNREADABLE", "environment", `${file} is missing; run: make image`);
    const metafile = JSON.parse(readFileSync(file, "utf8")) as Parameters<typeof filesIn>[0];
    return packagesOf(filesIn(metafile), `antrea-${daemon}`);
}

/** The same for a bundle that is built now and not written: as many packages, or some more. */
export async function packagesToBundle(daemon: Daemon): Promise<readonly Part[]> {
    return packagesOf(await bundledFiles(daemon), `antrea-${daemon}`);
}

/** The packages in a program compiled by bun, with bun's runtime. */
export function packagesInBinary(app: "cni" | "antctl"): readonly Part[] {
    const name = app === "cni" ? "antrea-cni" : app;
    const folder = join(root, "apps", app);
    const work = mkdtempSync(join(tmpdir(), "sbom-"));
    try {
        const meta = join(work, "meta.json");
        const args = ["build", "--target=bun", "--minify", "src/main.ts", "--outfile", join(work, "main.js")];
        execFileSync(join(root, "node_modules", bun, "bin/bun"), [...args, `--metafile=${meta}`], {
            cwd: folder,
            stdio: ["ignore", "ignore", "pipe"],
        });
        const { inputs } = JSON.parse(readFileSync(meta, "utf8")) as {
            readonly inputs: Readonly<Record<string, unknown>>;
        };
        const files = Object.keys(inputs).map((file) => relative(root, resolve(folder, file)));
        return [...packagesOf(files, name), packageIn(bun, name)];
    } finally {
        rmSync(work, { recursive: true, force: true });
    }
}

/** Node.js, whose executable is in the image. */
export function nodeProgram({ node }: Pinned, program?: string): Part {
    const hash = program === undefined ? undefined : createHash("sha256").update(readFileSync(program)).digest("hex");
    return {
        kind: "program",
        name: "node",
        version: node,
        licences: ["MIT"],
        purl: `pkg:generic/node@${node}`,
        hashes: hash === undefined ? {} : { "SHA-256": hash },
    };
}

/** The reference CNI plugins in the agent's image. */
export const chainedPlugins = ["portmap", "bandwidth"] as const;

/** The contents of a daemon's image, except Debian's packages. */
export function shipped(daemon: Daemon, bundled: readonly Part[], versions: Pinned = pinned()): readonly Part[] {
    if (daemon !== "agent") return bundled;
    return [
        ...bundled,
        ...native.map((name) => packageIn(name, "antrea-agent")),
        ...packagesInBinary("cni"),
        ...packagesInBinary("antctl"),
        ...chainedPlugins.flatMap((name) =>
            goModules({ program: join(versions.cniPlugins, name), name, goHome: versions.goHome }),
        ),
    ];
}
