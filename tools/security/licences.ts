// Checks the licence of every package that ships in an image or in a program: each needs one, and it must permit this
// use. Debian's packages are listed in the SBOM of the image and not checked: Debian has done that.
//   licences.ts
import parseExpression from "spdx-expression-parse";
import satisfies from "spdx-satisfies";
import { packagesToBundle, pinned, nodeProgram, shipped } from "./sbom/contents.ts";
import { sorted, type Part } from "./sbom/part.ts";
import { daemons } from "./programs.ts";

/** Licences that require only their text and the authors' names with the program. */
export const allowed: readonly string[] = [
    "0BSD",
    "Apache-2.0",
    "BlueOak-1.0.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Python-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/** The problem with a package's licence; undefined if there is none. */
export function problemOf({ licences }: Pick<Part, "licences">, list: readonly string[] = allowed): string | undefined {
    if (licences.length === 0) return "it names no licence";
    for (const licence of licences) {
        try {
            parseExpression(licence);
        } catch {
            return `its licence ${JSON.stringify(licence)} is no SPDX expression`;
        }
        if (!satisfies(licence, list)) return `its licence ${licence} is not one of ${list.join(", ")}`;
    }
    return undefined;
}

/** Everything that ships, except Debian's packages. */
export async function allShipped(): Promise<readonly Part[]> {
    const versions = pinned();
    const parts: Part[] = [nodeProgram(versions)];
    for (const daemon of daemons) parts.push(...shipped(daemon, await packagesToBundle(daemon), versions));
    return sorted(parts);
}

if (import.meta.main) {
    const parts = await allShipped();
    const wrong = parts.flatMap((part) => {
        const problem = problemOf(part);
        return problem === undefined
            ? []
            : [`${part.name} ${part.version} (in ${(part.of ?? ["images"]).join(", ")}): ${problem}`];
    });
    for (const line of wrong) process.stdout.write(`${line}\n`);
    process.stdout.write(
        wrong.length === 0
            ? `${parts.length} packages and programs ship, all with a licence of the list\n`
            : "  next: take another package, or add the licence to tools/security/licences.ts if it asks for nothing more\n",
    );
    process.exitCode = wrong.length === 0 ? 0 : 1;
}
