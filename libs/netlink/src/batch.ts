import { closeSync } from "node:fs";
import { addAddress, deleteAddress, replaceAddress } from "./message/address.ts";
import { addAltName, deleteAltName } from "./message/alternative-name.ts";
import { deleteLink, setLink, type LinkKey } from "./message/link.ts";
import { deleteNeighbour, probeNeighbour, replaceNeighbour } from "./message/neighbour.ts";
import { type Request } from "./message/request.ts";
import { addRoute, appendRoute, deleteRoute, replaceRoute } from "./message/route.ts";
import { addRule, deleteRule } from "./message/rule.ts";
import { openNetns } from "./system/namespace.ts";
import { type AddressKey, type AddressOptions } from "./types/address.ts";
import { type LinkChanges } from "./types/link.ts";
import { type NeighbourKey, type NeighbourOptions } from "./types/neighbour.ts";
import { type RouteOptions } from "./types/route.ts";
import { type Rule } from "./types/rule.ts";

/**
 * Changes to be sent together, in the order of the calls; what `Netlink.batch` gives to its `build`, of no use after
 * that returned. A method only adds its change. It throws `NetlinkError` `BAD_ARGUMENT` or, for a MAC address,
 * `IpError` if its arguments cannot be written. The errors of the kernel that are named below reject `Netlink.batch`; a
 * delete of an object that does not exist succeeds.
 */
export interface Batch {
    /**
     * Changes a link; members that are left out stay. A link that is given by name cannot be renamed (`BAD_ARGUMENT`).
     * Throws `NetlinkError` `ENOENT`, `NOT_A_NETNS` if there is no namespace at `netnsPath`.
     */
    setLink(key: LinkKey, changes: LinkChanges): this;
    /**
     * Deletes a link; succeeds if it does not exist, as all deletes do. Blocks the event loop for some 30 ms: see
     * Netlink.deleteLink.
     */
    deleteLink(key: LinkKey): this;
    /** Adds an alternative name of 1 to 127 bytes; the kernel rejects one that a link has with `EEXIST`. */
    addAltName(index: number, name: string): this;
    /** Removes an alternative name of a link; the kernel answers `EINVAL` if it belongs to another link. */
    deleteAltName(index: number, name: string): this;
    /** Adds an address; the kernel rejects one that exists with `EEXIST`. */
    addAddress(options: AddressOptions): this;
    /** Adds an address, or sets lifetime, metric and, for IPv6, flags of the existing one. */
    replaceAddress(options: AddressOptions): this;
    /** Deletes an address, as `AddressKey` identifies it. */
    deleteAddress(key: AddressKey): this;
    /** Adds a route; the kernel rejects one whose destination, table and metric another has with `EEXIST`. */
    addRoute(options: RouteOptions): this;
    /** Adds a route, or replaces one with the same destination, table and metric. */
    replaceRoute(options: RouteOptions): this;
    /** Adds a route beside others of the same destination, table and metric; `EEXIST` for an identical one. */
    appendRoute(options: RouteOptions): this;
    /** Deletes the first route that fits, see `Netlink.deleteRoute`. */
    deleteRoute(options: RouteOptions): this;
    /** Adds a neighbour entry, or replaces the one for the address. */
    replaceNeighbour(options: NeighbourOptions): this;
    /** Makes the kernel probe a neighbour, at `mac` if given; the state of its entry becomes reachable or failed. */
    probeNeighbour(key: NeighbourKey & { readonly mac?: string | undefined }): this;
    /** Deletes a neighbour entry. */
    deleteNeighbour(key: NeighbourKey): this;
    /** Adds a routing rule; the kernel rejects an identical one with `EEXIST`. */
    addRule(rule: Rule): this;
    /** Deletes a routing rule that is identical to this one. */
    deleteRule(rule: Rule): this;
}

/**
 * The requests of a batch in the order of the calls, for `Exchange.change`. Methods throw as `Batch` describes.
 * Namespaces that changes name stay open until disposal (idempotent): dispose after sending.
 */
export class RequestBatch implements Batch, Disposable {
    readonly requests: Request[] = [];
    readonly #descriptors: number[] = [];

    setLink(key: LinkKey, changes: LinkChanges): this {
        return this.#add(setLink(key, changes, this.#open(changes.netnsPath)));
    }

    deleteLink(key: LinkKey): this {
        return this.#add(deleteLink(key));
    }

    addAltName(index: number, name: string): this {
        return this.#add(addAltName(index, name));
    }

    deleteAltName(index: number, name: string): this {
        return this.#add(deleteAltName(index, name));
    }

    addAddress(options: AddressOptions): this {
        return this.#add(addAddress(options));
    }

    replaceAddress(options: AddressOptions): this {
        return this.#add(replaceAddress(options));
    }

    deleteAddress(key: AddressKey): this {
        return this.#add(deleteAddress(key));
    }

    addRoute(options: RouteOptions): this {
        return this.#add(addRoute(options));
    }

    replaceRoute(options: RouteOptions): this {
        return this.#add(replaceRoute(options));
    }

    appendRoute(options: RouteOptions): this {
        return this.#add(appendRoute(options));
    }

    deleteRoute(options: RouteOptions): this {
        return this.#add(deleteRoute(options));
    }

    replaceNeighbour(options: NeighbourOptions): this {
        return this.#add(replaceNeighbour(options));
    }

    probeNeighbour(key: NeighbourKey & { readonly mac?: string | undefined }): this {
        return this.#add(probeNeighbour(key));
    }

    deleteNeighbour(key: NeighbourKey): this {
        return this.#add(deleteNeighbour(key));
    }

    addRule(rule: Rule): this {
        return this.#add(addRule(rule));
    }

    deleteRule(rule: Rule): this {
        return this.#add(deleteRule(rule));
    }

    [Symbol.dispose](): void {
        for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor);
    }

    #add(request: Request): this {
        this.requests.push(request);
        return this;
    }

    #open(path: string | undefined): number | undefined {
        if (path === undefined) return undefined;
        const descriptor = openNetns(path);
        this.#descriptors.push(descriptor);
        return descriptor;
    }
}
