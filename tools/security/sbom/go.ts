import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SecurityError } from "../error.ts";
import { type Part } from "./part.ts";

/** A Go program and its modules, as its linker recorded them (`go version -m`). */
export function goModules(options: {
    readonly program: string;
    readonly name: string;
    /** The folder of the Go toolchain that built it. */
    readonly goHome: string;
}): readonly Part[] {
    const { program, name, goHome } = options;
    const go = join(goHome, "bin/go");
    let text: string;
    try {
        text = execFileSync(go, ["version", "-m", program], { encoding: "utf8" });
    } catch (cause) {
        throw new SecurityError(
            "PROGRAM_FAILED",
            "environment",
            `cannot read the modules of ${program}; run: make image`,
            {
                cause,
            },
        );
    }
    const modules = [...text.matchAll(/^\t(?:mod|dep)\t(\S+)\t(\S+)/gm)].map(([, path = "", version = ""]) => ({
        path,
        version,
    }));
    const [version = ""] = /(?<=: go)\S+/.exec(text) ?? [];
    const [main = ""] = /(?<=^\tpath\t)\S+/m.exec(text) ?? [];
    const cache = execFileSync(go, ["env", "GOMODCACHE"], { encoding: "utf8" }).trim();
    const hash = createHash("sha256").update(readFileSync(program)).digest("hex");
    return [
        {
            kind: "go",
            name: "stdlib",
            version,
            licences: ["BSD-3-Clause"],
            purl: `pkg:golang/stdlib@${version}`,
            hashes: {},
            of: [name],
        },
        ...modules.map(({ path, version }, at): Part => ({
            kind: "go",
            name: at === 0 ? main : path,
            version,
            licences: licenceIn(join(cache, `${escaped(path)}@${version}`)),
            // the first is the program's own module, which may contain other programs
            purl: `pkg:golang/${path}@${version}${at === 0 ? `#${main.slice(path.length + 1)}` : ""}`,
            hashes: at === 0 ? { "SHA-256": hash } : {},
            of: [name],
        })),
    ];
}

/** In the module cache an upper-case letter of a path is written as "!" and the lower-case letter. */
function escaped(path: string): string {
    return path.replaceAll(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);
}

const signs: readonly (readonly [sign: RegExp, licence: string])[] = [
    [/Apache License\s+Version 2\.0/, "Apache-2.0"],
    [/Mozilla Public License,? [Vv]ersion 2\.0/, "MPL-2.0"],
    [/Permission is hereby granted, free of charge/, "MIT"],
    [/Redistribution and use[\s\S]*Neither the name/, "BSD-3-Clause"],
    [/Redistribution and use/, "BSD-2-Clause"],
    [/Permission to use, copy, modify, and(\/or)? distribute/, "ISC"],
];

/** Determined by the text of the licence file, as Go modules have no other declaration. */
function licenceIn(folder: string): readonly string[] {
    if (!existsSync(folder)) return [];
    const file = readdirSync(folder).find((name) => /^(LICEN[CS]E|COPYING)(\.(txt|md))?$/i.test(name));
    if (file === undefined) return [];
    const text = readFileSync(join(folder, file), "utf8");
    return signs
        .filter(([sign]) => sign.test(text))
        .slice(0, 1)
        .map(([, licence]) => licence);
}
