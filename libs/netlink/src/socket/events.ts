import { closeSync } from "node:fs";
import { badArgument, isNetlinkError, NetlinkError } from "../errors.ts";
import { decodeAddress } from "../message/address.ts";
import { Group, MessageType } from "../message/constants.ts";
import { decodeRoute } from "../message/decode-route.ts";
import { decodeFrames, type Frame } from "../message/frame.ts";
import { decodeLink } from "../message/link.ts";
import { decodeNeighbour } from "../message/neighbour.ts";
import { refused } from "../system/errno.ts";
import { libc, type Libc, type Watch } from "../system/libc.ts";
import { type EventGroup, type NetlinkEvent, type SubscribeOptions } from "../types/event.ts";
import { openNetlinkSocket, receiveNow, setSocketOption, type SocketPlace } from "./channel.ts";
import { SocketOption } from "./constants.ts";

const RECEIVE_BUFFER_BYTES = 8 * 1024 * 1024;
const BUFFER_BYTES = 65_536;
const DATAGRAMS_A_TURN = 64;

const multicastGroups: Readonly<Record<EventGroup, readonly number[]>> = {
    link: [Group.LINK],
    address: [Group.IPV4_ADDRESS, Group.IPV6_ADDRESS],
    route: [Group.IPV4_ROUTE, Group.IPV6_ROUTE],
    neighbour: [Group.NEIGHBOUR],
};

/**
 * Reports changes to the listener until disposal or a `fatal` event. The socket is a member of its groups when the
 * constructor returns; every later change, or else `overrun`, is reported, so that "subscribe, then list" misses
 * nothing. Keeps the process alive; an error that the listener throws is an uncaught exception. The constructor throws
 * `NetlinkError`: `BAD_ARGUMENT` without groups, or the errno by name.
 */
export class EventSocket implements Disposable {
    readonly #libc: Libc;
    readonly #fd: number;
    readonly #listener: (event: NetlinkEvent) => void;
    readonly #watch: Watch;
    readonly #buffer = new Uint8Array(new ArrayBuffer(BUFFER_BYTES));
    #closed = false;
    #scheduled = false;

    constructor(
        place: SocketPlace,
        groups: readonly EventGroup[],
        listener: (event: NetlinkEvent) => void,
        options: SubscribeOptions = {},
    ) {
        if (groups.length === 0) throw badArgument("groups of a subscription", groups, "at least one is needed");
        this.#libc = libc();
        this.#listener = listener;
        this.#fd = openNetlinkSocket(this.#libc, place);
        try {
            this.#keepBytes(options.receiveBufferBytes ?? RECEIVE_BUFFER_BYTES);
            this.#join(groups);
            this.#watch = this.#libc.watch(this.#fd, () => this.#schedule());
        } catch (error) {
            closeSync(this.#fd);
            throw error;
        }
    }

    /** Closes the socket; the listener is not called again. Idempotent. */
    [Symbol.dispose](): void {
        if (this.#closed) return;
        this.#closed = true;
        this.#watch.close();
        closeSync(this.#fd);
    }

    #keepBytes(bytes: number): void {
        const { SOL_SOCKET, SO_RCVBUF, SO_RCVBUFFORCE } = SocketOption;
        // The kernel doubles the value, for its own overhead. Only the first option may exceed the machine's limit.
        const half = Math.floor(bytes / 2);
        if (setSocketOption(this.#libc, this.#fd, SOL_SOCKET, SO_RCVBUFFORCE, half)) return;
        setSocketOption(this.#libc, this.#fd, SOL_SOCKET, SO_RCVBUF, half);
    }

    #join(groups: readonly EventGroup[]): void {
        const { SOL_NETLINK, NETLINK_ADD_MEMBERSHIP } = SocketOption;
        for (const group of new Set(groups)) {
            for (const number of multicastGroups[group]) {
                if (!setSocketOption(this.#libc, this.#fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, number)) {
                    throw refused(`join the netlink group of ${group} events`, this.#libc.errno());
                }
            }
        }
    }

    // Called in each round of the event loop while there is something to read.
    #schedule(): void {
        if (this.#scheduled) return;
        this.#scheduled = true;
        setImmediate(() => {
            this.#scheduled = false;
            this.#read();
        });
    }

    #read(): void {
        for (let count = 0; count < DATAGRAMS_A_TURN && !this.#closed; count++) {
            const events = this.#next();
            if (events === undefined) return;
            for (const event of events) {
                if (!this.#closed) this.#listener(event);
            }
        }
    }

    /** The events of the next datagram; undefined if there is none. */
    #next(): readonly NetlinkEvent[] | undefined {
        try {
            const datagram = receiveNow(this.#libc, this.#fd, this.#buffer);
            return datagram === undefined ? undefined : decodeEvents(datagram);
        } catch (error) {
            if (isNetlinkError(error, "ENOBUFS")) {
                this.#watch.restart();
                return [{ type: "overrun" }];
            }
            const fatal = !isNetlinkError(error, "SHORT_MESSAGE", "BAD_MESSAGE", "TRUNCATED");
            if (fatal) {
                this[Symbol.dispose]();
                this.#listener({ type: "error", error: toError(error), fatal });
                return undefined;
            }
            return [{ type: "error", error: toError(error), fatal }];
        }
    }
}

/**
 * The events in one datagram; messages of other types, and those that the decoders leave out (bridge ports, other
 * families), are skipped. Throws `NetlinkError` `SHORT_MESSAGE` or `BAD_MESSAGE`.
 */
export function decodeEvents(datagram: Uint8Array): readonly NetlinkEvent[] {
    return decodeFrames(datagram).flatMap((frame) => toEvent(frame) ?? []);
}

function toEvent({ type, payload }: Frame): NetlinkEvent | undefined {
    switch (type) {
        case MessageType.NEWLINK:
        case MessageType.DELLINK: {
            const link = decodeLink(payload);
            return link && { type: "link", deleted: type === MessageType.DELLINK, link };
        }
        case MessageType.NEWADDR:
        case MessageType.DELADDR: {
            const address = decodeAddress(payload);
            return address && { type: "address", deleted: type === MessageType.DELADDR, address };
        }
        case MessageType.NEWROUTE:
        case MessageType.DELROUTE: {
            const route = decodeRoute(payload);
            return route && { type: "route", deleted: type === MessageType.DELROUTE, route };
        }
        case MessageType.NEWNEIGH:
        case MessageType.DELNEIGH: {
            const neighbour = decodeNeighbour(payload);
            return neighbour && { type: "neighbour", deleted: type === MessageType.DELNEIGH, neighbour };
        }
        default:
            return undefined;
    }
}

function toError(error: unknown): Error {
    return error instanceof Error ? error : new NetlinkError("BAD_MESSAGE", "internal", String(error));
}
