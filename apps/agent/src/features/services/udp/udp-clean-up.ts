import type { Clock } from "@antrea/async";
import { AntreaError, isErrorOf } from "@antrea/errors";
import type { CtFlush } from "@antrea/openflow";
import type { JobResult } from "@antrea/runtime";
import type { ServedService } from "@antrea/services";
import { UnixctlError } from "../../../platform/ovs/datapath/index.ts";
import { inSlices } from "../../../platform/slices.ts";
import { udpConnections } from "./conntrack-dump.ts";
import {
    flushesAgainst,
    flushesOf,
    StaleConnections,
    type ConnectionZones,
    type FlushOfAllZones,
    type HostAddresses,
} from "./stale-connections.ts";

/** OVS walks all connections for each flush by part of a tuple; from this number on reading them once is less. */
const singleFlushes = 10;
/** A connection of OpenFlow holds about 300,000 requests, and OVS has ten seconds for those that are sent together. */
const flushesAtOnce = 500;
/** In so many flushes the userspace datapath, which skips up to half of what fits, reaches all. */
const maxTries = 8;
/**
 * When connections are compared after a change: soon, for those that a flush has skipped, and when OVS has revalidated its
 * cached flows (each 500 ms, ovs-vswitchd.conf.db(5), max-revalidator), which until then begin connections as before.
 */
const checkDelaysMs = { soon: 200, late: 1_200 };

/** - `STALE_LEFT`: connections to endpoints that stopped serving are still there after eight flushes */
class UdpCleanUpError extends AntreaError<"STALE_LEFT"> {}

/** Dependencies of UdpCleanUp. */
export interface UdpCleanUpComponents {
    /** Removes connections from the datapath; rejects with OpenFlowError. */
    readonly flush: (flushes: readonly CtFlush[], signal: AbortSignal) => Promise<void>;
    /** The connections of Pods, as `dpctl/dump-conntrack` prints them; rejects with UnixctlError. */
    readonly dump: (signal: AbortSignal) => Promise<readonly string[]>;
    readonly zones: ConnectionZones;
    /** What OVS has of Services, and what it may have already. */
    readonly possible: () => Iterable<ServedService>;
    /** The Node's network stack; undefined unless OVS serves the Node itself and clients outside. */
    readonly host: HostAddresses | undefined;
    readonly onFlushed: (requests: number) => void;
    readonly clock: Pick<Clock, "monotonic">;
}

/**
 * Removes UDP connections from the datapath that lead to endpoints that stopped serving: they have no end, so that their
 * clients would wait for answers as long as they send. Its owner repeats `pass`.
 */
export class UdpCleanUp {
    readonly #components: UdpCleanUpComponents;
    /** By their text: those that were not sent yet, and those that were, with the time, until their last comparison. */
    readonly #pending = new Map<string, FlushOfAllZones>();
    readonly #sent = new Map<string, { readonly flush: FlushOfAllZones; readonly at: number }>();
    /** Monotonic times at which all connections are to be compared, ascending. */
    #checks: readonly number[] = [];
    #hasBegun = false;

    constructor(components: UdpCleanUpComponents) {
        this.#components = components;
    }

    /** Keeps what the change of a Service, which OVS has, makes stale; true if `pass` is to be called. */
    changed(before: ServedService | undefined, after: ServedService | undefined): boolean {
        const { host } = this.#components;
        for (const text of flushesAgainst(after, host)) this.#pending.delete(text);
        const flushes = flushesOf(before, after, host);
        for (const [text, flush] of flushes) this.#pending.set(text, flush);
        return this.#hasBegun && flushes.size > 0;
    }

    /**
     * To be called when OVS has all Services: the next pass compares all connections, since what changed while the agent was
     * away is not known. Before, those of Services that are not there yet would seem stale.
     */
    begin(): void {
        this.#hasBegun = true;
        const now = this.#components.clock.monotonic();
        this.#checks = [now, now + checkDelaysMs.late];
    }

    /**
     * To be called when `zones` has one more: nothing was removed there before, so the next pass compares all connections.
     * True if `pass` is to be called.
     */
    zoneAdded(): boolean {
        if (!this.#hasBegun) return false;
        const now = this.#components.clock.monotonic();
        this.#checks = [now, ...this.#checks.filter((at) => at > now)];
        return true;
    }

    /**
     * Removes what is stale, and compares if that is due; no effect before `begin`. Resolves with the time until it is to be
     * called again. Rejects with OpenFlowError, UnixctlError or, if connections are left, UdpCleanUpError `STALE_LEFT`;
     * the next pass continues.
     */
    async pass(signal: AbortSignal): Promise<JobResult> {
        if (!this.#hasBegun) return { againInMs: undefined };
        await this.#flushPending(signal);
        const now = this.#components.clock.monotonic();
        if (this.#checks.some((at) => at <= now)) {
            await this.#flushStale(signal);
            for (const [text, { at }] of this.#sent) if (at + checkDelaysMs.late <= now) this.#sent.delete(text);
            this.#checks = this.#checks.filter((at) => at > now);
        }
        const [next] = this.#checks;
        return { againInMs: next === undefined ? undefined : Math.max(0, next - this.#components.clock.monotonic()) };
    }

    async #flushPending(signal: AbortSignal): Promise<void> {
        const pending = [...this.#pending];
        if (pending.length === 0) return;
        const flushes = this.#inZones(pending.map(([, flush]) => flush));
        const areFew = flushes.length < singleFlushes;
        if (areFew) await this.#flush(flushes, signal);
        const now = this.#components.clock.monotonic();
        for (const [text, flush] of pending) {
            this.#sent.set(text, { flush, at: now });
            if (this.#pending.get(text) === flush) this.#pending.delete(text);
        }
        const soon = areFew ? now + checkDelaysMs.soon : now;
        // changes that never cease must not put off the next comparison
        this.#checks = [Math.min(soon, this.#checks[0] ?? soon), now + checkDelaysMs.late];
    }

    async #flushStale(signal: AbortSignal): Promise<void> {
        for (let tries = 0; tries < maxTries; tries += 1) {
            const stale = await this.#stale(signal);
            if (stale === undefined) return this.#flushAgain(signal);
            if (stale.length === 0) return;
            await this.#flush(stale, signal);
        }
        throw new UdpCleanUpError(
            "STALE_LEFT",
            "environment",
            "UDP connections to endpoints that are gone stay in OVS",
        );
    }

    /**
     * Without knowing what is left, so that the same requests are sent as often as it may take: each reaches half at least of
     * what the one before has skipped.
     */
    async #flushAgain(signal: AbortSignal): Promise<void> {
        const flushes = this.#inZones(Array.from(this.#sent.values(), ({ flush }) => flush));
        for (let tries = 0; tries < maxTries; tries += 1) await this.#flush(flushes, signal);
    }

    /** What removes each stale connection; undefined if there are too many connections to read. */
    async #stale(signal: AbortSignal): Promise<readonly CtFlush[] | undefined> {
        const { dump, host, possible, zones } = this.#components;
        let texts: readonly string[];
        try {
            texts = await dump(signal);
        } catch (error) {
            if (isErrorOf(UnixctlError, error, "ANSWER_TOO_LONG")) return undefined;
            throw error;
        }
        const found: CtFlush[] = [];
        const stale = new StaleConnections(possible(), host, zones);
        for (const text of texts) {
            // as many as can be read take seconds
            await inSlices(udpConnections(text), (connection) => {
                const flush = stale.flushOf(connection);
                if (flush !== undefined) found.push(flush);
            });
        }
        return found;
    }

    #inZones(flushes: readonly FlushOfAllZones[]): readonly CtFlush[] {
        return flushes.flatMap(({ family, ...flush }) =>
            this.#components.zones(family).map((zone) => ({ ...flush, zone })),
        );
    }

    async #flush(flushes: readonly CtFlush[], signal: AbortSignal): Promise<void> {
        for (let start = 0; start < flushes.length; start += flushesAtOnce) {
            const some = flushes.slice(start, start + flushesAtOnce);
            await this.#components.flush(some, signal);
            this.#components.onFlushed(some.length);
        }
    }
}
