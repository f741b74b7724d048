import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject } from "@antrea/cni";

const extensions = [".conf", ".conflist", ".json"];

/**
 * Whether the container runtime calls this plugin first: the configuration in the CNI folder that it reads, the first by
 * name, has a plugin of type antrea. Else a meta plugin calls it, and calls again for each network of a Pod. False if
 * there is none that can be read.
 */
export async function isCalledFirst(folder: string): Promise<boolean> {
    try {
        const names = (await readdir(folder)).sort();
        const first = names.find((name) => extensions.some((extension) => name.endsWith(extension)));
        if (first === undefined) return false;
        const document: unknown = JSON.parse(await readFile(join(folder, first), "utf8"));
        if (!isJsonObject(document)) return false;
        const plugins: readonly unknown[] = Array.isArray(document["plugins"]) ? document["plugins"] : [document];
        return plugins.some((plugin) => isJsonObject(plugin) && plugin["type"] === "antrea");
    } catch {
        return false;
    }
}
