import { formatIp, type IpAddress, type Prefix } from "@antrea/ip";
import type { Netlink } from "@antrea/netlink";
import { nodePortAddressesOf, usableAddresses } from "./addresses.ts";

/**
 * kube-proxy in its mode `ipvs` gives this link the addresses of all Services, at which nobody is a client and no NodePort
 * is to be served.
 */
const ipvsLink = "kube-ipvs0";

/** What is known of the addresses of the Node. */
export interface KnownAddresses {
    /** All of them but loopback and IPv6 link-local ones, sorted by text. */
    readonly own: readonly IpAddress[];
    /** Those at which NodePorts are served. */
    readonly nodePorts: readonly IpAddress[];
}

/**
 * Follows the addresses of the Node. `start` it before `read`; it ends by disposal. An address counts also while its
 * link is down, and not while it is tentative.
 */
export class NodeAddresses implements Disposable {
    readonly #netlink: Pick<Netlink, "addresses" | "link" | "subscribe">;
    readonly #nodePortAddresses: readonly Prefix[];
    #events: Disposable | undefined;
    #known: KnownAddresses = { own: [], nodePorts: [] };
    #texts = new Set<string>();

    constructor(
        components: { readonly netlink: Pick<Netlink, "addresses" | "link" | "subscribe"> },
        options: { readonly nodePortAddresses: readonly Prefix[] },
    ) {
        this.#netlink = components.netlink;
        this.#nodePortAddresses = options.nodePortAddresses;
    }

    /** Calls the listener when addresses may have changed: then `read` is to be called. Once. */
    start(listener: () => void): void {
        this.#events = this.#netlink.subscribe(["address"], listener);
    }

    /** As they were at the last `read`. */
    get known(): KnownAddresses {
        return this.#known;
    }

    /** Whether the Node has the address. */
    has(ip: IpAddress): boolean {
        return this.#texts.has(formatIp(ip));
    }

    /** Reads the addresses; resolves with the texts of those that came or went. Rejects with NetlinkError. */
    async read(): Promise<ReadonlySet<string>> {
        const ipvs = await this.#netlink.link(ipvsLink);
        const present = (await this.#netlink.addresses()).filter(
            ({ index, tentative }) => index !== ipvs?.index && !tentative,
        );
        const own = usableAddresses(present.map(({ ip }) => ip));
        const texts = new Set(own.map(formatIp));
        const before = this.#texts;
        const changed = new Set([...before, ...texts].filter((text) => before.has(text) !== texts.has(text)));
        if (changed.size === 0) return changed;
        this.#texts = texts;
        this.#known = { own, nodePorts: nodePortAddressesOf(own, this.#nodePortAddresses) };
        return changed;
    }

    /** Ends the watch. */
    [Symbol.dispose](): void {
        this.#events?.[Symbol.dispose]();
    }
}
