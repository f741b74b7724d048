import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Part } from "./part.ts";

/** The installed packages of a Debian root: `var/lib/dpkg/status`, and their copyright files. */
export function debianPackages(folder: string): readonly Part[] {
    const status = readFileSync(join(folder, "var/lib/dpkg/status"), "utf8");
    const release = fieldIn(join(folder, "etc/os-release"), "VERSION_ID");
    const distro = release === undefined ? "" : `&distro=debian-${release}`;
    return status
        .split(/\n\n+/)
        .map(fieldsOf)
        .filter((fields) => fields.get("Status") === "install ok installed")
        .map((fields) => {
            const [name = "", version = "", arch = "all"] = ["Package", "Version", "Architecture"].map((key) =>
                fields.get(key),
            );
            const escaped = encodeURIComponent(version).replaceAll("%3A", ":").replaceAll("~", "%7E");
            return {
                kind: "debian",
                name,
                version,
                licences: licencesOf(join(folder, "usr/share/doc", name, "copyright")),
                purl: `pkg:deb/debian/${encodeURIComponent(name)}@${escaped}?arch=${arch}${distro}`,
                hashes: {},
            };
        });
}

/** The fields of one paragraph (deb822(5)); continuation lines are left out. */
function fieldsOf(paragraph: string): ReadonlyMap<string, string> {
    const fields = paragraph.split("\n").map((line) => /^([A-Za-z0-9-]+): ?(.*)$/.exec(line));
    return new Map(fields.flatMap((found) => (found === null ? [] : [[found[1] ?? "", found[2] ?? ""] as const])));
}

/** The short names in a machine-readable copyright file (DEP-5); none for other files, which are prose. */
function licencesOf(file: string): readonly string[] {
    if (!existsSync(file)) return [];
    const text = readFileSync(file, "utf8");
    if (!/^Format: .*copyright-format/m.test(text)) return [];
    const names = [...text.matchAll(/^License: *(\S.*)$/gm)].map((found) => (found[1] ?? "").trim());
    return [...new Set(names)].sort();
}

function fieldIn(file: string, key: string): string | undefined {
    if (!existsSync(file)) return undefined;
    return new RegExp(`^${key}="?([^"\n]*)"?$`, "m").exec(readFileSync(file, "utf8"))?.[1];
}
