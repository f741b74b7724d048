import { rmSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AntreaError } from "@antrea/errors";
import { maxLineBytes } from "./line.ts";
import { LineSplitter } from "./line-splitter.ts";

/** Settings of JournalFile. */
export interface JournalFileOptions {
    /** A directory of the Node that outlives the process; created if it does not exist. */
    readonly folder: string;
    /** The file is never longer, in bytes. */
    readonly maxBytes: number;
}

const fileName = "services.journal";
/** What is encoded or decoded between two turns of the event loop: about a millisecond of work. */
const chunkBytes = 64 << 10;

/** - `TOO_LARGE`: the file is longer than the limit */
class JournalFileError extends AntreaError<"TOO_LARGE"> {}

/**
 * The file of the journal, `services.journal` in `folder`, readable for root only. Rejects with errors of node:fs. Calls
 * must not overlap.
 */
export class JournalFile {
    readonly path: string;
    readonly #maxBytes: number;
    /** What this process has left; -1 if it has not replaced the file yet. */
    #size = -1;

    constructor({ folder, maxBytes }: JournalFileOptions) {
        this.path = pathIn(folder);
        this.#maxBytes = maxBytes;
    }

    /** Length in bytes, as this process has left the file; negative if it has not replaced it yet. */
    get size(): number {
        return this.#size;
    }

    /**
     * Calls `onLine` with each line of the file, without its end; none if there is no file. The line is valid during the
     * call. Rejects also with JournalFileError `TOO_LARGE`.
     */
    async read(onLine: (line: Buffer) => void): Promise<void> {
        await using file = await open(this.path, "r");
        const { size } = await file.stat();
        if (size > this.#maxBytes) {
            const rule = `${this.path} has ${size} bytes, the limit is ${this.#maxBytes}: it is begun anew`;
            throw new JournalFileError("TOO_LARGE", "environment", rule);
        }
        const splitter = new LineSplitter({ maxBytes: maxLineBytes });
        const buffer = Buffer.allocUnsafe(chunkBytes);
        for (;;) {
            const { bytesRead } = await file.read(buffer, 0, chunkBytes);
            if (bytesRead === 0) break;
            for (const line of splitter.push(buffer.subarray(0, bytesRead))) onLine(line);
        }
        const last = splitter.end();
        if (last !== undefined) onLine(last);
    }

    /**
     * Appends texts and syncs them to disk. False if the file has no room, or is not as this process has left it: then
     * some may be missing, and it is to be replaced, as it is after a rejection.
     */
    async append(texts: Iterable<string>): Promise<boolean> {
        await using file = await open(this.path, "a", 0o600);
        if ((await file.stat()).size !== this.#size) return false;
        for (const chunk of chunksOf(texts)) {
            if (this.#size + chunk.length > this.#maxBytes) return false;
            await file.appendFile(chunk);
            this.#size += chunk.length;
        }
        await file.datasync();
        return true;
    }

    /**
     * Replaces the file by these texts, atomically (temporary file, fsync, rename): until it resolves, the file may be the
     * earlier one. They are read in small parts between which the event loop runs. Resolves with false if not all of them
     * fit. Rejects also with the reason of the signal if that aborts.
     */
    async replace(texts: Iterable<string>, signal: AbortSignal): Promise<boolean> {
        const draft = draftOf(this.path);
        try {
            await mkdir(dirname(this.path), { recursive: true });
            const { size, areAll } = await this.#writeDraft(draft, texts, signal);
            await rename(draft, this.path);
            this.#size = size;
            // A rename is durable only after its directory is synced.
            await using folder = await open(dirname(this.path), "r");
            await folder.sync();
            return areAll;
        } catch (error) {
            // It may be what fills the disk.
            await rm(draft, { force: true }).catch(() => undefined);
            throw error;
        }
    }

    async #writeDraft(
        path: string,
        texts: Iterable<string>,
        signal: AbortSignal,
    ): Promise<{ readonly size: number; readonly areAll: boolean }> {
        let [size, areAll] = [0, true];
        await using file = await open(path, "w", 0o600);
        for (const chunk of chunksOf(texts)) {
            signal.throwIfAborted();
            areAll = size + chunk.length <= this.#maxBytes;
            if (!areAll) break;
            await file.appendFile(chunk);
            size += chunk.length;
        }
        await file.sync();
        return { size, areAll };
    }
}

/** Removes the file, if there is one. Throws the error of node:fs. */
export function removeJournalFile(folder: string): void {
    const path = pathIn(folder);
    for (const one of [draftOf(path), path]) rmSync(one, { force: true });
}

function pathIn(folder: string): string {
    return join(folder, fileName);
}

function draftOf(path: string): string {
    return `${path}.new`;
}

function* chunksOf(texts: Iterable<string>): Generator<Buffer> {
    let [parts, length]: [string[], number] = [[], 0];
    for (const text of texts) {
        parts.push(text);
        length += text.length;
        if (length < chunkBytes) continue;
        yield Buffer.from(parts.join(""));
        [parts, length] = [[], 0];
    }
    if (length > 0) yield Buffer.from(parts.join(""));
}
