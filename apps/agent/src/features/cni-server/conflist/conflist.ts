import { randomUUID } from "node:crypto";
import { chmod, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AntreaError } from "@antrea/errors";

class ConflistError extends AntreaError<"WRITE_FAILED"> {}

/** What is older was left by a writer that was killed. */
const leftoverMs = 60_000;

export interface ConflistOptions {
    /** The Node's /etc/cni/net.d as mounted here. */
    readonly folder: string;
    readonly name: string;
    readonly content: string;
    /** File mode, 0o644 by default in the chart (`cni.configFileMode`). */
    readonly mode: number;
}

/**
 * The CNI network configuration of the Node. A container runtime takes its presence as "the network is ready", so it is
 * written when the agent is, and taken away when the agent leaves the Node for good.
 */
export class Conflist {
    readonly #options: ConflistOptions;

    constructor(options: ConflistOptions) {
        this.#options = options;
    }

    /** Writes the file whole or not at all; does nothing when it is as it should be. */
    async write(): Promise<void> {
        const { folder, name, content, mode } = this.#options;
        const path = join(folder, name);
        await this.#removeParts(leftoverMs);
        if (await isAsItShouldBe(path, content, mode)) return;
        // A name that no runtime reads (they take .conf, .conflist, .json), in the same folder so that rename is atomic.
        const part = join(folder, `.${name}.${randomUUID()}.part`);
        try {
            await writeFile(part, content, { mode });
            // The mode of a new file is subject to the umask.
            await chmod(part, mode);
            await rename(part, path);
        } catch (cause) {
            await rm(part, { force: true }).catch(() => undefined);
            throw new ConflistError(
                "WRITE_FAILED",
                "environment",
                `could not write ${path}; is the Node's CNI folder mounted writable?`,
                { cause },
            );
        }
    }

    async remove(): Promise<void> {
        await rm(join(this.#options.folder, this.#options.name), { force: true });
        await this.#removeParts(0);
    }

    /** Removes what writers that were killed have left; nobody writes as long as this. What cannot be removed harms nobody. */
    async #removeParts(minAgeMs: number): Promise<void> {
        const { folder, name } = this.#options;
        for (const part of await partsOf(folder, name).catch(() => [])) {
            const age = await stat(part).then(
                ({ mtimeMs }) => Date.now() - mtimeMs,
                () => -1,
            );
            if (age >= minAgeMs) await rm(part, { force: true }).catch(() => undefined);
        }
    }
}

/** The paths of files that a writer of this configuration has begun. */
export async function partsOf(folder: string, name: string): Promise<readonly string[]> {
    const names = await readdir(folder);
    return names.filter((one) => one.startsWith(`.${name}.`) && one.endsWith(".part")).map((one) => join(folder, one));
}

async function isAsItShouldBe(path: string, content: string, mode: number): Promise<boolean> {
    try {
        return (await readFile(path, "utf8")) === content && ((await stat(path)).mode & 0o7777) === mode;
    } catch {
        return false;
    }
}

const defaultName = "antrea";

/** The name of the network in the content of 10-antrea.conflist; "antrea" where none can be read. */
export function networkNameOf(content: string): string {
    try {
        const { name } = JSON.parse(content) as { readonly name?: unknown };
        return typeof name === "string" && name !== "" ? name : defaultName;
    } catch {
        // No JSON, or null: no runtime calls with that.
        return defaultName;
    }
}

/**
 * The content of 10-antrea.conflist when the chart gave none: our plugin, then portmap for hostPorts and bandwidth for
 * the limits that Pods are annotated with, unless they are left out. Version 1.0.0, which every container runtime knows; one that finds 1.1.0 asks for STATUS, and an older one
 * refuses the result of each ADD.
 */
export function conflistText(options: { readonly portmap: boolean; readonly bandwidth: boolean }): string {
    const plugins = [
        { type: "antrea" },
        ...(options.portmap ? [{ type: "portmap", capabilities: { portMappings: true } }] : []),
        ...(options.bandwidth ? [{ type: "bandwidth", capabilities: { bandwidth: true } }] : []),
    ];
    return `${JSON.stringify({ cniVersion: "1.0.0", name: defaultName, plugins }, undefined, 2)}\n`;
}
