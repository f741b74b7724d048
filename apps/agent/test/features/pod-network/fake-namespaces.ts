import { formatIp, formatPrefix, prefixContains, prefixOf, type IpAddress, type Prefix } from "@antrea/ip";
import {
    NetlinkError,
    type AddressOptions,
    type Link,
    type LinkChanges,
    type Neighbour,
    type NeighbourKey,
    type Netlink,
    type Route,
    type RouteFilter,
    type RouteOptions,
} from "@antrea/netlink";
import type { PodNamespaces } from "../../../src/features/pod-network/index.ts";
import type { Steps } from "./steps.ts";

/** The end of a veth pair, or a virtual function, in a Pod's namespace. */
export interface PodEnd {
    readonly netns: string;
    readonly name: string;
    readonly index: number;
    /** Index of the other end; undefined for a virtual function. */
    readonly host: number | undefined;
    mac: string;
    mtu: number;
    up: boolean;
    addresses: readonly { readonly ip: IpAddress; readonly prefixLength: number }[];
}

type PodRoute = Pick<Route, "dst" | "via"> &
    Partial<Pick<Route, "protocol">> & { readonly netns: string; readonly dev: number };

/** What the namespaces are in. */
interface Host {
    readonly steps: Steps;
    /** The paths of the namespaces. */
    readonly namespaces: ReadonlySet<string>;
    /** The links of the Node's own namespace. */
    readonly links: ReadonlyMap<string, { readonly index: number }>;
    readonly neighbours: readonly Neighbour[];
    readonly forgotten: string[];
    /** More links in namespaces. */
    readonly foreignEnds: readonly (Pick<Link, "index" | "name"> & { readonly netns: string })[];
}

type Opened = ReturnType<PodNamespaces["openIn"]>;
type Requests = Parameters<Parameters<Netlink["batch"]>[0]>[0];

/**
 * The network namespaces of Pods, as far as the kernel would keep them: an end goes with its other end, a route and an
 * address with their link; a route needs a gateway in a subnet of its link, and a second one to a range is refused.
 */
export class FakeNamespaces implements PodNamespaces {
    readonly #host: Host;
    readonly #ends: PodEnd[] = [];
    #routes: readonly PodRoute[] = [];
    /** "netns path=value" of each sysctl, in the order of calls. */
    readonly sysctls: string[] = [];

    constructor(host: Host) {
        this.#host = host;
    }

    /** The ends in a namespace. */
    endsIn(netns: string): readonly PodEnd[] {
        const isThere = ({ host }: PodEnd): boolean =>
            host === undefined || [...this.#host.links.values()].some(({ index }) => index === host);
        return this.#ends.filter((end) => end.netns === netns && isThere(end));
    }

    /** The end of this name; undefined if there is none. */
    end(netns: string, name: string): PodEnd | undefined {
        return this.endsIn(netns).find((one) => one.name === name);
    }

    put(end: Omit<PodEnd, "up" | "addresses">): void {
        this.#ends.push({ ...end, up: false, addresses: [] });
    }

    remove(netns: string, name: string): void {
        const at = this.#ends.findIndex((end) => end.netns === netns && end.name === name);
        if (at >= 0) this.#ends.splice(at, 1);
    }

    /** The routes of a namespace, as "PREFIX via GATEWAY dev NAME", without those of the links' own subnets. */
    routesIn(netns: string): readonly string[] {
        return this.#routesOf(netns).map(({ dst, via, dev }) => {
            const { name } = this.endsIn(netns).find(({ index }) => index === dev) ?? {};
            return `${formatPrefix(dst)} via ${via === undefined ? "-" : formatIp(via)} dev ${name}`;
        });
    }

    openIn(netns: string): Opened & Pick<Netlink, "addresses"> {
        const { steps, namespaces, foreignEnds, neighbours } = this.#host;
        return steps.sync("open namespace", () => {
            if (!namespaces.has(netns)) throw new NetlinkError("ENOENT", "environment", `${netns} is gone`);
            const opened: Partial<Netlink> & Disposable = {
                link: (name) =>
                    steps.run("pod link", () => {
                        const end = this.end(netns, String(name));
                        return end && linkOf(end);
                    }),
                links: () => {
                    const others = foreignEnds.filter((end) => end.netns === netns) as unknown as Link[];
                    const lo = { index: 1, name: "lo", kind: "" } as Link;
                    return Promise.resolve([lo, ...this.endsIn(netns).map(linkOf), ...others]);
                },
                batch: async (fill) => {
                    await steps.run("pod batch", () => fill(this.#batch(netns)));
                },
                addresses: ((index: number) => {
                    const end = this.endsIn(netns).find((one) => one.index === index);
                    return Promise.resolve(end?.addresses.map((one) => ({ ...one, index })) ?? []);
                }) as Netlink["addresses"],
                routes: ({ family }: RouteFilter = {}) => {
                    const all = [...this.#subnetRoutes(netns), ...this.#routesOf(netns)];
                    return Promise.resolve(
                        all.filter(({ dst }) => family === undefined || dst.family === family) as unknown as Route[],
                    );
                },
                neighbours: () => Promise.resolve([...neighbours]),
                setLink: (index, changes) => Promise.resolve(this.#setLink(netns, index, changes)),
                [Symbol.dispose]: () => undefined,
            };
            return opened as Netlink;
        });
    }

    setSysctl(netns: string, path: string, value: string): void {
        this.#host.steps.sync("sysctl", () => void this.sysctls.push(`${netns} ${path}=${value}`));
    }

    setTxChecksumOffload(ifName: string, isOn: boolean, netns: string): void {
        this.#host.steps.sync("checksum offload", () => void this.sysctls.push(`${netns} ${ifName} checksums ${isOn}`));
    }

    /** As with the kernel, not those that are named by a process. */
    paths(): Promise<readonly string[]> {
        return Promise.resolve([...this.#host.namespaces].filter((path) => path.startsWith("/run/netns/")));
    }

    #batch(netns: string): Requests {
        const batch = {
            setLink: (index: number, changes: LinkChanges) => this.#setLink(netns, index, changes),
            replaceAddress: ({ index, ip, prefixLength }: AddressOptions) => {
                const end = this.#byIndex(netns, index);
                const others = end.addresses.filter((one) => formatIp(one.ip) !== formatIp(ip));
                end.addresses = [...others, { ip, prefixLength }];
            },
            replaceRoute: (route: RouteOptions) => {
                const added = this.#checked(netns, route);
                this.#routes = [...this.#routes.filter((one) => !hasRange(one, netns, added.dst)), added];
            },
            addRoute: (route: RouteOptions) => {
                const added = this.#checked(netns, route);
                const all = [...this.#subnetRoutes(netns), ...this.#routesOf(netns)];
                if (all.some((one) => hasRange(one, netns, added.dst)))
                    throw new NetlinkError("EEXIST", "environment", "file exists");
                this.#routes = [...this.#routes, added];
            },
            appendRoute: (route: RouteOptions) => void (this.#routes = [...this.#routes, this.#checked(netns, route)]),
            deleteRoute: ({ dst, protocol }: RouteOptions) => {
                const isIt = (one: PodRoute): boolean =>
                    dst !== "default" && hasRange(one, netns, dst) && one.protocol === protocol;
                this.#routes = this.#routes.filter((one) => !isIt(one));
            },
            replaceNeighbour: () => undefined,
            deleteNeighbour: ({ ip }: NeighbourKey) => void this.#host.forgotten.push(formatIp(ip)),
        };
        return batch as unknown as Requests;
    }

    #byIndex(netns: string, index: number | undefined): PodEnd {
        const end = this.endsIn(netns).find((one) => one.index === index);
        if (end === undefined) throw new NetlinkError("ENODEV", "environment", `no link ${index} in ${netns}`);
        return end;
    }

    #setLink(netns: string, index: number | string, { mac, mtu, up }: LinkChanges): void {
        const end = this.#byIndex(netns, Number(index));
        if (mac !== undefined) end.mac = mac;
        if (mtu !== undefined) end.mtu = mtu;
        if (up !== undefined) end.up = up;
    }

    #checked(netns: string, { dst, family, via, dev, protocol }: RouteOptions): PodRoute {
        const end = this.#byIndex(netns, dev);
        const isReached = end.addresses.some(
            ({ ip, prefixLength }) => via !== undefined && prefixContains(prefixOf(ip, prefixLength), via),
        );
        if (via !== undefined && !isReached) {
            throw new NetlinkError("ENETUNREACH", "environment", `${formatIp(via)} is not in a subnet of ${end.name}`);
        }
        const prefix: Prefix = dst === "default" ? { family: family ?? via?.family ?? 4, base: 0n, length: 0 } : dst;
        return { netns, dst: prefix, dev: end.index, ...(via && { via }), ...(protocol !== undefined && { protocol }) };
    }

    #routesOf(netns: string): readonly PodRoute[] {
        const alive = new Set(this.endsIn(netns).map(({ index }) => index));
        return this.#routes.filter((one) => one.netns === netns && alive.has(one.dev));
    }

    #subnetRoutes(netns: string): readonly PodRoute[] {
        return this.endsIn(netns).flatMap(({ addresses, index: dev }) =>
            addresses.map(({ ip, prefixLength }) => ({ netns, dst: prefixOf(ip, prefixLength), dev })),
        );
    }
}

function linkOf({ host, index, name, mac, mtu, up }: PodEnd): Link {
    const pair = host === undefined ? {} : { peerIndex: host };
    return { index, name, mac, mtu, up, kind: host === undefined ? "" : "veth", ...pair } as unknown as Link;
}

function hasRange(route: PodRoute, netns: string, dst: Prefix): boolean {
    return route.netns === netns && formatPrefix(route.dst) === formatPrefix(dst);
}
