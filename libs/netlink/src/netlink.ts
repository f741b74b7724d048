import { closeSync } from "node:fs";
import { Mutex } from "@antrea/async";
import { RequestBatch, type Batch } from "./batch.ts";
import { isNetlinkError, NetlinkError } from "./errors.ts";
import { decodeAddress, queryAddresses } from "./message/address.ts";
import { decodeRoute } from "./message/decode-route.ts";
import { decodeLink, deleteLink, queryLink, queryLinks, setLink, type LinkKey } from "./message/link.ts";
import { decodeNeighbour, queryNeighbours } from "./message/neighbour.ts";
import { decodeNetnsId, queryNetnsId } from "./message/netns-id.ts";
import { queryRoutes } from "./message/route.ts";
import { decodeRule, queryRules } from "./message/rule.ts";
import { createVeth } from "./message/veth.ts";
import { KernelChannel, type SocketPlace } from "./socket/channel.ts";
import { EventSocket } from "./socket/events.ts";
import { Exchange } from "./socket/exchange.ts";
import { notANetns, openNetns } from "./system/namespace.ts";
import { type Address, type AddressKey, type AddressOptions } from "./types/address.ts";
import { type EventGroup, type NetlinkEvent, type SubscribeOptions } from "./types/event.ts";
import { type Link, type LinkChanges, type VethOptions } from "./types/link.ts";
import { type Neighbour, type NeighbourKey, type NeighbourOptions } from "./types/neighbour.ts";
import { type Route, type RouteFilter, type RouteOptions } from "./types/route.ts";
import { type Rule } from "./types/rule.ts";

/**
 * One rtnetlink socket: the links, addresses, routes, routing rules and neighbours of one network namespace (rtnetlink(7)).
 * It is opened by `open` or `openIn` and keeps its namespace, even when the path of the namespace is removed; the caller
 * disposes of it.
 *
 * Calls run one after the other in their order. All except `deleteLink` and large dumps complete in the turn of the
 * event loop in which they begin, so they cannot be cancelled. Methods reject with NetlinkError: the kernel's errors
 * with the errno by name as code and the kernel's text in the message, `BAD_ARGUMENT` (or `IpError` of @antrea/ip) for
 * wrong arguments, else as `NetlinkErrorCode` lists. A delete of an object that does not exist succeeds and returns
 * false.
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

    /** Opens a socket in the network namespace of this process. Throws NetlinkError with the errno by name. */
    static open(): Netlink {
        return new Netlink({});
    }

    /**
     * Opens a socket in the network namespace at a path, "/var/run/netns/x" or "/proc/123/ns/net". Throws NetlinkError
     * `ENOENT`, `NOT_A_NETNS`.
     */
    static openIn(netnsPath: string): Netlink {
        return new Netlink({ netnsPath });
    }

    /** All links of the namespace. */
    links(): Promise<Link[]> {
        return this.#run(() => this.#exchange.dump(queryLinks(), decodeLink));
    }

    /** The link with this index, name or alternative name; undefined if there is none. */
    link(nameOrIndex: LinkKey): Promise<Link | undefined> {
        return this.#run(() => this.#exchange.ask(queryLink(nameOrIndex), decodeLink));
    }

    /**
     * The id that this namespace has for the one at `netnsPath`, as `peerNetnsId` of its links has it; undefined if it
     * has none. The kernel assigns one when it first needs it, that of a link's other end when the link is read.
     * Rejects with `ENOENT`, `NOT_A_NETNS`.
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
     * Creates a veth pair: one end in this namespace, the other in the namespace at `peer.netnsPath` (rejects with
     * `ENOENT`, `NOT_A_NETNS`). The alias follows in a second message, since the kernel accepts none at creation; no
     * other call of this process runs between the two, and the pair stays if the alias fails. Rejects with `EEXIST` if
     * either name is in use; then nothing is created or changed.
     */
    createVeth(options: VethOptions): Promise<void> {
        return this.#run(() => {
            const alias = options.alias === undefined ? [] : [setLink(options.name, { alias: options.alias })];
            const netns = openNetns(options.peer.netnsPath);
            try {
                // Not in one datagram: after EEXIST the kernel would set the alias on the existing link.
                this.#exchange.change([createVeth(options, netns)]);
                this.#exchange.change(alias);
            } finally {
                closeSync(netns);
            }
        });
    }

    /**
     * Changes a link; members that are left out stay. Rejects with `ENODEV` if it does not exist, `ENOENT` or
     * `NOT_A_NETNS` if there is no namespace at `netnsPath`.
     */
    setLink(index: number, changes: LinkChanges): Promise<void> {
        return this.batch((batch) => batch.setLink(index, changes));
    }

    /**
     * Deletes a link, both ends of a veth pair. False if it does not exist. The kernel needs 20 to 30 ms, on a thread
     * of its own; calls on this socket wait for it, others do not.
     */
    deleteLink(nameOrIndex: LinkKey): Promise<boolean> {
        return this.#run(() => this.#exchange.changeOnThread(deleteLink(nameOrIndex)));
    }

    /** The addresses of one link or of all. Rejects with `ENODEV` if the link does not exist. */
    addresses(index?: number): Promise<Address[]> {
        return this.#run(() => this.#exchange.dump(queryAddresses(index), decodeAddress));
    }

    /**
     * Adds an alternative name of 1 to 127 bytes to a link. Rejects with `EEXIST` if a link has it as name or
     * alternative name.
     */
    addAltName(index: number, name: string): Promise<void> {
        return this.batch((batch) => batch.addAltName(index, name));
    }

    /**
     * Removes an alternative name from a link. False if no link has it; rejects with `EINVAL` if another one has it.
     */
    deleteAltName(index: number, name: string): Promise<boolean> {
        return this.#one((batch) => batch.deleteAltName(index, name));
    }

    /**
     * Adds an address to a link. Rejects with `EEXIST` if it exists. An IPv4 address with a prefix below /31 gets the
     * broadcast address of the prefix by default.
     */
    addAddress(options: AddressOptions): Promise<void> {
        return this.batch((batch) => batch.addAddress(options));
    }

    /** Adds the address, or sets lifetime, metric and, for IPv6, flags of the existing one. */
    replaceAddress(options: AddressOptions): Promise<void> {
        return this.batch((batch) => batch.replaceAddress(options));
    }

    /** Deletes an address, as `AddressKey` identifies it. False if it does not exist. */
    deleteAddress(key: AddressKey): Promise<boolean> {
        return this.#one((batch) => batch.deleteAddress(key));
    }

    /**
     * The routes that fit the filter, those of the kernel included; by default all tables of both families. A table
     * that does not exist is empty. Rejects with `ENODEV` if the link `filter.dev` does not exist.
     */
    async routes(filter: RouteFilter = {}): Promise<Route[]> {
        const families = filter.family === undefined ? ([4, 6] as const) : [filter.family];
        const found = await Promise.all(
            families.map((family) =>
                this.#run(() => this.#exchange.dump(queryRoutes(family, filter), decodeRoute)).catch(noTable),
            ),
        );
        return found.flat();
    }

    /** Adds a route, or replaces one with the same destination, table and metric. */
    replaceRoute(options: RouteOptions): Promise<void> {
        return this.batch((batch) => batch.replaceRoute(options));
    }

    /**
     * Adds a route beside others of the same destination, table and metric. Rejects with `EEXIST` if an identical one
     * exists.
     */
    appendRoute(options: RouteOptions): Promise<void> {
        return this.batch((batch) => batch.appendRoute(options));
    }

    /**
     * Deletes the first route of the table (default main) with exactly these `dst`, `from` and `tos` that also fits
     * `via`, `dev`, `metric`, `protocol`, and for IPv4 `src`, `type` and `scope`; of these, what is not given fits any.
     * Other members are not compared. False if no route fits.
     */
    deleteRoute(options: RouteOptions): Promise<boolean> {
        return this.#one((batch) => batch.deleteRoute(options));
    }

    /** The routing rules of both families, those of others included, of which some selectors are not read. */
    rules(): Promise<Rule[]> {
        return this.#run(() => this.#exchange.dump(queryRules(), decodeRule));
    }

    /** The ARP and ND entries of one link or of all, those without a MAC address included. */
    neighbours(index?: number): Promise<Neighbour[]> {
        return this.#run(() => this.#exchange.dump(queryNeighbours(index), decodeNeighbour));
    }

    /** Adds a neighbour entry, or replaces the one for the address. */
    replaceNeighbour(options: NeighbourOptions): Promise<void> {
        return this.batch((batch) => batch.replaceNeighbour(options));
    }

    /**
     * Makes the kernel probe a neighbour (ARP, ND), at `mac` if given; the state that `neighbours` reports has the
     * result.
     */
    probeNeighbour(key: NeighbourKey & { readonly mac?: string | undefined }): Promise<void> {
        return this.batch((batch) => batch.probeNeighbour(key));
    }

    /** Deletes a neighbour entry. False if it does not exist. */
    deleteNeighbour(key: NeighbourKey): Promise<boolean> {
        return this.#one((batch) => batch.deleteNeighbour(key));
    }

    /**
     * Sends the changes that `build`, which is synchronous, adds: up to 64 in one write, then all answers are read.
     * Sends nothing if `build` throws, and rejects with its error. Not a transaction: the kernel tries each change in
     * order, also after one that failed. Rejects with the first error; `details.index` is the index of that change,
     * `details.failures` the number of failed changes.
     */
    batch(build: (batch: Batch) => void): Promise<void> {
        return this.#change(build).then(() => undefined);
    }

    /**
     * Calls the listener for each change of objects of these groups in this namespace, until the returned object is
     * disposed or a `fatal` event; disposal of this socket does not end it. Every change after the return is reported,
     * or else `overrun`. An error that the listener throws is an uncaught exception. Keeps the process alive. Throws
     * `BAD_ARGUMENT` without groups, `CLOSED` after disposal.
     */
    subscribe(
        groups: readonly EventGroup[],
        listener: (event: NetlinkEvent) => void,
        options: SubscribeOptions = {},
    ): Disposable {
        this.#assertOpen();
        return new EventSocket({ socket: this.#channel.socket }, groups, listener, options);
    }

    /**
     * Closes the socket when the call that runs has ended. Calls that have not begun, and later ones, reject with
     * `CLOSED`. Subscriptions stay. Idempotent.
     */
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

/** For the kernel, a table without a route does not exist; for a caller it is empty. */
function noTable(error: unknown): Route[] {
    if (isNetlinkError(error, "ENOENT")) return [];
    throw error;
}
