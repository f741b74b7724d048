import { closeSync } from "node:fs";
import { Mutex } from "@antrea/async";
import { RequestBatch, type Batch } from "./batch.ts";
import { isNetlinkError, NetlinkError } from "./errors.ts";
import { decodeAddress, queryAddresses } from "./message/address.ts";
import { createVeth, decodeLink, deleteLink, queryLink, queryLinks, setLink, type LinkKey } from "./message/link.ts";
import { decodeNeighbour, queryNeighbours } from "./message/neighbour.ts";
import { decodeNetnsId, queryNetnsId } from "./message/netns-id.ts";
import { decodeRoute, queryRoutes } from "./message/route.ts";
import { KernelChannel, type SocketPlace } from "./socket/channel.ts";
import { EventSocket } from "./socket/events.ts";
import { Exchange } from "./socket/exchange.ts";
import { notANetns, openNetns } from "./system/namespace.ts";
import {
    type Address,
    type AddressKey,
    type AddressOptions,
    type EventGroup,
    type Link,
    type LinkChanges,
    type Neighbour,
    type NeighbourKey,
    type NeighbourOptions,
    type NetlinkEvent,
    type Route,
    type RouteFilter,
    type RouteOptions,
    type SubscribeOptions,
    type VethOptions,
} from "./types.ts";

/**
 * One rtnetlink socket: the links, addresses, routes and neighbours of one network namespace (rtnetlink(7)). The
 * namespace is that of the moment of opening and stays, whatever becomes of its path.
 *
 * Calls are done one after the other in their order. All but `deleteLink` and large dumps are done in the turn of the
 * event loop they begin in, so there is nothing to cancel. Methods reject with NetlinkError: the kernel's refusals with
 * the errno by name as code and its own words in the message; wrong arguments with `BAD_ARGUMENT` or the error of
 * @antrea/ip; `CLOSED` after dispose. Deletes of what is not there succeed and give false.
 */
export class Netlink implements Disposable {
    readonly #channel: KernelChannel;
    readonly #exchange: Exchange;
    readonly #turn = new Mutex();
    #closed = false;

    private constructor(place: SocketPlace) {
        this.#channel = new KernelChannel(place);
        this.#exchange = new Exchange(this.#channel);
    }

    /** Of the namespace this process is in. */
    static open(): Netlink {
        return new Netlink({});
    }

    /** Of the namespace at a path, "/var/run/netns/x" or "/proc/123/ns/net". Throws `ENOENT`, `NOT_A_NETNS`. */
    static openIn(netnsPath: string): Netlink {
        return new Netlink({ netnsPath });
    }

    links(): Promise<Link[]> {
        return this.#run(() => this.#exchange.dump(queryLinks(), decodeLink));
    }

    /** By index or by name, an alternative name too. */
    link(nameOrIndex: LinkKey): Promise<Link | undefined> {
        return this.#run(() => this.#exchange.ask(queryLink(nameOrIndex), decodeLink));
    }

    /**
     * The id that this namespace has for the one at `netnsPath`, as `peerNetnsId` of its links gives it. Undefined
     * where it has none: the kernel gives one when it first needs it, of a link's other end when the link is read. Throws
     * `ENOENT`, `NOT_A_NETNS`.
     */
    netnsId(netnsPath: string): Promise<number | undefined> {
        return this.#run(() => {
            const netns = openNetns(netnsPath);
            try {
                return this.#exchange.ask(queryNetnsId(netnsPath, netns), decodeNetnsId);
            } catch (error) {
                throw isNetlinkError(error, "EINVAL") ? notANetns(netnsPath) : error;
            } finally {
                closeSync(netns);
            }
        });
    }

    /**
     * A veth pair in one message: this end here, the other born in the namespace of `peer.netnsPath`. The alias follows
     * in a second message, since the kernel takes none at creation, before anybody else runs here. Rejects with
     * `EEXIST` if either name is taken; then nothing is made or changed.
     */
    createVeth(options: VethOptions): Promise<void> {
        return this.#run(() => {
            const alias = options.alias === undefined ? [] : [setLink(options.name, { alias: options.alias })];
            const netns = openNetns(options.peer.netnsPath);
            try {
                // Not in one datagram: after EEXIST the kernel would put the alias on the link that was there before.
                this.#exchange.change([createVeth(options, netns)]);
                this.#exchange.change(alias);
            } finally {
                closeSync(netns);
            }
        });
    }

    setLink(index: number, changes: LinkChanges): Promise<void> {
        return this.batch((batch) => batch.setLink(index, changes));
    }

    /**
     * Deletes a link, of a veth pair both ends. The kernel works on it for 20 to 30 ms, on a thread of its own; calls
     * on this socket wait for it, others do not.
     */
    deleteLink(nameOrIndex: LinkKey): Promise<boolean> {
        return this.#run(() => this.#exchange.changeOnThread(deleteLink(nameOrIndex)));
    }

    /** Of one link or of all. Rejects with `ENODEV` if there is no such link. */
    addresses(index?: number): Promise<Address[]> {
        return this.#run(() => this.#exchange.dump(queryAddresses(index), decodeAddress));
    }

    /** Rejects with `EEXIST` if a link has the name, as name or as alternative name. */
    addAltName(index: number, name: string): Promise<void> {
        return this.batch((batch) => batch.addAltName(index, name));
    }

    deleteAltName(index: number, name: string): Promise<boolean> {
        return this.#one((batch) => batch.deleteAltName(index, name));
    }

    /** Rejects with `EEXIST` if the address is there. An IPv4 address below /31 gets its broadcast address too. */
    addAddress(options: AddressOptions): Promise<void> {
        return this.batch((batch) => batch.addAddress(options));
    }

    /** Adds the address, or gives the one that is there this lifetime and metric. */
    replaceAddress(options: AddressOptions): Promise<void> {
        return this.batch((batch) => batch.replaceAddress(options));
    }

    deleteAddress(key: AddressKey): Promise<boolean> {
        return this.#one((batch) => batch.deleteAddress(key));
    }

    /** All tables of both families unless the filter says otherwise, those the kernel made included. */
    async routes(filter: RouteFilter = {}): Promise<Route[]> {
        const families = filter.family === undefined ? ([4, 6] as const) : [filter.family];
        const found = await Promise.all(
            families.map((family) =>
                this.#run(() => this.#exchange.dump(queryRoutes(family, filter), decodeRoute)).catch(noTable),
            ),
        );
        return found.flat();
    }

    /** Makes a route, in place of one with the same destination, table and metric. */
    replaceRoute(options: RouteOptions): Promise<void> {
        return this.batch((batch) => batch.replaceRoute(options));
    }

    /** Makes a route beside others of the same destination, table and metric. */
    appendRoute(options: RouteOptions): Promise<void> {
        return this.batch((batch) => batch.appendRoute(options));
    }

    /** Deletes the first route that fits all that is given; what is not given fits anything. */
    deleteRoute(options: RouteOptions): Promise<boolean> {
        return this.#one((batch) => batch.deleteRoute(options));
    }

    /** ARP and ND entries of one link or of all, those without a MAC address included. */
    neighbours(index?: number): Promise<Neighbour[]> {
        return this.#run(() => this.#exchange.dump(queryNeighbours(index), decodeNeighbour));
    }

    replaceNeighbour(options: NeighbourOptions): Promise<void> {
        return this.batch((batch) => batch.replaceNeighbour(options));
    }

    /** Has the kernel ask for a neighbour, the one of `mac` if given; see `neighbours` for what came of it. */
    probeNeighbour(key: NeighbourKey & { readonly mac?: string | undefined }): Promise<void> {
        return this.batch((batch) => batch.probeNeighbour(key));
    }

    deleteNeighbour(key: NeighbourKey): Promise<boolean> {
        return this.#one((batch) => batch.deleteNeighbour(key));
    }

    /**
     * Sends several changes in one write (per 64 of them) and reads all answers. Not a transaction: the kernel tries
     * each one in order, whatever became of those before it. Rejects with the first refusal, whose message says which
     * change it was; `details.index` is its place in the batch, `details.failures` the number of refusals.
     */
    batch(build: (batch: Batch) => void): Promise<void> {
        return this.#change(build).then(() => undefined);
    }

    /**
     * Tells the listener of changes in this namespace until the returned object is disposed, which this socket's own
     * dispose does not do. Whatever changes after this returns is told, each object as it was then. A listener that
     * throws is an uncaught exception. Keeps the process alive.
     */
    subscribe(
        groups: readonly EventGroup[],
        listener: (event: NetlinkEvent) => void,
        options: SubscribeOptions = {},
    ): Disposable {
        this.#assertOpen();
        return new EventSocket({ socket: this.#channel.socket }, groups, listener, options);
    }

    /** Closes the socket as soon as the calls under way are done; later ones are refused. Twice is harmless. */
    [Symbol.dispose](): void {
        if (this.#closed) return;
        this.#closed = true;
        void this.#turn.run(() => this.#channel[Symbol.dispose]());
    }

    #one(build: (batch: Batch) => void): Promise<boolean> {
        return this.#change(build).then((changed) => changed[0] === true);
    }

    #change(build: (batch: Batch) => void): Promise<readonly boolean[]> {
        return this.#run(() => {
            using batch = new RequestBatch();
            build(batch);
            return this.#exchange.change(batch.requests);
        });
    }

    #run<T>(work: () => T | Promise<T>): Promise<T> {
        return this.#turn.run(() => {
            this.#assertOpen();
            return work();
        });
    }

    #assertOpen(): void {
        if (this.#closed) throw new NetlinkError("CLOSED", "caller", "netlink: the socket was closed before this call");
    }
}

/** A table nobody has put a route into yet does not exist, for the kernel; for a reader it is empty. */
function noTable(error: unknown): Route[] {
    if (isNetlinkError(error, "ENOENT")) return [];
    throw error;
}
