import { randomUUID } from "node:crypto";
import { chmod, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AntreaError } from "@antrea/errors";

class ConflistError extends AntreaError<"WRITE_FAILED"> {}

/** Older temporary files were left by a writer that was killed. */
const leftoverMs = 60_000;

/** Settings of Conflist. */
export interface ConflistOptions {
    /** The Node's /etc/cni/net.d as mounted here. */
    readonly folder: string;
    /** File name: "10-antrea.conflist". */
    readonly name: string;
    /** The text of the file, JSON: `conflistText`, or what the chart provides. */
    readonly content: string;
    /** File mode, permission bits; 0o644 by default in the chart (`cni.configFileMode`). */
    readonly mode: number;
}

/**
 * The CNI network configuration of the Node. A container runtime treats its presence as "the network is ready", so it
 * is written when the agent is ready, and removed when the agent leaves the Node permanently.
 */
export class Conflist {
    readonly #options: ConflistOptions;

    constructor(options: ConflistOptions) {
        this.#options = options;
    }

    /**
     * Writes the file atomically; does nothing if content and mode are right. Rejects with ConflistError
     * `WRITE_FAILED`: the earlier file stays.
     */
    async write(): Promise<void> {
        const { folder, name, content, mode } = this.#options;
        const path = join(folder, name);
        await this.#removeParts(leftoverMs);
        if (await isAsItShouldBe(path, content, mode)) return;
        // A name that no runtime reads (they read .conf, .conflist, .json), in the same directory so that rename is
        // atomic.
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

    /** Removes the file, if there is one, and all temporary files. Rejects with the error of rm(2) for the file. */
    async remove(): Promise<void> {
        await rm(join(this.#options.folder, this.#options.name), { force: true });
        await this.#removeParts(0);
    }

    /**
     * Removes temporary files of writers that were killed; no write takes as long as the minimum age. Failures are
     * harmless.
     */
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

/**
 * The paths of temporary files of the configuration with this file name, also those being written. Rejects with the
 * error of readdir(3), such as `ENOENT`, if the folder cannot be read.
 */
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

/** The network name in the content of 10-antrea.conflist; "antrea" if it cannot be parsed or has none. */
export function networkNameOf(content: string): string {
    try {
        const { name } = JSON.parse(content) as { readonly name?: unknown };
        return typeof name === "string" && name !== "" ? name : defaultName;
    } catch {
        // Not JSON, or null: no runtime calls with such a configuration.
        return defaultName;
    }
}

/**
 * The content of 10-antrea.conflist (JSON) if the chart provides none: our plugin, then portmap for hostPorts and
 * bandwidth for the limits in Pod annotations, each if its option is true. Version 1.0.0, which every container runtime
 * supports; with 1.1.0 newer ones call STATUS, and older ones reject the result of each ADD.
 */
export function conflistText(options: { readonly portmap: boolean; readonly bandwidth: boolean }): string {
    const plugins = [
        { type: "antrea" },
        ...(options.portmap ? [{ type: "portmap", capabilities: { portMappings: true } }] : []),
        ...(options.bandwidth ? [{ type: "bandwidth", capabilities: { bandwidth: true } }] : []),
    ];
    return `${JSON.stringify({ cniVersion: "1.0.0", name: defaultName, plugins }, undefined, 2)}\n`;
}
