import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "@antrea/cni";
import { messageOf } from "@antrea/errors";
import { NetworksError } from "./errors.ts";

const extensions = [".conf", ".conflist", ".json"];

/** Reads a folder; both reject with the error of node:fs. */
export interface CniFiles {
    /** The names in the folder, without those of folders, in any order. */
    list(folder: string): Promise<readonly string[]>;
    /** The text of a file. */
    read(path: string): Promise<string>;
}

/** The files of the Node on which the agent runs. */
export const nodeCniFiles: CniFiles = {
    list: async (folder) => {
        const entries = await readdir(folder, { withFileTypes: true });
        return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name);
    },
    read: (path) => readFile(path, "utf8"),
};

/**
 * Whether the container runtime calls this plugin first: of the configurations in the CNI folder that can be read, the first
 * by name has a plugin of type antrea. Else a meta plugin calls it, and calls again for each network of a Pod. False if
 * there is none. Rejects with NetworksError `NO_FOLDER` if the folder cannot be read.
 */
export async function isCalledFirst(folder: string, files: CniFiles = nodeCniFiles): Promise<boolean> {
    for (const name of await configurationsIn(folder, files)) {
        const plugins = await pluginsOf(join(folder, name), files);
        if (plugins.length > 0) return plugins.includes("antrea");
    }
    return false;
}

async function configurationsIn(folder: string, files: CniFiles): Promise<readonly string[]> {
    try {
        const names = await files.list(folder);
        return names.filter((name) => extensions.some((one) => name.endsWith(one))).sort();
    } catch (cause) {
        throw new NetworksError(
            "NO_FOLDER",
            `the CNI configurations in ${folder} cannot be read (${messageOf(cause)}), and with them who attaches networks; next: see that the folder of the Node is mounted into antrea-agent and readable`,
        );
    }
}

/** The types of the plugins of a configuration; none of a file that is no configuration, which runtimes skip. */
async function pluginsOf(path: string, files: CniFiles): Promise<readonly unknown[]> {
    try {
        const document: unknown = JSON.parse(await files.read(path));
        if (!isJsonObject(document)) return [];
        const plugins: readonly unknown[] = Array.isArray(document["plugins"]) ? document["plugins"] : [document];
        return plugins.flatMap((plugin) =>
            isJsonObject(plugin) && plugin["type"] !== undefined ? [plugin["type"]] : [],
        );
    } catch {
        return [];
    }
}
