import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError, messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import { UplinkError } from "./errors.ts";
import type { Fault, Step } from "./types.ts";
import { formatEntry, parseEntry, type JournalEntry } from "./journal-codec.ts";

/** The name of the journal in its folder. */
const journalFile = "uplink.json";

/**
 * The journal of the move: one entry, replaced as a whole, on disk before the call returns. No entry says that the NIC
 * is as the Node had it.
 */
export class Journal {
    readonly #logger: Logger;
    readonly #fault: Fault | undefined;
    readonly #folder: string;
    #entry: JournalEntry | undefined;

    constructor(components: { readonly logger: Logger; readonly fault?: Fault }, options: { readonly folder: string }) {
        this.#logger = components.logger;
        this.#fault = components.fault;
        this.#folder = options.folder;
    }

    /** As last read or written. */
    get entry(): JournalEntry | undefined {
        return this.#entry;
    }

    get path(): string {
        return join(this.#folder, journalFile);
    }

    async read(): Promise<JournalEntry | undefined> {
        let text: string;
        try {
            text = await readFile(this.path, "utf8");
        } catch (cause) {
            if (!isSystemError(cause, "ENOENT"))
                this.#warn("uplink journal cannot be read; recovering from link state", cause);
            return (this.#entry = undefined);
        }
        this.#entry = parseEntry(text);
        if (this.#entry === undefined) {
            this.#logger.warn("uplink journal is corrupt; recovering from link state", {
                file: this.path,
            });
        }
        return this.#entry;
    }

    /** Makes a step once it is on disk that it is about to be made. */
    async make<T>(step: Step, entry: JournalEntry, effect: () => Promise<T>): Promise<T> {
        await this.#fault?.(step, "before");
        await this.write({ ...entry, step });
        await this.#fault?.(step, "written");
        const made = await effect();
        await this.#fault?.(step, "made");
        return made;
    }

    /** The same for a step that brings the Node its NIC back: it is made also when the disk is full. */
    async makeAnyway(step: Step, entry: JournalEntry, effect: () => Promise<void>): Promise<void> {
        await this.#fault?.(step, "before");
        await this.writeAnyway({ ...entry, step });
        await this.#fault?.(step, "written");
        await effect();
        await this.#fault?.(step, "made");
    }

    /** The entry counts for this process at least. */
    async writeAnyway(entry: JournalEntry): Promise<void> {
        try {
            await this.write(entry);
        } catch (error) {
            this.#warn("the journal of the uplink cannot be written: what comes is done without it", error);
            this.#entry = entry;
        }
    }

    async write(entry: JournalEntry): Promise<void> {
        const draft = `${this.path}.new`;
        try {
            await mkdir(this.#folder, { recursive: true });
            await using file = await open(draft, "w", 0o600);
            await file.writeFile(formatEntry(entry));
            await file.sync();
            await rename(draft, this.path);
            await this.#syncFolder();
        } catch (cause) {
            throw this.#failed("write", cause);
        }
        this.#entry = entry;
    }

    async remove(): Promise<void> {
        try {
            await rm(this.path, { force: true });
            await this.#syncFolder();
        } catch (cause) {
            if (!isSystemError(cause, "ENOENT")) throw this.#failed("remove", cause);
        }
        this.#entry = undefined;
    }

    /** A journal that cannot be removed tells of links that are gone: the next start sees that. */
    async removeAnyway(): Promise<void> {
        try {
            await this.remove();
        } catch (error) {
            this.#warn("the journal of the uplink cannot be removed", error);
            this.#entry = undefined;
        }
    }

    /** A new name is on disk when its folder is. */
    async #syncFolder(): Promise<void> {
        await using folder = await open(this.#folder, "r");
        await folder.sync();
    }

    #warn(message: string, cause: unknown): void {
        this.#logger.warn(message, { file: this.path, reason: messageOf(cause) });
    }

    #failed(what: "write" | "remove", cause: unknown): UplinkError {
        return new UplinkError(
            "JOURNAL_UNWRITABLE",
            "environment",
            `cannot ${what} ${this.path}: without it a move of the uplink cannot be undone after a crash; see that the folder is a writable hostPath`,
            { cause },
        );
    }
}
