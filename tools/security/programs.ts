import { join } from "node:path";
import { build, type Metafile } from "esbuild";

/** The repository. */
export const root: string = join(import.meta.dirname, "../..");

/** The programs with their own ServiceAccount, antrea-NAME. */
export const daemons = ["agent", "controller", "webhook"] as const;
export type Daemon = (typeof daemons)[number];

/**
 * The files with code in the bundle of a daemon, relative to the repository: unused imports are left out, as in the
 * bundle of the image.
 */
export async function bundledFiles(daemon: Daemon): Promise<readonly string[]> {
    const { metafile } = await build({
        absWorkingDir: root,
        entryPoints: [`apps/${daemon}/src/main.ts`],
        outfile: "bundle.mjs",
        write: false,
        bundle: true,
        metafile: true,
        format: "esm",
        platform: "node",
        target: "node24",
        minifySyntax: true,
        external: ["koffi"],
        define: { ANTREA_VERSION: '""' },
        logLevel: "error",
    });
    return filesIn(metafile);
}

/** The same for an existing bundle, from esbuild's metafile. */
export function filesIn(metafile: Pick<Metafile, "outputs">): readonly string[] {
    return Object.values(metafile.outputs).flatMap(({ inputs }) =>
        Object.entries(inputs)
            .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
            .map(([file]) => file),
    );
}
