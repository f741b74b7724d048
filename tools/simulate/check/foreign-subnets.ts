import { parseIp, parsePrefix, prefixContains, type Prefix } from "@antrea/ip";
import { type Node } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Store } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { HearingTime } from "./hearing-time.ts";
import { type Truth, type User } from "./truth.ts";

const nodeKind = kindOf("v1", "nodes");
/** A connected agent has learned of the other Node's subnet by then, and has had time to isolate. */
const heardMs = 60_000;
const pollMs = 5_000;

export interface ForeignSubnetsComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly time: VirtualTime;
    /** Whether the container's address is allocated from a pool. */
    readonly isClaimed: (name: string, user: User) => boolean;
    /** The current start of this Node's agent, if nothing prevents it from receiving changes and isolating. */
    readonly hearing: (node: string) => object | undefined;
}

/**
 * Containers that keep an address of an earlier subnet of their Node, or of a force-deleted pool, which is now in
 * another Node's subnet: once their agent was able to learn of that for a minute, they are unreachable at it.
 */
export class ForeignSubnets {
    readonly #components: ForeignSubnetsComponents;
    readonly #prefixes = new Map<string, Prefix>();
    /** By container and address. */
    readonly #heard = new Map<string, HearingTime>();

    constructor(components: ForeignSubnetsComponents) {
        this.#components = components;
        this.#poll();
    }

    /**
     * The other Node whose subnet contains the address of a container on this Node; undefined if this Node's does too.
     *
     * @param address or the name of its allocation
     */
    holderOf(address: string, node: string): string | undefined {
        const ip = parseIp(address.replaceAll("-", ":"));
        const holders = [...this.#components.store.all(nodeKind)].flatMap(({ object }) => {
            const { metadata, spec } = object as Node;
            const isHolder = (spec?.podCIDRs ?? []).some((cidr) => prefixContains(this.#prefix(cidr), ip));
            return isHolder ? [metadata?.name ?? ""] : [];
        });
        return holders.includes(node) ? undefined : holders[0];
    }

    #poll(): void {
        const { truth, time } = this.#components;
        time.after(pollMs, () => {
            const seen = new Set(
                [...truth.inUse].flatMap((name) => truth.usersOf(name).map((user) => this.#see(name, user))),
            );
            for (const key of this.#heard.keys()) if (!seen.has(key)) this.#heard.delete(key);
            this.#poll();
        });
    }

    /** The key of an address in another Node's subnet. */
    #see(name: string, user: User): string | undefined {
        const { truth, hearing, isClaimed } = this.#components;
        if (isClaimed(name, user) && truth.allocations.has(name)) return undefined;
        const holder = this.holderOf(name, user.node);
        if (holder === undefined) return undefined;
        const key = `${user.id} ${name}`;
        const heard = this.#heard.get(key) ?? new HearingTime();
        this.#heard.set(key, heard);
        heard.update(hearing(user.node), pollMs);
        if (heard.ms > heardMs)
            truth.violated(
                "no Pod keeps an address of another Node's subnet",
                `${name} of container ${user.id} on ${user.node} is in the subnet of ${holder}`,
            );
        return key;
    }

    #prefix(cidr: string): Prefix {
        const prefix = this.#prefixes.get(cidr) ?? parsePrefix(cidr);
        this.#prefixes.set(cidr, prefix);
        return prefix;
    }
}
