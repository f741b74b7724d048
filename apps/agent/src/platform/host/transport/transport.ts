import { formatIp, parsePrefix, prefixContains, prefixOf, type Family, type IpAddress, type Prefix } from "@antrea/ip";
import type { Link, Netlink, NetlinkEvent } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";

/** The state of the transport interface as of one check; a new object for each change. */
export interface TransportState {
    readonly name: string;
    /** Link index (ifindex). */
    readonly index: number;
    /** In bytes. */
    readonly mtu: number;
    /** All but link-local and tentative ones, in kernel order, IPv4 first. */
    readonly addresses: readonly IpAddress[];
    /** The networks of its addresses, in their order. */
    readonly subnets: readonly Prefix[];
}

/** Dependencies of Transport; the netlink socket stays the caller's. */
export interface TransportComponents {
    readonly netlink: Pick<Netlink, "link" | "addresses" | "subscribe">;
    readonly logger: Logger;
}

const linkLocals = [parsePrefix("169.254.0.0/16"), parsePrefix("fe80::/10")];

/**
 * Watches the transport interface, made with `Transport.of`: its addresses and its MTU may change while the agent runs.
 * Changes take effect in `check`, which the caller repeats. To be disposed of, which ends the watch.
 */
export class Transport implements Disposable {
    readonly #components: TransportComponents;
    readonly #listeners = new Set<(state: TransportState) => void>();
    readonly #events: Disposable;
    #state: TransportState;
    /** The interface has changed since the last check, possibly only temporarily. */
    #isStirred = false;

    private constructor(components: TransportComponents, state: TransportState) {
        this.#components = components;
        this.#state = state;
        this.#events = components.netlink.subscribe(["link", "address"], (event) => {
            if (concerns(event, this.#state)) this.#isStirred = true;
        });
    }

    /**
     * Reads the state of the link and starts the watch; `check` then applies changes. The caller disposes of the
     * result. Rejects with NetlinkError; nothing is watched then.
     */
    static async of(components: TransportComponents, link: Link): Promise<Transport> {
        return new Transport(components, await stateOf(components, link));
    }

    /** The state as of the last check. */
    get state(): TransportState {
        return this.#state;
    }

    /** The address family of tunnels: IPv4 if the interface has it or has no address. All Nodes must agree. */
    get tunnelFamily(): Family {
        return tunnelFamilyOf(this.#state.addresses);
    }

    /**
     * Registers a listener, for the lifetime of the object, that `check` calls synchronously after a change, including
     * a temporary one: the kernel removes routes together with an address and does not restore them with it.
     */
    onChange(listener: (state: TransportState) => void): void {
        this.#listeners.add(listener);
    }

    /**
     * Checks the interface and calls the listeners on a change; to be called every few seconds. While the interface is
     * missing or has no address, the last state is kept, since it may be reconfigured soon. Rejects with NetlinkError.
     */
    async check(): Promise<void> {
        const { netlink, logger } = this.#components;
        const isStirred = this.#isStirred;
        this.#isStirred = false;
        let state: TransportState | undefined;
        try {
            const link = await netlink.link(this.#state.name);
            state = link && (await stateOf(this.#components, link));
            if (state?.addresses.length === 0 && this.#state.addresses.length > 0) state = undefined;
        } finally {
            // The listeners are still to be called for it.
            if (state === undefined) this.#isStirred ||= isStirred;
        }
        if (state === undefined) return;
        if (textOf(state) === textOf(this.#state)) {
            if (isStirred) for (const listener of this.#listeners) listener(state);
            return;
        }
        this.#state = state;
        logger.info("transport interface changed", {
            interface: state.name,
            mtu: state.mtu,
            addresses: state.addresses.map(formatIp),
        });
        for (const listener of this.#listeners) listener(state);
    }

    /** Ends the watch. */
    [Symbol.dispose](): void {
        this.#events[Symbol.dispose]();
    }
}

function concerns(event: NetlinkEvent, { index, name }: TransportState): boolean {
    switch (event.type) {
        case "link":
            return event.link.index === index || event.link.name === name;
        case "address":
            return event.address.index === index;
        default:
            // Lost events may have concerned it.
            return true;
    }
}

/** IPv4 if it is among the addresses of a transport interface. */
function tunnelFamilyOf(addresses: readonly IpAddress[]): Family {
    return addresses.length === 0 || addresses.some(({ family }) => family === 4) ? 4 : 6;
}

async function stateOf({ netlink }: TransportComponents, link: Link): Promise<TransportState> {
    const { name, index, mtu } = link;
    const found = (await netlink.addresses(index))
        .filter(({ ip, tentative }) => !tentative && !linkLocals.some((prefix) => prefixContains(prefix, ip)))
        .sort((one, other) => one.ip.family - other.ip.family);
    return {
        name,
        index,
        mtu,
        addresses: found.map(({ ip }) => ip),
        subnets: found.map(({ ip, prefixLength }) => prefixOf(ip, prefixLength)),
    };
}

function textOf({ name, index, mtu, addresses, subnets }: TransportState): string {
    const lengths = subnets.map(({ length }) => length);
    return [name, index, mtu, ...addresses.map((ip, at) => `${formatIp(ip)}/${lengths[at]}`)].join(" ");
}
