import { existsSync } from "node:fs";
import { readdir, readFile, rm, rmdir } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { partsOf } from "../../features/cni-server/conflist/index.ts";

/** The agent's own plugin; the other plugins of the image are from the CNI project and may be used by others too. */
const ownPlugin = "antrea";

async function removeFile(path: string): Promise<readonly string[]> {
    if (!existsSync(path)) return [];
    await rm(path);
    return [path];
}

/**
 * Removes the network configuration with this file name, and temporary files of interrupted writes of it. Resolves with
 * the paths removed; [] if the directory does not exist. Rejects with the error of node:fs.
 */
export async function removeConfiguration(folder: string, name: string): Promise<readonly string[]> {
    if (!existsSync(folder)) return [];
    const removed: string[] = [];
    for (const path of [join(folder, name), ...(await partsOf(folder, name))])
        removed.push(...(await removeFile(path)));
    return removed;
}

/**
 * Removes a directory except for these names in it; one that is a mount point is only emptied. Resolves with its path,
 * with those of the removed entries if the directory remains, or with [] if it does not exist. Rejects with the error
 * of node:fs.
 */
export async function removeFolder(folder: string, kept: readonly string[]): Promise<readonly string[]> {
    if (!existsSync(folder)) return [];
    const names = (await readdir(folder)).filter((name) => !kept.includes(name));
    for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
    const isRemoved = await rmdir(folder).then(
        () => true,
        () => false,
    );
    return isRemoved ? [folder] : names.map((name) => join(folder, name));
}

/**
 * Removes the binaries installed by the init container: those of `cniBinFolder` with a name in `ownBinFolder`, and
 * unfinished copies of them. `antrea` is always removed; another one that differs from that of this image belongs to
 * another owner, and one that another network configuration names is in use: both are kept, which is printed. Resolves
 * with the paths removed. Rejects with the error of node:fs.
 */
export async function removeBinaries({
    cniBinFolder,
    ownBinFolder,
    cniConfFolder,
    print,
}: {
    readonly cniBinFolder: string;
    readonly ownBinFolder: string;
    readonly cniConfFolder: string;
    readonly print: (line: string) => void;
}): Promise<readonly string[]> {
    const others = await configurations(cniConfFolder);
    const removed: string[] = [];
    for (const name of await namesIn(ownBinFolder)) {
        const path = join(cniBinFolder, name);
        // Left by an installation that was killed.
        removed.push(...(await removeFile(join(cniBinFolder, `.${name}.new`))));
        if (!existsSync(path)) continue;
        if (name !== ownPlugin) {
            if (!(await readFile(path)).equals(await readFile(join(ownBinFolder, name)))) {
                print(`Kept ${path}: it is not the one of this image.`);
                continue;
            }
            const user = others.find(({ text }) => text.includes(`"${name}"`));
            if (user !== undefined) {
                print(`Kept ${path}: ${user.path} names it.`);
                continue;
            }
        }
        await rm(path);
        removed.push(path);
    }
    return removed;
}

/** Whether a directory exists and contains anything but these names. Rejects with the error of node:fs. */
export async function hasOther(folder: string, names: readonly string[]): Promise<boolean> {
    return (await namesIn(folder)).some((name) => !names.includes(name));
}

/**
 * Whether a process listens on a unix socket; false also if there is none at this path, or no permission. Never
 * rejects.
 */
export function isListening(path: string): Promise<boolean> {
    return new Promise((resolve) => {
        const socket = createConnection(path);
        const done = (answer: boolean): void => {
            socket.destroy();
            resolve(answer);
        };
        socket.once("connect", () => done(true)).once("error", () => done(false));
    });
}

/**
 * Path and text of each file in a Node's CNI configuration directory (.conf, .conflist, .json), in no defined order; []
 * if the directory does not exist. Rejects with the error of node:fs.
 */
export async function configurations(
    folder: string,
): Promise<readonly { readonly path: string; readonly text: string }[]> {
    const paths = (await namesIn(folder))
        .filter((name) => /\.(?:conf|conflist|json)$/.test(name))
        .map((name) => join(folder, name));
    return Promise.all(paths.map(async (path) => ({ path, text: await readFile(path, "utf8") })));
}

async function namesIn(folder: string): Promise<readonly string[]> {
    return existsSync(folder) ? readdir(folder) : [];
}
