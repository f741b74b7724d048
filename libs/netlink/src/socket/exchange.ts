import { setImmediate } from "node:timers/promises";
import { NetlinkError } from "../errors.ts";
import { decodeAcknowledgement, endOfDump, type Acknowledgement } from "../message/acknowledgement.ts";
import { MessageFlag, MessageType } from "../message/constants.ts";
import { decodeFrames, encodeFrames, type Frame } from "../message/frame.ts";
import { type Query, type Request } from "../message/request.ts";
import { errnoName, refused } from "../system/errno.ts";
import { type Channel } from "./channel.ts";
import { datagrams } from "./datagrams.ts";

/** Limits of an `Exchange`; each has a default. */
export interface ExchangeOptions {
    /** Attempts of a dump during which objects change, before `DUMP_INTERRUPTED`. Default 10. */
    readonly maxDumpAttempts?: number;
    /** Most objects in one dump, before `DUMP_TOO_LARGE`. Default 1,000,000. */
    readonly maxDumpObjects?: number;
}

// So that a large dump does not block the event loop; 64 datagrams are up to 2 MiB.
const DATAGRAMS_A_TURN = 64;

/**
 * Requests and their answers on one channel, which it does not close. The caller must not start a call before the last
 * one has ended. All methods throw or reject with `NetlinkError`: what they state, the errors of `Channel`, and
 * `SHORT_MESSAGE` or `BAD_MESSAGE`.
 */
export class Exchange {
    readonly #channel: Channel;
    readonly #maxDumpAttempts: number;
    readonly #maxDumpObjects: number;
    #sequence = 0;

    constructor(channel: Channel, options: ExchangeOptions = {}) {
        this.#channel = channel;
        this.#maxDumpAttempts = options.maxDumpAttempts ?? 10;
        this.#maxDumpObjects = options.maxDumpObjects ?? 1_000_000;
    }

    /**
     * Sends changes, up to 64 per datagram, and reads all acknowledgements, within this turn of the event loop. The
     * kernel tries each one, also after one that failed. Returns for each whether it changed something: false for a
     * delete of an object that does not exist. Throws the first error as NetlinkError; `details.index` is the index of
     * its request, `details.failures` the number of failed requests.
     */
    change(requests: readonly Request[]): readonly boolean[] {
        const outcomes = datagrams(requests).flatMap((group) => {
            const first = this.#reserve(group.length);
            this.#channel.send(encodeFrames(group.map((request, at) => changeFrame(request, first + at))));
            return this.#acknowledgements(group, first);
        });
        return results(requests, outcomes);
    }

    /**
     * `change` of one request that the kernel works on for long, without blocking the event loop. Rejects as `change`
     * throws.
     */
    async changeOnThread(request: Request): Promise<boolean> {
        const sequence = this.#reserve(1);
        await this.#channel.sendOnThread(encodeFrames([changeFrame(request, sequence)]));
        return results([request], this.#acknowledgements([request], sequence))[0] === true;
    }

    /**
     * Queries one object; undefined if the kernel answers ENODEV. Blocks the event loop until the answer. Throws
     * NetlinkError with the errno of another answer.
     */
    ask<T>(query: Query, decode: (payload: Uint8Array) => T): T | undefined {
        const sequence = this.#reserve(1);
        this.#channel.send(encodeFrames([queryFrame(query, sequence)]));
        for (;;) {
            for (const frame of decodeFrames(this.#channel.receive())) {
                if (frame.sequence !== sequence) continue;
                if (frame.type !== MessageType.ERROR) return decode(frame.payload);
                const { errno, text } = decodeAcknowledgement(frame);
                if (errnoName(errno) === "ENODEV") return undefined;
                throw refused(query.label, errno, text);
            }
        }
    }

    /**
     * Queries a list; elements for which `decode` returns undefined are left out. Repeats the query while objects
     * change during it. Rejects with NetlinkError: the errno of the kernel's answer, `DUMP_INTERRUPTED`,
     * `DUMP_TOO_LARGE`.
     */
    async dump<T>(query: Query, decode: (payload: Uint8Array) => T | undefined): Promise<T[]> {
        for (let attempt = 1; attempt <= this.#maxDumpAttempts; attempt++) {
            try {
                const found = await this.#dumpOnce(query, decode);
                if (found !== undefined) return found;
            } catch (error) {
                // The next dump on this socket would fail with EBUSY until this one has been read.
                this.#channel.drain();
                throw error;
            }
        }
        throw new NetlinkError(
            "DUMP_INTERRUPTED",
            "environment",
            `${query.label}: changed under each of ${this.#maxDumpAttempts} readings; try again when it is quieter`,
        );
    }

    async #dumpOnce<T>(query: Query, decode: (payload: Uint8Array) => T | undefined): Promise<T[] | undefined> {
        const sequence = this.#reserve(1);
        this.#channel.send(encodeFrames([queryFrame(query, sequence)]));
        const found: T[] = [];
        let interrupted = false;
        for (let count = 1; ; count++) {
            for (const frame of decodeFrames(this.#channel.receive())) {
                if (frame.sequence !== sequence) continue;
                if ((frame.flags & MessageFlag.DUMP_INTR) !== 0) interrupted = true;
                const end = endOfDump(frame);
                if (end !== undefined) {
                    if (errnoName(end.errno) === "EINTR") return undefined;
                    if (end.errno !== 0) throw refused(query.label, end.errno, end.text);
                    return interrupted ? undefined : found;
                }
                const object = decode(frame.payload);
                if (object === undefined) continue;
                if (found.length >= this.#maxDumpObjects) throw this.#tooLarge(query);
                found.push(object);
            }
            if (count % DATAGRAMS_A_TURN === 0) await setImmediate();
        }
    }

    #acknowledgements(requests: readonly Request[], first: number): readonly Acknowledgement[] {
        const found = new Map<number, Acknowledgement>();
        while (found.size < requests.length) {
            for (const frame of decodeFrames(this.#channel.receive())) {
                const at = (frame.sequence - first) >>> 0;
                if (frame.type === MessageType.ERROR && at < requests.length) {
                    found.set(at, decodeAcknowledgement(frame));
                }
            }
        }
        return requests.map((_, at) => found.get(at) as Acknowledgement); // the loop above ends when all are present
    }

    /** The first of `count` new sequence numbers, which wrap at 2^32. */
    #reserve(count: number): number {
        const first = (this.#sequence + 1) >>> 0;
        this.#sequence = (this.#sequence + count) >>> 0;
        return first;
    }

    #tooLarge(query: Query): NetlinkError {
        return new NetlinkError(
            "DUMP_TOO_LARGE",
            "environment",
            `${query.label}: more than ${this.#maxDumpObjects} objects; ask with a filter`,
        );
    }
}

function changeFrame(request: Request, sequence: number): Frame {
    const flags = request.flags | MessageFlag.REQUEST | MessageFlag.ACK;
    return { type: request.type, flags, sequence: sequence >>> 0, payload: request.body };
}

function queryFrame(query: Query, sequence: number): Frame {
    return { type: query.type, flags: query.flags | MessageFlag.REQUEST, sequence, payload: query.body };
}

function results(requests: readonly Request[], outcomes: readonly Acknowledgement[]): readonly boolean[] {
    const isAbsence = (at: number, errno: number): boolean =>
        requests[at]?.absentCodes?.includes(errnoName(errno)) === true;
    const failed = outcomes.flatMap(({ errno }, at) => (errno === 0 || isAbsence(at, errno) ? [] : at));
    const index = failed[0];
    if (index === undefined) return outcomes.map(({ errno }) => errno === 0);
    const { errno, text, missingAttribute } = outcomes[index] ?? { errno: 0 };
    throw refused(requests[index]?.label ?? "", errno, text, {
        index,
        failures: failed.length,
        ...(missingAttribute !== undefined && { missingAttribute }),
    });
}
