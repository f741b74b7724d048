import { prefixContains, type IpAddress, type Prefix } from "@antrea/ip";
import { clusterAddresses } from "@antrea/ipam";
import { type Node } from "@antrea/kube";

export interface SubnetHoldersComponents {
    /** The Nodes of the cluster, kept true by somebody else; an Informer of Nodes is one. */
    readonly nodes: { readonly hasSynced: boolean; list(): readonly Node[] };
}

/**
 * Whose podCIDR an address is of, for Pods that run on when their Node has lost its podCIDR: it was deleted, or made again with another
 * one. This Node's own podCIDRs are those that its Node object has now; where another Node has the same, both keep theirs.
 */
export class SubnetHolders {
    readonly #components: SubnetHoldersComponents;
    readonly #nodeName: string;
    /** By object: a cluster may have thousands of Nodes. */
    readonly #prefixes = new WeakMap<Node, readonly Prefix[]>();

    constructor(components: SubnetHoldersComponents, options: { readonly nodeName: string }) {
        this.#components = components;
        this.#nodeName = options.nodeName;
    }

    /** Whether the Nodes are known; until then no address has a holder, which says nothing. */
    get isKnown(): boolean {
        return this.#components.nodes.hasSynced;
    }

    /** Of these addresses, each that is in the podCIDR of another Node and in none of this Node's. */
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
