import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError, messageOf } from "@antrea/errors";
import type { Logger } from "@antrea/runtime";
import { UplinkError } from "./errors.ts";
import type { Fault, Step } from "./types.ts";
import { formatEntry, parseEntry, type JournalEntry } from "./journal-codec.ts";

/** The file name of the journal. */
export const journalFile = "uplink.json";

/**
 * The journal of the move, `uplink.json` in `folder`: one entry, replaced atomically and synced to disk before the call
 * returns. Without an entry the NIC is not moved. Calls must not overlap.
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

    /** As last read or written; undefined before that and if there is none. */
    get entry(): JournalEntry | undefined {
        return this.#entry;
    }

    /** Path of the journal file. */
    get path(): string {
        return join(this.#folder, journalFile);
    }

    /**
     * Reads the journal; undefined if there is none, or, which is logged, it cannot be read or is not valid. Never
     * rejects.
     */
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

    /**
     * Makes a step after the entry for it, with this `step`, is synced to disk; resolves as `effect`. Rejects with
     * UplinkError `JOURNAL_UNWRITABLE` before the effect, or as the effect does.
     */
    async make<T>(step: Step, entry: JournalEntry, effect: () => Promise<T>): Promise<T> {
        await this.#fault?.(step, "before");
        await this.write({ ...entry, step });
        await this.#fault?.(step, "written");
        const made = await effect();
        await this.#fault?.(step, "made");
        return made;
    }

    /**
     * Like `make`, for a step of the rollback: it is made even if the journal cannot be written. Rejects only as the
     * effect does.
     */
    async makeAnyway(step: Step, entry: JournalEntry, effect: () => Promise<void>): Promise<void> {
        await this.#fault?.(step, "before");
        await this.writeAnyway({ ...entry, step });
        await this.#fault?.(step, "written");
        await effect();
        await this.#fault?.(step, "made");
    }

    /** Writes the entry; a failure is logged, and the entry is kept in memory for this process. Never rejects. */
    async writeAnyway(entry: JournalEntry): Promise<void> {
        try {
            await this.write(entry);
        } catch (error) {
            this.#warn("the journal of the uplink cannot be written: what comes is done without it", error);
            this.#entry = entry;
        }
    }

    /** Writes the entry atomically (temporary file, fsync, rename); rejects with UplinkError `JOURNAL_UNWRITABLE`. */
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

    /** Removes the journal, if there is one; rejects with UplinkError `JOURNAL_UNWRITABLE`. */
    async remove(): Promise<void> {
        try {
            await rm(this.path, { force: true });
            await this.#syncFolder();
        } catch (cause) {
            if (!isSystemError(cause, "ENOENT")) throw this.#failed("remove", cause);
        }
        this.#entry = undefined;
    }

    /**
     * Removes the journal; a failure is only logged: it refers to links that no longer exist then, which the next start
     * detects.
     */
    async removeAnyway(): Promise<void> {
        try {
            await this.remove();
        } catch (error) {
            this.#warn("the journal of the uplink cannot be removed", error);
            this.#entry = undefined;
        }
    }

    /** A rename is durable only after its directory is synced. */
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
