import { prefixRange, rangeOf, type IpAddress, type IpRange, type Prefix } from "@antrea/ip";
import { clusterAddresses, podCidrTexts, type ClusterAddresses } from "@antrea/ipam";
import { type ChangeListener, type Node } from "@antrea/kube";

/** The Nodes of the cluster, kept true by somebody else; an Informer of Nodes is one. */
export interface NodeSource {
    list(): readonly Node[];
    onChange(listener: ChangeListener<Node>): Disposable;
    synced(signal?: AbortSignal): Promise<void>;
    /** Whether the Nodes were listed since the start. */
    readonly hasSynced: boolean;
}

/** Nodes of which it is known how old the knowledge is. */
export interface DatedNodeSource extends NodeSource {
    /** By the monotonic clock: what happened to Nodes before this is known. */
    readonly upToDateAt: number;
}

export interface NodeAddressesComponents {
    readonly nodes: Pick<NodeSource, "list" | "onChange">;
    /** Whether an IPPool has an address of the range. */
    readonly isInPool: (range: IpRange) => boolean;
    /** Called when what pools may not hand out has changed. */
    readonly onChange: () => void;
}

/** What no pool hands out because of Nodes. */
export type NodesAddresses = Pick<ClusterAddresses, "nodeAddresses" | "podCidrs">;

interface OneNode {
    readonly addresses: readonly IpAddress[];
    readonly podCidrs: readonly Prefix[];
}

interface Parsed extends OneNode {
    readonly text: string;
}

/**
 * The addresses and podCIDRs of Nodes that lie in the ranges of IPPools. A cluster may have thousands of Nodes, almost
 * none of which has any: each is read once, and one that concerns no pool makes nothing to be computed again.
 */
export class NodeAddresses {
    readonly #components: NodeAddressesComponents;
    readonly #all = new Map<string, Parsed>();
    /** Those of which something lies in a pool; undefined until it is found out for the pools as they are now. */
    #inPools: Map<string, OneNode> | undefined;
    readonly #listener: Disposable;

    constructor(components: NodeAddressesComponents) {
        this.#components = components;
        for (const node of components.nodes.list()) this.#all.set(node.metadata?.name ?? "", parsed(node));
        this.#listener = components.nodes.onChange((type, name, node) => this.#changed(type === "deleted", name, node));
    }

    /** The ranges of pools have changed. */
    poolsChanged(): void {
        this.#inPools = undefined;
    }

    /** Of all Nodes, what lies in a pool. */
    inPools(): NodesAddresses {
        if (this.#inPools === undefined) {
            this.#inPools = new Map();
            for (const [name, one] of this.#all) this.#note(this.#inPools, name, one);
        }
        return joined(this.#inPools.values());
    }

    /** Of all Nodes, everything: for a pool that `isInPool` does not know of. */
    all(): NodesAddresses {
        return joined(this.#all.values());
    }

    [Symbol.dispose](): void {
        this.#listener[Symbol.dispose]();
    }

    #changed(isDeleted: boolean, name: string, node: Node): void {
        const before = this.#all.get(name);
        if (isDeleted) this.#all.delete(name);
        // Not a kubelet's heartbeat.
        else if (before?.text === textOf(node)) return;
        else this.#all.set(name, parsed(node));
        if (this.#inPools === undefined) return this.#components.onChange();
        const mattered = this.#inPools.delete(name);
        const matters = this.#note(this.#inPools, name, this.#all.get(name));
        if (mattered || matters) this.#components.onChange();
    }

    /** Adds what of a Node lies in a pool; false if nothing does. */
    #note(target: Map<string, OneNode>, name: string, node: OneNode | undefined): boolean {
        const { isInPool } = this.#components;
        const addresses = (node?.addresses ?? []).filter((ip) => isInPool(rangeOf(ip)));
        const podCidrs = (node?.podCidrs ?? []).filter((prefix) => isInPool(prefixRange(prefix)));
        if (addresses.length === 0 && podCidrs.length === 0) return false;
        target.set(name, { addresses, podCidrs });
        return true;
    }
}

function joined(nodes: Iterable<OneNode>): NodesAddresses {
    const list = [...nodes];
    return {
        nodeAddresses: list.map(({ addresses }) => addresses).filter(({ length }) => length > 0),
        podCidrs: list.flatMap(({ podCidrs }) => podCidrs),
    };
}

function parsed(node: Node): Parsed {
    const { nodeAddresses, podCidrs } = clusterAddresses([node]);
    return { text: textOf(node), addresses: nodeAddresses.flat(), podCidrs };
}

function textOf(node: Node): string {
    return JSON.stringify([podCidrTexts(node), node.status?.addresses]);
}
