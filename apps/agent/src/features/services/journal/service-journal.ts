import { Backoff, sleep, type Clock } from "@antrea/async";
import { isAborted, isSystemError, messageOf } from "@antrea/errors";
import type { Prefix } from "@antrea/ip";
import type { Job, JobResult, Jobs, Logger } from "@antrea/runtime";
import type { ServiceIndex, ServiceObjects } from "@antrea/services";
import { inSlices } from "../../../platform/slices.ts";
import type { ProxyMetrics } from "../metrics.ts";
import type { JournalFile } from "./journal-file.ts";
import { formatLine, parseLine, type ServiceEntry, type Unreadable } from "./line.ts";

/** Dependencies of ServiceJournal. */
export interface ServiceJournalComponents {
    readonly file: JournalFile;
    readonly index: Pick<ServiceIndex, "keys" | "objects">;
    /** Those of the cluster; undefined while they are not known, or if the journal is to have none. */
    readonly serviceCidrs: () => readonly Prefix[] | undefined;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly metrics: Pick<ProxyMetrics, "journalLinesSkipped" | "journalWriteFailed">;
}

/** What the journal has of the cluster. */
export interface LastKnown {
    readonly services: readonly ServiceObjects[];
    /** Undefined if it has none. */
    readonly serviceCidrs: readonly Prefix[] | undefined;
}

/** Among the keys of Services, which all have a slash. */
const cidrsKey = "serviceCidrs";
/** Changes of this time are one write. */
const batchMs = 1_000;
const checkMs = 60_000;
/** A file that has grown to twice its size is replaced; not one that is shorter than this, in bytes. */
const minCompactedBytes = 256 << 10;
/** A file without room for all Services is replaced as often. */
const fullPauseMs = 600_000;

/**
 * The Services of the cluster with their EndpointSlices, and the Service CIDRs, in a file, for a start at which neither OVS nor the API server has
 * them. `read` is for that start. From `begin` on the file follows what the index has: the job `services/journal` replaces
 * the file, appends a line for each Service that changes, and replaces the file again when it is twice as long. A failure is
 * logged once, counted and retried, and leaves the earlier file.
 */
export class ServiceJournal {
    readonly #components: ServiceJournalComponents;
    readonly #changed = new Set<string>();
    /** By Service: the checksum of its last line. */
    readonly #written = new Map<string, number>();
    readonly #backoff = new Backoff({ initialMs: 5_000, maxMs: checkMs });
    #job: Job | undefined;
    #isReplacementDue = true;
    /** Length of the file when it was last replaced. */
    #replacedSize = 0;
    /** Nothing is written before this monotonic time. */
    #notBefore = -Infinity;
    /** Why not all Services are in the file. */
    #failure: unknown;

    constructor(components: ServiceJournalComponents) {
        this.#components = components;
    }

    /**
     * Resolves with what was last known; nothing if there is no file, or, which is logged, it cannot be read.
     * Lines that cannot be read are skipped, counted and logged. Never rejects. Not to be called after `begin`.
     */
    async read(): Promise<LastKnown> {
        const { file, logger, metrics } = this.#components;
        const known = new Map<string, ServiceObjects>();
        let serviceCidrs: readonly Prefix[] | undefined;
        const skipped: Record<Unreadable, number> = { damaged: 0, "other version": 0 };
        try {
            await file.read((line) => {
                const entry = parseLine(line);
                if (typeof entry === "string") skipped[entry] += 1;
                else if ("serviceCidrs" in entry) serviceCidrs = entry.serviceCidrs;
                else if (entry.known === undefined) known.delete(entry.key);
                else known.set(entry.key, entry.known);
            });
        } catch (error) {
            if (isSystemError(error, "ENOENT")) return { services: [], serviceCidrs };
            logger.warn("the journal of Services cannot be read", { file: file.path, reason: messageOf(error) });
        }
        const lines = skipped.damaged + skipped["other version"];
        if (lines > 0) {
            metrics.journalLinesSkipped(lines);
            logger.warn("lines of the journal of Services cannot be read and are skipped", {
                file: file.path,
                damaged: skipped.damaged,
                ofOtherVersion: skipped["other version"],
            });
        }
        return { services: [...known.values()], serviceCidrs };
    }

    /** To be called once, when the index has the Services of the API server. */
    begin(jobs: Pick<Jobs, "every">): void {
        this.#job = jobs.every("services/journal", checkMs, (signal) => this.#pass(signal));
    }

    /** Notes that a Service or its EndpointSlices may have changed. */
    changed(key: string): void {
        if (this.#job === undefined) return;
        this.#changed.add(key);
        this.#job.trigger();
    }

    /** Notes that the Service CIDRs may have changed. */
    cidrsChanged(): void {
        this.changed(cidrsKey);
    }

    /** Appends what has changed since the last write, once the jobs have ended. Never rejects. */
    async close(): Promise<void> {
        if (this.#job === undefined || this.#isReplacementDue) return;
        await this.#append().catch((error: unknown) => this.#failed(error));
    }

    async #pass(signal: AbortSignal): Promise<JobResult> {
        const { clock } = this.#components;
        if (!this.#isReplacementDue && this.#changed.size === 0) return { againInMs: undefined };
        if (clock.monotonic() >= this.#notBefore) {
            await sleep(batchMs, signal, clock);
            await this.#write(signal);
        }
        if (this.#failure === undefined) return { againInMs: undefined };
        const againInMs = Math.max(0, this.#notBefore - clock.monotonic());
        return { againInMs, failed: 1, error: this.#failure };
    }

    async #write(signal: AbortSignal): Promise<void> {
        try {
            if (!this.#isReplacementDue) await this.#append();
            if (this.#isReplacementDue) await this.#replace(signal);
        } catch (error) {
            if (isAborted(error)) throw error;
            this.#failed(error);
        }
    }

    async #append(): Promise<void> {
        const { file } = this.#components;
        const lines: string[] = [];
        const changed = [...this.#changed];
        this.#changed.clear();
        await inSlices(changed, (key) => lines.push(...this.#lineOf(key)));
        if (lines.length === 0) return;
        const isAppended = await file.append(lines);
        this.#isReplacementDue = !isAppended || file.size > Math.max(minCompactedBytes, 2 * this.#replacedSize);
    }

    async #replace(signal: AbortSignal): Promise<void> {
        const { clock, file, logger } = this.#components;
        this.#changed.clear();
        this.#written.clear();
        const areAll = await file.replace(this.#allLines(), signal);
        this.#replacedSize = file.size;
        if (!areAll) {
            if (this.#failure === undefined)
                logger.warn("the journal of Services has reached its limit; it lacks Services", { file: file.path });
            this.#notBefore = clock.monotonic() + fullPauseMs;
            this.#failure = "the limit of the file is reached";
            return;
        }
        this.#isReplacementDue = false;
        this.#backoff.reset();
        if (this.#failure !== undefined) logger.info("the journal of Services is complete again", { file: file.path });
        this.#failure = undefined;
    }

    *#allLines(): Generator<string> {
        for (const key of [cidrsKey, ...this.#components.index.keys]) yield* this.#lineOf(key);
    }

    /** The line of a Service or of the Service CIDRs, if it differs from the one before. */
    #lineOf(key: string): readonly string[] {
        if (key === cidrsKey) return this.#lineOfCidrs();
        const before = this.#written.get(key);
        const known = this.#components.index.objects(key);
        if (known === undefined && before === undefined) return [];
        const line = lineFor({ key, known });
        if (line === undefined || line.checksum === before) return [];
        if (known === undefined) this.#written.delete(key);
        else this.#written.set(key, line.checksum);
        return [line.text];
    }

    #lineOfCidrs(): readonly string[] {
        const serviceCidrs = this.#components.serviceCidrs();
        const line = serviceCidrs && formatLine({ serviceCidrs });
        if (line === undefined || line.checksum === this.#written.get(cidrsKey)) return [];
        this.#written.set(cidrsKey, line.checksum);
        return [line.text];
    }

    #failed(error: unknown): void {
        const { clock, file, logger, metrics } = this.#components;
        metrics.journalWriteFailed();
        // What a failed append has left of a line must not become the begin of the next one.
        this.#isReplacementDue = true;
        this.#notBefore = clock.monotonic() + this.#backoff.next();
        if (this.#failure === undefined) {
            logger.warn(
                "the journal of Services cannot be written; Services are served all the same, and it is retried",
                {
                    file: file.path,
                    reason: messageOf(error),
                },
            );
        }
        this.#failure = error;
    }
}

/** A Service whose line is too long is none for the journal. */
function lineFor(entry: ServiceEntry): ReturnType<typeof formatLine> {
    return formatLine(entry) ?? formatLine({ ...entry, known: undefined });
}
