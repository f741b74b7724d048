import { readdirSync, readFileSync } from "node:fs";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError, messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import type { DeviceId } from "../../platform/pod-interfaces/index.ts";
import { formatStored, parseStored, type KeptLink, type StoredLink } from "./kept-link.ts";

/** Settings of KeptLinks. */
export interface KeptLinksOptions {
    /** A directory of the Node that outlives the process. */
    readonly stateFolder: string;
    /** Of this boot (/proc/sys/kernel/random/boot_id): after another one the Node has other links. */
    readonly bootId: string;
}

/** Below the folder of the agent's state. */
const folderName = "virtual-functions";
const ending = ".json";

/**
 * What the links of devices were before Pods got them: a file for each device, which no Pod can write, replaced atomically.
 * Reading is synchronous, and never fails: a file that cannot be read, or is damaged, counts as none and is logged, once
 * until it changes. Calls that write about one device must not overlap.
 */
export class KeptLinks {
    readonly #logger: Logger;
    readonly #folder: string;
    readonly #bootId: string;
    readonly #logged = new Set<string>();

    constructor(components: { readonly logger: Logger }, { stateFolder, bootId }: KeptLinksOptions) {
        this.#logger = components.logger;
        this.#folder = join(stateFolder, folderName);
        this.#bootId = bootId;
    }

    /** The path of the file of a device. */
    fileOf({ bus, id }: DeviceId): string {
        // A slash would lead out of the folder; a colon is in each PCI address.
        const name = encodeURIComponent(id.toWellFormed()).replaceAll("%3A", ":");
        return join(this.#folder, `${bus}-${name}${ending}`);
    }

    /** What is kept of the link of a device in this boot; undefined if nothing is. */
    read(device: DeviceId): KeptLink | undefined {
        return this.#ofThisBoot(this.#stored(this.fileOf(device)));
    }

    /** All links that are kept in this boot, in the order of their files. */
    list(): readonly KeptLink[] {
        return this.#files().flatMap((path) => this.#ofThisBoot(this.#stored(path)) ?? []);
    }

    /** Keeps a link, in the place of what is kept for its device. Rejects with the error of node:fs. */
    async write(kept: KeptLink): Promise<void> {
        const path = this.fileOf(kept.device);
        await mkdir(this.#folder, { recursive: true });
        // Not synced to disk: it is of use until the next boot only.
        await writeFile(`${path}.new`, formatStored({ ...kept, bootId: this.#bootId }), { mode: 0o600 });
        await rename(`${path}.new`, path);
        this.#logged.delete(path);
    }

    /** Removes what is kept for a device, if anything is. Rejects with the error of node:fs. */
    async remove(device: DeviceId): Promise<void> {
        await rm(this.fileOf(device), { force: true });
    }

    /** Removes what earlier boots have left. Never rejects: what cannot be removed is logged. */
    async removeEarlierBoots(): Promise<void> {
        for (const path of this.#files()) {
            const stored = this.#stored(path);
            if (stored === undefined || stored.bootId === this.#bootId) continue;
            try {
                await rm(path, { force: true });
            } catch (error) {
                this.#warn(path, "what is kept of a virtual function since an earlier boot cannot be removed", error);
            }
        }
    }

    #files(): readonly string[] {
        try {
            const names = readdirSync(this.#folder).filter((name) => name.endsWith(ending));
            return names.sort().map((name) => join(this.#folder, name));
        } catch (error) {
            if (!isSystemError(error, "ENOENT")) this.#warn(this.#folder, "folder cannot be read", error);
            return [];
        }
    }

    #stored(path: string): StoredLink | undefined {
        let text: string;
        try {
            text = readFileSync(path, "utf8");
        } catch (error) {
            if (!isSystemError(error, "ENOENT"))
                this.#warn(path, "what a virtual function was before a Pod got it cannot be read", error);
            return undefined;
        }
        const stored = parseStored(text);
        if (stored !== undefined && this.fileOf(stored.device) === path) return stored;
        this.#warn(path, "what a virtual function was before a Pod got it is damaged", "not the file of a device");
        return undefined;
    }

    #ofThisBoot(stored: StoredLink | undefined): KeptLink | undefined {
        if (stored?.bootId !== this.#bootId) return undefined;
        const { bootId: _, ...kept } = stored;
        return kept;
    }

    /** A job reads all files each minute. */
    #warn(path: string, message: string, reason: unknown): void {
        if (this.#logged.has(path)) return;
        this.#logged.add(path);
        this.#logger.warn(message, { file: path, reason: messageOf(reason) });
    }
}
