import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { messageOf } from "@antrea/errors";
import { isNetlinkError } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import { kernelSettings, type KernelSettings } from "../host.ts";

/** Settings of NodeSysctls: where it records changes, and for which boot. */
export interface NodeSysctlsOptions {
    /** A directory of the Node that outlives the process; created if it does not exist. */
    readonly folder: string;
    /** Of this boot (/proc/sys/kernel/random/boot_id): values recorded in another boot are not used. */
    readonly bootId: string;
}

interface Change {
    readonly before: string;
    readonly after: string;
}

const fileName = "sysctls.json";

/**
 * Sets Node-wide sysctls and records their previous values in a file (sysctls.json in `folder`), from which a clean-up,
 * in another process, restores them. The constructor reads nothing; a file that cannot be read counts as empty.
 */
export class NodeSysctls {
    readonly #logger: Logger;
    readonly #settings: KernelSettings;
    readonly #path: string;
    readonly #bootId: string;

    constructor(
        components: { readonly logger: Logger; readonly settings?: KernelSettings },
        { folder, bootId }: NodeSysctlsOptions,
    ) {
        this.#logger = components.logger;
        this.#settings = components.settings ?? kernelSettings;
        this.#path = join(folder, fileName);
        this.#bootId = bootId;
    }

    /**
     * Sets a sysctl unless it has the value already. `key` is its path below /proc/sys, such as `net/ipv4/ip_forward`.
     * Throws NetlinkError like setSysctl. If the previous value cannot be recorded, logs a warning and sets it all the
     * same.
     */
    set(key: string, value: string): void {
        const before = this.#settings.get(key);
        if (before === value) return;
        this.#remember(key, { before, after: value });
        this.#settings.set(key, value);
        this.#logger.info("sysctl of the Node set", { sysctl: key, value, before });
    }

    /**
     * Restores the recorded sysctls that still have the agent's value. Returns their keys; [] if recorded in another
     * boot. One that no longer exists is skipped. Keeps the file. Throws NetlinkError; those before stay restored.
     */
    restore(): readonly string[] {
        return [...this.#read()].flatMap(([key, change]) => (this.#restoreOne(key, change) ? [key] : []));
    }

    /** The recorded sysctls of this boot that have the agent's value, by their keys. */
    held(): readonly string[] {
        return [...this.#read()].flatMap(([key, { after }]) => (this.#get(key) === after ? [key] : []));
    }

    /**
     * Restores one sysctl, if it was recorded in this boot and still has the agent's value; then it is recorded no more.
     * Throws NetlinkError.
     */
    undo(key: string): void {
        const changes = this.#read();
        const change = changes.get(key);
        if (change === undefined) return;
        const isRestored = this.#restoreOne(key, change);
        changes.delete(key);
        this.#write(key, changes);
        if (!isRestored) return;
        this.#logger.info("sysctl of the Node set back", { sysctl: key, value: change.before });
    }

    #restoreOne(key: string, { before, after }: Change): boolean {
        try {
            if (this.#get(key) !== after) return false;
            this.#settings.set(key, before);
            return true;
        } catch (error) {
            // The interface no longer exists.
            if (isNetlinkError(error, "ENOENT")) return false;
            throw error;
        }
    }

    #get(key: string): string | undefined {
        try {
            return this.#settings.get(key);
        } catch (error) {
            if (isNetlinkError(error, "ENOENT")) return undefined;
            throw error;
        }
    }

    #remember(key: string, change: Change): void {
        const changes = this.#read();
        // The first recorded value is the Node's own, whatever followed.
        changes.set(key, { before: changes.get(key)?.before ?? change.before, after: change.after });
        this.#write(key, changes);
    }

    /** @param key the one that has changed */
    #write(key: string, changes: ReadonlyMap<string, Change>): void {
        const text = JSON.stringify({ bootId: this.#bootId, changes: Object.fromEntries(changes) });
        try {
            mkdirSync(dirname(this.#path), { recursive: true });
            writeFileSync(`${this.#path}.new`, text, { mode: 0o600 });
            renameSync(`${this.#path}.new`, this.#path);
        } catch (error) {
            this.#logger.warn(
                "the record of what sysctls were before cannot be written; a clean-up goes by the one before",
                {
                    sysctl: key,
                    reason: messageOf(error),
                },
            );
        }
    }

    #read(): Map<string, Change> {
        try {
            const found: unknown = JSON.parse(readFileSync(this.#path, "utf8"));
            if (!isRecord(found) || found["bootId"] !== this.#bootId || !isRecord(found["changes"])) return new Map();
            return new Map(
                Object.entries(found["changes"]).flatMap(([key, change]) => (isChange(change) ? [[key, change]] : [])),
            );
        } catch {
            return new Map();
        }
    }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isChange(value: unknown): value is Change {
    return isRecord(value) && typeof value["before"] === "string" && typeof value["after"] === "string";
}
