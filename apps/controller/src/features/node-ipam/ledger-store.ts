import { setTimeout as delay } from "node:timers/promises";
import { configMaps, isKubeError, type ApiClient, type ConfigMap, type KubeLogger } from "@antrea/kube";
import { NodeIpamError } from "./errors.ts";
import { decodeLedger, encodeLedger } from "./ledger.ts";
import { type Ledger } from "./types.ts";

/** Dependencies of LedgerStore. */
export interface LedgerStoreComponents {
    readonly api: Pick<ApiClient, "find" | "create" | "update">;
    readonly logger: KubeLogger;
}

/** Options of LedgerStore. */
export interface LedgerStoreOptions {
    readonly namespace: string;
    /** Of the ConfigMap, in `namespace`; created if it does not exist. */
    readonly name: string;
    /** Unique for each term of leadership: written into the ledger, which thereby fences earlier holders. */
    readonly holder: string;
    /** Returns the state to record; called once for each write, not for its retries. */
    readonly snapshot: () => Ledger;
    /** Called when the snapshot is durable, with that very object and the duration of the write; must not throw. */
    readonly written: (ledger: Ledger, seconds: number) => void;
    /** Aborts all requests, at the end of the term. */
    readonly signal: AbortSignal;
}

const writeTimeoutMs = 5_000;
const maxTries = 5;

/**
 * The ledger in its ConfigMap. It fences two controllers: a new holder writes its own name into it, and every later
 * write of the previous one fails, because the resourceVersion has changed. Since a subnet is recorded before it is
 * written to the Node, the new leader knows every subnet that the previous one can have assigned. `takeOver` comes
 * first, then any `commit`.
 */
export class LedgerStore {
    readonly #components: LedgerStoreComponents;
    readonly #options: LedgerStoreOptions;
    #resourceVersion: string | undefined;
    #sequence = 0;
    #lost: NodeIpamError | undefined;
    #waiting: PromiseWithResolvers<void> | undefined;
    #writing = false;

    constructor(components: LedgerStoreComponents, options: LedgerStoreOptions) {
        this.#components = components;
        this.#options = options;
    }

    /** True once another controller has taken over. */
    get lost(): boolean {
        return this.#lost !== undefined;
    }

    /**
     * Reads the ledger and becomes its holder; repeats that while others write it. Parts that cannot be decoded are
     * logged and dropped. Rejects with KubeError, or if the signal aborts; may be called again then.
     */
    async takeOver(): Promise<Ledger> {
        const { namespace, name, signal, holder } = this.#options;
        const { api, logger } = this.#components;
        for (;;) {
            const found = await api.find(configMaps, { namespace, name }, { signal });
            const { ledger, stamp, unreadable } = decodeLedger(found ?? {});
            if (unreadable > 0) logger.warn("parts of the ledger cannot be read", { name, unreadable });
            try {
                this.#sequence = stamp.sequence + 1;
                await this.#put(ledger, found?.metadata?.resourceVersion);
                logger.info("took over the ledger", {
                    name,
                    entries: ledger.entries.length,
                    before: stamp.holder,
                    holder,
                });
                return ledger;
            } catch (error) {
                // Written by the previous holder meanwhile, or the answer was lost: read again.
                if (!isKubeError(error, "CONFLICT", "ALREADY_EXISTS", "NOT_FOUND") && !unknownOutcome(error))
                    throw error;
                await delay(50, undefined, { signal });
            }
        }
    }

    /**
     * Resolves when the state at the time of the call, or a later one, is recorded. Calls during a write share the next
     * one. Rejects with NodeIpamError LEDGER_LOST permanently, with LEDGER_FULL or KubeError (`ABORTED` at the end of
     * the term) for this write, which may have taken effect.
     */
    async commit(): Promise<void> {
        if (this.#lost !== undefined) throw this.#lost;
        this.#waiting ??= Promise.withResolvers<void>();
        const { promise } = this.#waiting;
        if (!this.#writing) void this.#writeAll();
        return promise;
    }

    async #writeAll(): Promise<void> {
        this.#writing = true;
        // Yields once, so that all callers of this tick share the first write.
        await new Promise((resolve) => setImmediate(resolve));
        for (let batch = this.#waiting; batch !== undefined; batch = this.#waiting) {
            this.#waiting = undefined;
            try {
                await this.#write();
                batch.resolve();
            } catch (error) {
                batch.reject(error);
            }
        }
        this.#writing = false;
    }

    async #write(): Promise<void> {
        if (this.#lost !== undefined) throw this.#lost;
        const began = performance.now();
        const ledger = this.#options.snapshot();
        this.#sequence += 1;
        for (let tries = 1; ; tries += 1) {
            try {
                await this.#put(ledger, this.#resourceVersion);
                break;
            } catch (error) {
                const mustRead = isKubeError(error, "CONFLICT", "ALREADY_EXISTS", "NOT_FOUND") || unknownOutcome(error);
                if (!mustRead || tries >= maxTries || this.#options.signal.aborted) throw error;
                if (await this.#landed()) break;
            }
        }
        this.#options.written(ledger, (performance.now() - began) / 1000);
    }

    /** Whether a write with an unknown outcome took effect. Throws LEDGER_LOST. */
    async #landed(): Promise<boolean> {
        const { namespace, name, signal, holder } = this.#options;
        const found = await this.#components.api.find(
            configMaps,
            { namespace, name },
            { signal, timeoutMs: writeTimeoutMs },
        );
        this.#resourceVersion = found?.metadata?.resourceVersion;
        // Deleted manually: it is written again from memory.
        if (found === undefined) return false;
        const { stamp } = decodeLedger({ data: { ...found.data, nodes: "" } });
        if (stamp.holder !== holder) {
            this.#lost = new NodeIpamError(
                "LEDGER_LOST",
                "environment",
                `ConfigMap ${namespace}/${name} is now held by ${JSON.stringify(stamp.holder)}; this controller stops assigning`,
            );
            throw this.#lost;
        }
        return stamp.sequence === this.#sequence;
    }

    async #put(ledger: Ledger, resourceVersion: string | undefined): Promise<void> {
        const { namespace, name, signal, holder } = this.#options;
        const content = encodeLedger(ledger, { holder, sequence: this.#sequence });
        const labels = { "app.kubernetes.io/name": "antrea", "app.kubernetes.io/component": "antrea-controller" };
        const o = { signal, timeoutMs: writeTimeoutMs };
        let written: ConfigMap;
        if (resourceVersion === undefined) {
            written = await this.#components.api.create(
                configMaps,
                { metadata: { namespace, name, labels }, ...content },
                o,
            );
        } else {
            const metadata = { namespace, name, labels, resourceVersion };
            written = await this.#components.api.update(configMaps, { metadata, ...content }, o);
        }
        this.#resourceVersion = written.metadata?.resourceVersion;
    }
}

function unknownOutcome(error: unknown): boolean {
    return isKubeError(error) && error.outcomeUnknown;
}
