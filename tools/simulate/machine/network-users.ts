import { formatIp, type IpAddress } from "@antrea/ip";
import { type Container, type Truth } from "../check/truth.ts";
import { isStatic } from "../cluster/network-objects.ts";
import { type Netns } from "./netns.ts";
import { type StoredSwitch } from "./stored-switch.ts";

/** An address of an interface on another network than the Pod network. */
interface Used {
    readonly ifName: string;
    readonly ip: IpAddress;
}

/** The part of a machine that decides whether an interface has traffic. */
export interface NetworkUsersComponents {
    readonly truth: Truth;
    readonly links: ReadonlyMap<string, { readonly up: boolean }>;
    readonly switches: ReadonlyMap<string, StoredSwitch>;
}

/**
 * The addresses of networks other than the Pod network at which containers of a machine are reachable: with the
 * address in their namespace, the host end up, and a port in the bridge. The agent's records are not read.
 */
export class NetworkUsers {
    readonly #components: NetworkUsersComponents;
    /** By container and then interface and address. */
    readonly #used = new Map<string, ReadonlyMap<string, Used>>();

    constructor(components: NetworkUsersComponents) {
        this.#components = components;
    }

    /** Reports what changed of the container; `isGone`: its namespace is removed. */
    update(netns: Netns, isGone = false): void {
        const { truth } = this.#components;
        const { container } = netns;
        const before = this.#used.get(container.id) ?? new Map<string, Used>();
        const now = isGone ? new Map<string, Used>() : this.#now(netns);
        this.#used.set(container.id, now);
        if (now.size === 0) this.#used.delete(container.id);
        for (const [key, { ip, ifName }] of before) if (!now.has(key)) truth.disconnected(container.id, ip, ifName);
        for (const [key, { ip, ifName }] of now) if (!before.has(key)) truth.connected(container, ip, ifName);
    }

    /** Whether the interface has traffic. */
    isReachable({ id }: Pick<Container, "id">, ifName: string): boolean {
        return [...(this.#used.get(id)?.values() ?? [])].some((used) => used.ifName === ifName);
    }

    #now({ ends, ofOthers }: Netns): ReadonlyMap<string, Used> {
        const { links, switches } = this.#components;
        const isConnected = (name: string): boolean =>
            links.get(name)?.up === true && [...switches.values()].some(({ ports }) => ports.has(name));
        const own = [...ends.values()].flatMap(({ ifName, hostIfName, addresses }) =>
            ifName !== "eth0" && isConnected(hostIfName) ? addresses.map((ip) => ({ ifName, ip })) : [],
        );
        const others = [...ofOthers].flatMap(([ifName, addresses]) => addresses.map((ip) => ({ ifName, ip })));
        const all = [...own, ...others].filter(({ ip }) => !isStatic(formatIp(ip)));
        return new Map(all.map((used) => [`${used.ifName} ${formatIp(used.ip)}`, used]));
    }
}
