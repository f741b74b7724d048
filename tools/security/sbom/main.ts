// Writes the SBOM of an image: the bundled packages, and the Debian packages in its root.
//   main.ts agent|controller|webhook ROOT OUTPUT     ROOT: folder with usr/local/bin/node, var/lib/dpkg/status,
//                                                    etc/os-release and usr/share/doc/*/copyright of the image
//   SOURCE_DATE_EPOCH                                the creation time to record; none without it
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SecurityError } from "../error.ts";
import { daemons, root } from "../programs.ts";
import { nodeProgram, packagesInBundle, pinned, shipped } from "./contents.ts";
import { debianPackages } from "./debian.ts";
import { sbom } from "./document.ts";

const [app, folder, output] = process.argv.slice(2);
const daemon = daemons.find((one) => one === app);
if (daemon === undefined || folder === undefined || output === undefined) {
    throw new SecurityError("USAGE", "caller", `use: main.ts ${daemons.join("|")} ROOT OUTPUT`);
}
const versions = pinned();
const parts = [
    ...shipped(daemon, packagesInBundle(daemon), versions),
    nodeProgram(versions, join(folder, "usr/local/bin/node")),
    ...debianPackages(folder),
];
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
const epoch = process.env["SOURCE_DATE_EPOCH"];
mkdirSync(dirname(output), { recursive: true });
writeFileSync(
    output,
    sbom(parts, { name: `antrea-${daemon}`, version, epoch: epoch === undefined ? undefined : Number(epoch) }),
);
process.stdout.write(`${output}: ${parts.length} parts\n`);
