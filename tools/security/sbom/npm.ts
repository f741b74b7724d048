import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { SecurityError } from "../error.ts";
import { root } from "../programs.ts";
import { type Part } from "./part.ts";

interface PackageJson {
    readonly name?: string;
    readonly version?: string;
    readonly license?: unknown;
    readonly licenses?: readonly { readonly type?: string }[];
}

interface Lock {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>;
}

let lock: Lock | undefined;

/**
 * The npm packages that contain the files; files of the project itself are in none. Paths are relative to the
 * repository.
 */
export function packagesOf(files: readonly string[], of: string): readonly Part[] {
    const folders = new Set<string>();
    for (const file of files) {
        const at = file.lastIndexOf("node_modules/");
        if (at >= 0) folders.add(packageFolder(resolve(root, file)));
    }
    return [...folders].map((folder) => partOf(folder, of));
}

/** The package in a folder of node_modules. */
export function packageIn(name: string, of: string): Part {
    return partOf(join(root, "node_modules", name), of);
}

/** The nearest parent folder whose package.json has a name and a version: some inner ones only set the module type. */
function packageFolder(file: string): string {
    for (let folder = dirname(file); folder.startsWith(join(root, "node_modules")); folder = dirname(folder)) {
        if (!existsSync(join(folder, "package.json"))) continue;
        const { name, version } = readPackage(folder);
        if (name !== undefined && version !== undefined) return folder;
    }
    throw new SecurityError("UNREADABLE", "environment", `${file} lies in no npm package; run: npm ci`);
}

function readPackage(folder: string): PackageJson {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageJson;
}

function partOf(folder: string, of: string): Part {
    const { name = "", version = "", license, licenses = [] } = readPackage(folder);
    // before npm 2 there were lists of licences, any of which may be chosen
    const old = licenses.flatMap(({ type }) => type ?? []).join(" OR ");
    const licence = typeof license === "string" ? license : old;
    return {
        kind: "npm",
        name,
        version,
        licences: licence === "" ? [] : [licence],
        purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
        hashes: integrityOf(folder),
        of: [of],
    };
}

/** Of the published package (Subresource Integrity). */
function integrityOf(folder: string): Readonly<Record<string, string>> {
    lock ??= JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
    const { integrity } = lock.packages[relative(root, folder)] ?? {};
    const found = /^sha512-([A-Za-z0-9+/=]+)$/.exec(integrity ?? "")?.[1];
    return found === undefined ? {} : { "SHA-512": Buffer.from(found, "base64").toString("hex") };
}
