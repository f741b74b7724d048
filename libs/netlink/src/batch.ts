import { closeSync } from "node:fs";
import { addAddress, deleteAddress, replaceAddress } from "./message/address.ts";
import { deleteLink, setLink, type LinkKey } from "./message/link.ts";
import { deleteNeighbour, replaceNeighbour } from "./message/neighbour.ts";
import { type Request } from "./message/request.ts";
import { deleteRoute, replaceRoute } from "./message/route.ts";
import { openNetns } from "./system/namespace.ts";
import {
    type AddressKey,
    type AddressOptions,
    type LinkChanges,
    type NeighbourKey,
    type NeighbourOptions,
    type RouteOptions,
} from "./types.ts";

/** Changes to be sent together. Each method checks its arguments at once (`BAD_ARGUMENT`) and sends nothing. */
export interface Batch {
    /** A link named by text cannot be renamed. */
    setLink(key: LinkKey, changes: LinkChanges): this;
    /** Success too if it is not there, as all deletes. Holds up the event loop for some 30 ms: see Netlink.deleteLink. */
    deleteLink(key: LinkKey): this;
    /** Refused with `EEXIST` if it is there. */
    addAddress(options: AddressOptions): this;
    replaceAddress(options: AddressOptions): this;
    deleteAddress(key: AddressKey): this;
    replaceRoute(options: RouteOptions): this;
    deleteRoute(options: RouteOptions): this;
    replaceNeighbour(options: NeighbourOptions): this;
    deleteNeighbour(key: NeighbourKey): this;
}

/** The requests of a batch. Holds open the namespaces they name until disposed. */
export class RequestBatch implements Batch, Disposable {
    readonly requests: Request[] = [];
    readonly #descriptors: number[] = [];

    setLink(key: LinkKey, changes: LinkChanges): this {
        return this.#add(setLink(key, changes, this.#open(changes.netnsPath)));
    }

    deleteLink(key: LinkKey): this {
        return this.#add(deleteLink(key));
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

    replaceRoute(options: RouteOptions): this {
        return this.#add(replaceRoute(options));
    }

    deleteRoute(options: RouteOptions): this {
        return this.#add(deleteRoute(options));
    }

    replaceNeighbour(options: NeighbourOptions): this {
        return this.#add(replaceNeighbour(options));
    }

    deleteNeighbour(key: NeighbourKey): this {
        return this.#add(deleteNeighbour(key));
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
