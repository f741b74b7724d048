import { prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import { clusterAddresses } from "@antrea/ipam";
import { type Node } from "@antrea/kube";

/** Dependencies of SubnetHolders. */
export interface SubnetHoldersComponents {
    /** The Nodes of the cluster, maintained by the caller, e.g. an Informer of Nodes. */
    readonly nodes: { readonly hasSynced: boolean; list(): readonly Node[] };
}

/**
 * Finds the Node whose podCIDR contains an address, for Pods that continue to run after their Node lost its podCIDR:
 * the Node was deleted, or recreated with another one. This Node's podCIDRs are those of its current Node object; if
 * another Node has the same podCIDR, both keep theirs.
 */
export class SubnetHolders {
    readonly #components: SubnetHoldersComponents;
    readonly #nodeName: string;
    /** Keyed by object: a cluster may have thousands of Nodes. */
    readonly #prefixes = new WeakMap<Node, readonly Prefix[]>();

    constructor(components: SubnetHoldersComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** Whether the Nodes are synced; until then no holder is reported, which is inconclusive. */
    get isKnown(): boolean {
        return this.#components.nodes.hasSynced;
    }

    /**
     * The addresses that are in the podCIDR of another Node, with its name, and in none of this Node's; empty while
     * `isKnown` is false.
     */
    heldElsewhere(addresses: readonly IpAddress[]): readonly { readonly ip: IpAddress; readonly node: string }[] {
        if (!this.isKnown || addresses.length === 0) return [];
        const nodes = this.#components.nodes.list();
        const own = nodes.find((node) => nameOf(node) === this.#nodeName);
        return addresses
            .filter((ip) => own === undefined || !this.#has(own, ip))
            .flatMap((ip) => {
                const holder = nodes.find((node) => node !== own && this.#has(node, ip));
                return holder === undefined ? [] : [{ ip, node: nameOf(holder) }];
            });
    }

    #has(node: Node, ip: IpAddress): boolean {
        const prefixes = this.#prefixes.get(node) ?? clusterAddresses([node]).podCidrs;
        this.#prefixes.set(node, prefixes);
        return prefixes.some((prefix) => prefix.family === ip.family && prefixContains(prefix, ip));
    }
}

function nameOf({ metadata }: Node): string {
    return metadata?.name ?? "";
}
