import { formatIp, formatPrefix } from "@antrea/ip";
import {
    NeighbourState,
    NetlinkError,
    type Address,
    type AddressKey,
    type AddressOptions,
    type Batch,
    type Link,
    type LinkChanges,
    type Neighbour,
    type NeighbourKey,
    type NeighbourOptions,
    type Netlink,
    type Route,
    type RouteFilter,
    type RouteOptions,
    type Rule,
    type VethOptions,
} from "@antrea/netlink";
import { type LocalIo } from "./io.ts";
import { type MachineLink } from "./links.ts";
import { type Machine } from "./machine.ts";

/** The kernel of a machine, as far as it concerns Pods and the gateway. */
export class MachineLinks {
    readonly #machine: Machine;
    readonly #io: LocalIo;

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    /** Typed as the agent expects it: the agent uses only these methods of Netlink. */
    static of(machine: Machine, io: LocalIo): Netlink {
        return new MachineLinks(machine, io) as unknown as Netlink;
    }

    links(): Promise<Link[]> {
        return this.#io.call(() => [...this.#machine.nics.values(), ...this.#machine.links.values()]);
    }

    link(key: string | number): Promise<Link | undefined> {
        return this.#io.call(() => this.#find(key));
    }

    createVeth({ name, mtu, alias, group = 0, mac = "", peer }: VethOptions): Promise<void> {
        return this.#io.call(() => {
            const { links, netns } = this.#machine;
            const inside = netns.get(peer.netnsPath);
            if (inside === undefined) throw kernelError("ENOENT", `${peer.netnsPath} is gone`);
            if (links.has(name) || inside.ends.has(peer.name)) throw kernelError("EEXIST", `${name} is there`);
            const index = this.#machine.nextIndex();
            const end = { index, ifName: peer.name, hostIfName: name, mac: peer.mac, mtu, addresses: [] };
            inside.ends.set(peer.name, end);
            links.set(name, {
                index: this.#machine.nextIndex(),
                name,
                kind: "veth",
                type: 1,
                mac,
                mtu,
                up: true,
                running: true,
                loopback: false,
                promiscuous: false,
                group,
                altNames: [],
                netns: peer.netnsPath,
                ...(alias !== undefined && { alias }),
            });
        });
    }

    setLink(index: number, changes: LinkChanges): Promise<void> {
        return this.#io.call(() => this.#setLink(index, changes));
    }

    deleteLink(key: string | number): Promise<boolean> {
        return this.#io.call(() => {
            const link = this.#find(key);
            if (link !== undefined) this.#machine.deleteLink(link.name);
            return link !== undefined;
        });
    }

    addresses(index?: number): Promise<Address[]> {
        return this.#io.call(() => {
            const all = [this.#machine.nicAddress, ...this.#machine.addresses.values()];
            return all.filter((one) => index === undefined || one.index === index);
        });
    }

    addAddress({ index, ip, prefixLength }: AddressOptions): Promise<void> {
        return this.#io.call(() => {
            if (this.#find(index) === undefined) throw kernelError("ENODEV", `link ${index} is gone`);
            const { addresses, nicAddress } = this.#machine;
            addresses.set(addressKey({ index, ip, prefixLength }), { ...nicAddress, index, ip, prefixLength });
        });
    }

    deleteAddress(key: AddressKey): Promise<boolean> {
        return this.#io.call(() => this.#machine.addresses.delete(addressKey(key)));
    }

    routes({ protocol, dev, family }: RouteFilter = {}): Promise<Route[]> {
        return this.#io.call(() =>
            [...this.#machine.routes.values()].filter(
                (one) =>
                    (protocol === undefined || one.protocol === protocol) &&
                    (dev === undefined || one.dev === dev) &&
                    (family === undefined || one.family === family),
            ),
        );
    }

    replaceRoute(options: RouteOptions): Promise<void> {
        return this.#io.call(() => this.#replaceRoute(options));
    }

    deleteRoute(options: RouteOptions): Promise<boolean> {
        return this.#io.call(() => this.#machine.routes.delete(routeKey(options)));
    }

    /** Agents add none here, as none of them serves the Node itself. */
    rules(): Promise<Rule[]> {
        return this.#io.call(() => []);
    }

    neighbours(index?: number): Promise<Neighbour[]> {
        return this.#io.call(() =>
            [...this.#machine.neighbours.values()].filter((one) => index === undefined || one.index === index),
        );
    }

    /** Executes requests in sequence, up to the first that fails. */
    batch(build: (batch: Batch) => void): Promise<void> {
        const works: (() => void)[] = [];
        const { routes, neighbours } = this.#machine;
        const batch = {
            setLink: (index: number, changes: LinkChanges) => void works.push(() => this.#setLink(index, changes)),
            replaceRoute: (options: RouteOptions) => void works.push(() => this.#replaceRoute(options)),
            deleteRoute: (options: RouteOptions) => void works.push(() => void routes.delete(routeKey(options))),
            replaceNeighbour: ({ index, ip, mac, state = NeighbourState.PERMANENT }: NeighbourOptions) =>
                void works.push(
                    () => void neighbours.set(neighbourKey({ index, ip }), { index, ip, mac, state, flags: 0 }),
                ),
            deleteNeighbour: (key: NeighbourKey) => void works.push(() => void neighbours.delete(neighbourKey(key))),
        };
        build(batch as unknown as Batch);
        if (works.length === 0) return Promise.resolve();
        return this.#io.call(() => {
            for (const work of works) work();
        });
    }

    /** Only the agent changes this kernel. */
    subscribe(): Disposable {
        return { [Symbol.dispose]: () => undefined };
    }

    #setLink(index: number, { alias, mtu, up, group, mac }: LinkChanges): void {
        const link = this.#find(index);
        if (link === undefined) throw kernelError("ENODEV", `link ${index} is gone`);
        const { links, netns, nics } = this.#machine;
        (nics.has(link.name) ? nics : links).set(link.name, {
            ...link,
            ...(alias !== undefined && { alias }),
            ...(mtu !== undefined && { mtu }),
            ...(up !== undefined && { up }),
            ...(group !== undefined && { group }),
            ...(mac !== undefined && { mac }),
        });
        const inside = netns.get(link.netns);
        if (inside !== undefined) this.#machine.networksChanged(inside);
    }

    #replaceRoute(options: RouteOptions): void {
        const { dst, via, dev, protocol = 4, table = 254, onlink = false } = options;
        if (dst === "default") return;
        if (dev !== undefined && this.#find(dev) === undefined) throw kernelError("ENODEV", `link ${dev} is gone`);
        this.#machine.routes.set(routeKey(options), {
            family: dst.family,
            dst,
            table,
            protocol,
            scope: 0,
            type: 1,
            metric: 0,
            onlink,
            cloned: false,
            nextHops: [],
            ...(via !== undefined && { via }),
            ...(dev !== undefined && { dev }),
        });
    }

    #find(key: string | number): MachineLink | undefined {
        const { links, nics } = this.#machine;
        if (typeof key === "string") return nics.get(key) ?? links.get(key);
        return [...nics.values(), ...links.values()].find(({ index }) => index === key);
    }
}

function addressKey({ index, ip, prefixLength }: Pick<AddressKey, "index" | "ip" | "prefixLength">): string {
    return `${index} ${formatIp(ip)}/${prefixLength}`;
}

function neighbourKey({ index, ip }: NeighbourKey): string {
    return `${index} ${formatIp(ip)}`;
}

/** This kernel has one route per destination: metrics are not used. */
function routeKey({ dst }: Pick<RouteOptions, "dst">): string {
    return dst === "default" ? dst : formatPrefix(dst);
}

function kernelError(code: `E${string}`, message: string): NetlinkError {
    return new NetlinkError(code, "environment", message);
}
