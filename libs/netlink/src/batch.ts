import { closeSync } from "node:fs";
import { addAddress, deleteAddress, replaceAddress } from "./message/address.ts";
import { addAltName, deleteAltName, deleteLink, setLink, type LinkKey } from "./message/link.ts";
import { deleteNeighbour, probeNeighbour, replaceNeighbour } from "./message/neighbour.ts";
import { type Request } from "./message/request.ts";
import { appendRoute, deleteRoute, replaceRoute } from "./message/route.ts";
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
    /** An alternative name, of up to 127 bytes; refused with `EEXIST` if a link has it. */
    addAltName(index: number, name: string): this;
    deleteAltName(index: number, name: string): this;
    /** Refused with `EEXIST` if it is there. */
    addAddress(options: AddressOptions): this;
    replaceAddress(options: AddressOptions): this;
    deleteAddress(key: AddressKey): this;
    replaceRoute(options: RouteOptions): this;
    /** Beside others of the same destination, table and metric; refused with `EEXIST` if this very route is there. */
    appendRoute(options: RouteOptions): this;
    deleteRoute(options: RouteOptions): this;
    replaceNeighbour(options: NeighbourOptions): this;
    /** Has the kernel ask for a neighbour, the one of `mac` if given: its state says whether it answered. */
    probeNeighbour(key: NeighbourKey & { readonly mac?: string | undefined }): this;
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
