import { isErrorOf } from "@antrea/errors";
import { OvsdbError } from "../codec/error.ts";
import { badMessage, readArray, readBoolean } from "../codec/reader.ts";
import { type DatabaseSchema } from "../codec/schema.ts";
import { decodeTableUpdates, type MonitoredTables, type TableRowUpdate } from "../codec/update.ts";
import { readUuidText } from "../codec/uuid-text.ts";
import { type RowCache, type RowChange } from "./cache.ts";
import { type RpcConnection } from "./rpc-connection.ts";

const monitorId = "rows";
const zeroUuid = "00000000-0000-0000-0000-000000000000";

/** The last transaction that a cache contains, and the version of the schema with which its rows were decoded. */
export interface ResumePoint {
    readonly schemaVersion: string;
    readonly transactionId: string;
}

// Newest first: resumable, then with differences only, then RFC 7047.
const methods = ["monitor_cond_since", "monitor_cond", "monitor"] as const;
type MonitorMethod = (typeof methods)[number];

const notificationOf = {
    monitor_cond_since: "update3",
    monitor_cond: "update2",
    monitor: "update",
} as const satisfies Record<MonitorMethod, string>;

/**
 * The monitor of one connection: it updates the cache with the server's rows once (`start`), then with each
 * notification (`notified`). `monitored` are columns of `schema`, for the tables of the cache.
 */
export class Monitor {
    readonly #cache: RowCache;
    readonly #monitored: MonitoredTables;
    readonly #schema: DatabaseSchema;
    #method: MonitorMethod | undefined;
    #transactionId = zeroUuid;

    constructor(cache: RowCache, schema: DatabaseSchema, monitored: MonitoredTables) {
        this.#cache = cache;
        this.#schema = schema;
        this.#monitored = monitored;
    }

    /** Where the next connection can resume; undefined when the server keeps no history (a standalone database). */
    get resumePoint(): ResumePoint | undefined {
        if (this.#transactionId === zeroUuid) return undefined;
        return { schemaVersion: this.#schema.version, transactionId: this.#transactionId };
    }

    /**
     * Requests the rows by `monitor_cond_since`, `monitor_cond` or `monitor`, the first that the server supports.
     * `receive` gets the changes of the cache, before any later update is applied, and whether the server resumed at
     * `resume`.
     *
     * @throws OvsdbError of the request; `BAD_MESSAGE`, `BAD_VALUE` for a wrong answer
     */
    async start(
        connection: RpcConnection,
        resume: ResumePoint | undefined,
        timeoutMs: number,
        receive: (changes: readonly RowChange[], resumed: boolean) => void,
    ): Promise<void> {
        const tables = Object.fromEntries(
            Array.from(this.#monitored, ([table, columns]) => [table, [{ columns: [...columns.keys()] }]]),
        );
        const since = resume?.schemaVersion === this.#schema.version ? resume.transactionId : zeroUuid;
        for (const method of methods) {
            const params = [this.#schema.name, monitorId, tables, ...(method === "monitor_cond_since" ? [since] : [])];
            const take = (result: unknown): void => receive(...this.#takeSnapshot(method, result));
            try {
                await connection.request(method, params, take, { timeoutMs, changes: false });
                return;
            } catch (error) {
                const unknown = isErrorOf(OvsdbError, error, "UNKNOWN_METHOD");
                if (!unknown || method === "monitor") throw error;
            }
        }
    }

    /**
     * Applies a notification to the cache and returns the changes; undefined for one that is no update of this monitor.
     *
     * @throws OvsdbError `BAD_MESSAGE`, `BAD_VALUE`
     */
    notified(method: string, params: readonly unknown[]): readonly RowChange[] | undefined {
        if (this.#method === undefined || method !== notificationOf[this.#method] || params[0] !== monitorId) {
            return undefined;
        }
        const resumable = this.#method === "monitor_cond_since";
        const updates = this.#decode(params[resumable ? 2 : 1], this.#method);
        const changes = this.#cache.apply(updates, this.#monitored);
        if (resumable) this.#transactionId = readUuidText(params[1], `params[1] of ${method}`);
        return changes;
    }

    #takeSnapshot(method: MonitorMethod, result: unknown): [changes: readonly RowChange[], resumed: boolean] {
        let [found, transactionId, body] = [false, zeroUuid, result];
        if (method === "monitor_cond_since") {
            const parts = readArray(result, "result");
            if (parts.length !== 3) throw badMessage("result", "must have 3 elements", parts.length);
            found = readBoolean(parts[0], "result[0]");
            transactionId = readUuidText(parts[1], "result[1]");
            body = parts[2];
        }
        const updates = this.#decode(body, method);
        const changes = found ? this.#cache.apply(updates, this.#monitored) : this.#cache.replace(updates);
        this.#transactionId = transactionId;
        this.#method = method;
        return [changes, found];
    }

    #decode(body: unknown, method: MonitorMethod): readonly TableRowUpdate[] {
        return decodeTableUpdates(body, method === "monitor" ? "updates" : "updates2", this.#monitored);
    }
}
