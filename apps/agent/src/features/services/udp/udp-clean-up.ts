import { AntreaError, isErrorOf } from "@antrea/errors";
import type { CtFlush } from "@antrea/openflow";
import type { ServedService } from "@antrea/services";
import { UnixctlError } from "../../../platform/ovs/datapath/index.ts";
import { udpConnections } from "./conntrack-dump.ts";
import { flushesOf, StaleConnections } from "./stale-connections.ts";

/** OVS walks all connections for each flush by part of a tuple; from this number on reading them once is less. */
const singleFlushes = 10;
/** Fewer connections than the userspace datapath skips in so many flushes of half of its table. */
const maxTries = 8;

/** - `STALE_LEFT`: connections to endpoints that stopped serving are still there after eight flushes */
class UdpCleanUpError extends AntreaError<"STALE_LEFT"> {}

/** Dependencies of UdpCleanUp. */
export interface UdpCleanUpComponents {
    /** Removes connections from the datapath; rejects with OpenFlowError. */
    readonly flush: (flushes: readonly CtFlush[], signal: AbortSignal) => Promise<void>;
    /** The connections of Pods, as `dpctl/dump-conntrack` prints them; rejects with UnixctlError. */
    readonly dump: (signal: AbortSignal) => Promise<readonly string[]>;
    /** What OVS has of Services, and what it may have already. */
    readonly possible: () => Iterable<ServedService>;
    readonly onFlushed: (requests: number) => void;
}

/**
 * Removes UDP connections from the datapath that lead to endpoints that stopped serving: they have no end, so that their
 * clients would wait for answers as long as they send. Its owner repeats `pass`.
 */
export class UdpCleanUp {
    readonly #components: UdpCleanUpComponents;
    readonly #pending = new Map<string, CtFlush>();
    #isCheckDue = false;
    #hasBegun = false;

    constructor(components: UdpCleanUpComponents) {
        this.#components = components;
    }

    /** Keeps what the change of a Service, which OVS has, makes stale; true if `pass` is to be called. */
    changed(before: ServedService | undefined, after: ServedService | undefined): boolean {
        const flushes = flushesOf(before, after);
        for (const [text, flush] of flushes) this.#pending.set(text, flush);
        return this.#hasBegun && flushes.size > 0;
    }

    /**
     * To be called when OVS has all Services: the next pass compares all connections, since what changed while the agent was
     * away is not known. Before, those of Services that are not there yet would seem stale.
     */
    begin(): void {
        this.#hasBegun = true;
        this.#isCheckDue = true;
    }

    /**
     * Removes what is stale, and compares until nothing is; no effect before `begin`. Rejects with OpenFlowError, UnixctlError or, if connections are
     * left, UdpCleanUpError `STALE_LEFT`; the next pass continues.
     */
    async pass(signal: AbortSignal): Promise<void> {
        if (!this.#hasBegun || (this.#pending.size === 0 && !this.#isCheckDue)) return;
        const pending = [...this.#pending];
        this.#isCheckDue = true;
        if (pending.length < singleFlushes)
            await this.#flush(
                pending.map(([, flush]) => flush),
                signal,
            );
        try {
            await this.#flushStale(signal);
        } catch (error) {
            if (!isErrorOf(UnixctlError, error, "ANSWER_TOO_LONG")) throw error;
            // too many connections to read
            for (let tries = 0; tries < maxTries; tries += 1) {
                await this.#flush(
                    pending.map(([, flush]) => flush),
                    signal,
                );
            }
        }
        for (const [text, flush] of pending) if (this.#pending.get(text) === flush) this.#pending.delete(text);
        this.#isCheckDue = false;
    }

    async #flushStale(signal: AbortSignal): Promise<void> {
        for (let tries = 0; tries < maxTries; tries += 1) {
            const stale = await this.#stale(signal);
            if (stale.length === 0) return;
            await this.#flush(stale, signal);
        }
        throw new UdpCleanUpError(
            "STALE_LEFT",
            "environment",
            "UDP connections to endpoints that are gone stay in OVS",
        );
    }

    async #stale(signal: AbortSignal): Promise<readonly CtFlush[]> {
        const found: CtFlush[] = [];
        const texts = await this.#components.dump(signal);
        const stale = new StaleConnections(this.#components.possible());
        for (const text of texts) {
            for (const connection of udpConnections(text)) {
                const flush = stale.flushOf(connection);
                if (flush !== undefined) found.push(flush);
            }
        }
        return found;
    }

    async #flush(flushes: readonly CtFlush[], signal: AbortSignal): Promise<void> {
        if (flushes.length === 0) return;
        await this.#components.flush(flushes, signal);
        this.#components.onFlushed(flushes.length);
    }
}
