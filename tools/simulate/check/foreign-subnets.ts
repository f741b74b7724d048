import { parseIp, parsePrefix, prefixContains, type Prefix } from "@antrea/ip";
import { type Node } from "@antrea/kube";
import { kindOf } from "../api/server.ts";
import { type Store } from "../api/store.ts";
import { type VirtualTime } from "../time/virtual-time.ts";
import { HearingTime } from "./hearing-time.ts";
import { type Container, type Truth } from "./truth.ts";

const nodeKind = kindOf("v1", "nodes");
/** An agent that can hear of the other Node's subnet has heard by then, and has had the time to isolate. */
const heardMs = 60_000;
const lookMs = 5_000;

export interface ForeignSubnetsComponents {
    readonly truth: Truth;
    readonly store: Store;
    readonly time: VirtualTime;
    /** Whether the container has the address from a pool. */
    readonly isClaimed: (name: string, container: Container) => boolean;
    /** The present start of this Node's agent, if nothing keeps it from hearing and from isolating. */
    readonly hearing: (node: string) => object | undefined;
}

/**
 * Containers that run on with an address of an earlier subnet of their Node, or of a pool that is gone with its claim, and
 * which is another Node's by now: as soon as their agent was able to hear of that for a minute, nobody reaches them there
 * any more.
 */
export class ForeignSubnets {
    readonly #components: ForeignSubnetsComponents;
    readonly #prefixes = new Map<string, Prefix>();
    /** By container and address. */
    readonly #heard = new Map<string, HearingTime>();

    constructor(components: ForeignSubnetsComponents) {
        this.#components = components;
        this.#look();
    }

    /**
     * The other Node that has the address of a container of this one in its subnet; undefined also if both have.
     *
     * @param address or the name of its claim
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

    #look(): void {
        const { truth, time } = this.#components;
        time.after(lookMs, () => {
            const seen = new Set(
                [...truth.inUse].flatMap((name) => truth.usersOf(name).map((user) => this.#see(name, user))),
            );
            for (const key of this.#heard.keys()) if (!seen.has(key)) this.#heard.delete(key);
            this.#look();
        });
    }

    /** The key of what is another's. */
    #see(name: string, user: Container): string | undefined {
        const { truth, hearing, isClaimed } = this.#components;
        if (isClaimed(name, user) && truth.claims.has(name)) return undefined;
        const holder = this.holderOf(name, user.node);
        if (holder === undefined) return undefined;
        const key = `${user.id} ${name}`;
        const heard = this.#heard.get(key) ?? new HearingTime();
        this.#heard.set(key, heard);
        heard.look(hearing(user.node), lookMs);
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
