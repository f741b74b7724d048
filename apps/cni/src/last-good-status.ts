import { isSystemError, messageOf } from "@antrea/errors";

/** The functions of `node:fs` in use, with its errors. */
export interface StatusFiles {
    /** The content of a file; throws if it cannot be read. */
    readFileSync(path: string, encoding: "utf8"): string;
    writeFileSync(path: string, text: string, options: { readonly mode: number }): void;
    renameSync(from: string, to: string): void;
    rmSync(path: string, options: { readonly force: boolean }): void;
}

/** The file and process that LastGoodStatus uses. */
export interface LastGoodStatusOptions {
    /** Path of the file that keeps the time between runs; its directory must exist. */
    readonly file: string;
    /** Part of the name of the temporary file, `FILE.PID`: runs may be concurrent. */
    readonly pid: number;
}

/**
 * How long STATUS succeeds after a successful answer although the agent is not available, in seconds. A restarting
 * agent is unavailable for 6 to 9 s, longer on a busy Node.
 */
export const graceS = 60;

const pattern = /^([0-9a-f-]{36}) (\d+\.\d\d)\n$/;

/**
 * The time of the last successful STATUS, kept in a file between runs. The time is relative to the boot, stored with
 * the boot id: it is independent of the system clock, and a time of an earlier boot is ignored. The methods never
 * throw: without the file STATUS has no grace period.
 */
export class LastGoodStatus {
    readonly #files: StatusFiles;
    readonly #options: LastGoodStatusOptions;

    constructor(files: StatusFiles, options: LastGoodStatusOptions) {
        this.#files = files;
        this.#options = options;
    }

    /** Stores the current time as that of a successful answer, by replacing the file; a failure is ignored. */
    keep(): void {
        const { file, pid } = this.#options;
        const part = `${file}.${pid}`;
        try {
            const { boot, uptimeS } = this.#now();
            this.#files.writeFileSync(part, `${boot} ${uptimeS.toFixed(2)}\n`, { mode: 0o600 });
            this.#files.renameSync(part, file);
        } catch {
            // `check` reports that no time is stored.
            this.#remove(part);
        }
    }

    /**
     * Whether the last successful answer is more recent than `graceS` seconds, and a description of it for the error
     * message. Reads the file, writes nothing.
     */
    check(): { readonly recent: boolean; readonly text: string } {
        const { file } = this.#options;
        try {
            const kept = pattern.exec(this.#files.readFileSync(file, "utf8"));
            const { boot, uptimeS } = this.#now();
            if (kept !== null && kept[1] !== boot) {
                return { recent: false, text: "there was no good answer since the Node started" };
            }
            const ageS = uptimeS - Number(kept?.[2]);
            // Also NaN, and a time in the future.
            if (!(ageS >= 0)) return { recent: false, text: `${file} holds no time of a good answer` };
            // In hundredths: floating point does not represent them exactly.
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
            // In a read-only directory nothing was written.
        }
    }
}
