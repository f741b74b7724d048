import { isSystemError, messageOf } from "@antrea/errors";

/** What is used of `node:fs`. */
export interface StatusFiles {
    /** The text of a file; throws when it cannot be read. */
    readFileSync(path: string, encoding: "utf8"): string;
    writeFileSync(path: string, text: string, options: { readonly mode: number }): void;
    renameSync(from: string, to: string): void;
    rmSync(path: string, options: { readonly force: boolean }): void;
}

export interface LastGoodStatusOptions {
    /** Where the time stands between two runs. */
    readonly file: string;
    /** Makes the name of what is written before it is complete. */
    readonly pid: number;
}

/** How long STATUS stays good after a good answer. An agent that is replaced is away for 6 to 9 s, on a busy Node for more. */
export const graceS = 60;

const pattern = /^([0-9a-f-]{36}) (\d+\.\d\d)\n$/;

/**
 * The time of the last good answer to STATUS, kept in a file from one run to the next. It is the time since the Node
 * started, beside the id of that start: setting the Node's clock changes nothing, and what an earlier boot left does not
 * count. The methods never throw: without the file STATUS has no grace, and is no worse for that.
 */
export class LastGoodStatus {
    readonly #files: StatusFiles;
    readonly #options: LastGoodStatusOptions;

    constructor(files: StatusFiles, options: LastGoodStatusOptions) {
        this.#files = files;
        this.#options = options;
    }

    /** Keeps the present moment as that of a good answer. */
    keep(): void {
        const { file, pid } = this.#options;
        const part = `${file}.${pid}`;
        try {
            const { boot, uptimeS } = this.#now();
            this.#files.writeFileSync(part, `${boot} ${uptimeS.toFixed(2)}\n`, { mode: 0o600 });
            this.#files.renameSync(part, file);
        } catch {
            // `look` says why there is no time.
            this.#remove(part);
        }
    }

    /** Whether the last good answer is younger than `graceS`, and in words for a user what is known of it. */
    look(): { readonly recent: boolean; readonly text: string } {
        const { file } = this.#options;
        try {
            const kept = pattern.exec(this.#files.readFileSync(file, "utf8"));
            const { boot, uptimeS } = this.#now();
            if (kept !== null && kept[1] !== boot) {
                return { recent: false, text: "there was no good answer since the Node started" };
            }
            const ageS = uptimeS - Number(kept?.[2]);
            // Also NaN, and a time that is still to come.
            if (!(ageS >= 0)) return { recent: false, text: `${file} holds no time of a good answer` };
            // Hundredths, which floating point does not hold.
            const recent = Math.round(ageS * 100) < graceS * 100;
            return { recent, text: `the last good answer was ${Math.floor(ageS + 0.001)} s ago` };
        } catch (error) {
            const text = isSystemError(error, "ENOENT")
                ? `there is no ${file} with the time of a good answer`
                : `${file} cannot be read: ${messageOf(error)}`;
            return { recent: false, text };
        }
    }

    #now(): { readonly boot: string; readonly uptimeS: number } {
        const boot = this.#files.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
        return { boot, uptimeS: Number.parseFloat(this.#files.readFileSync("/proc/uptime", "utf8")) };
    }

    #remove(path: string): void {
        try {
            this.#files.rmSync(path, { force: true });
        } catch {
            // In a folder that is not writable nothing was written.
        }
    }
}
