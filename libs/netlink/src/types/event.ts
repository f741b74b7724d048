import { type Address } from "./address.ts";
import { type Link } from "./link.ts";
import { type Neighbour } from "./neighbour.ts";
import { type Route } from "./route.ts";

/** Kinds of objects whose changes `Netlink.subscribe` reports. */
export type EventGroup = "link" | "address" | "route" | "neighbour";

/** Options of `Netlink.subscribe`. */
export interface SubscribeOptions {
    /**
     * Bytes of events, some 1 KiB each in the kernel's count, that the kernel holds for the socket before it drops
     * events and `overrun` is reported. Default 8 MiB, which is some seconds of a busy machine. Without CAP_NET_ADMIN,
     * net.core.rmem_max limits it.
     */
    readonly receiveBufferBytes?: number | undefined;
}

/**
 * One change in the namespace, with the object as it was then; `deleted` is false for an object that was added or
 * changed. `overrun`: the kernel dropped events because they were not read fast enough, so everything must be listed
 * again. `error`: an event could not be decoded, or reading has ended (`fatal`: the last event).
 */
export type NetlinkEvent =
    | { readonly type: "link"; readonly deleted: boolean; readonly link: Link }
    | { readonly type: "address"; readonly deleted: boolean; readonly address: Address }
    | { readonly type: "route"; readonly deleted: boolean; readonly route: Route }
    | { readonly type: "neighbour"; readonly deleted: boolean; readonly neighbour: Neighbour }
    | { readonly type: "overrun" }
    | { readonly type: "error"; readonly error: Error; readonly fatal: boolean };
