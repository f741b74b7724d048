import { prefixRange, rangeOf, type IpAddress, type IpRange, type Prefix } from "@antrea/ip";
import { clusterAddresses, podCidrTexts, type ClusterAddresses } from "@antrea/ipam";
import { type ChangeListener, type Node } from "@antrea/kube";

/** The Nodes of the cluster, maintained by the caller, e.g. an Informer of Nodes. */
export interface NodeSource {
    /** The Nodes of the last list with the changes since; empty before the first list. */
    list(): readonly Node[];
    /**
     * Registers a listener for changes of Nodes, which may be called at once with the known ones as added; disposing of
     * the result removes it.
     */
    onChange(listener: ChangeListener<Node>): Disposable;
    /** Resolves when the Nodes have been listed; rejects if the signal aborts first. */
    synced(signal?: AbortSignal): Promise<void>;
    /** Whether the Nodes have been listed since startup. */
    readonly hasSynced: boolean;
}

/** A Node source with a freshness timestamp. */
export interface DatedNodeSource extends NodeSource {
    /** Monotonic time in milliseconds up to which Node changes are known; -Infinity before the first list. */
    readonly upToDateAt: number;
}

/** Dependencies of NodeAddresses. */
export interface NodeAddressesComponents {
    readonly nodes: Pick<NodeSource, "list" | "onChange">;
    /** Whether an IPPool contains an address of the range. */
    readonly isInPool: (range: IpRange) => boolean;
    /** Called when the set of excluded addresses has changed. */
    readonly onChange: () => void;
}

/** Addresses of Nodes, one list for each Node that has some, and podCIDRs of Nodes, none of which a pool hands out. */
export type NodesAddresses = Pick<ClusterAddresses, "nodeAddresses" | "podCidrs">;

interface OneNode {
    readonly addresses: readonly IpAddress[];
    readonly podCidrs: readonly Prefix[];
}

interface Parsed extends OneNode {
    readonly text: string;
}

/**
 * The addresses and podCIDRs of Nodes that lie in ranges of IPPools. A cluster may have thousands of Nodes, of which
 * few have any: each Node is evaluated once, and one outside all pools triggers no recomputation. Subscribes to `nodes`
 * until it is disposed.
 */
export class NodeAddresses {
    readonly #components: NodeAddressesComponents;
    readonly #all = new Map<string, Parsed>();
    /** Nodes with an address or podCIDR in a pool; undefined until computed for the current pools. */
    #inPools: Map<string, OneNode> | undefined;
    readonly #listener: Disposable;

    constructor(components: NodeAddressesComponents) {
        this.#components = components;
        for (const node of components.nodes.list()) this.#all.set(node.metadata?.name ?? "", parsed(node));
        this.#listener = components.nodes.onChange((type, name, node) => this.#changed(type === "deleted", name, node));
    }

    /** To be called after the ranges of pools changed: invalidates the result. Does not call `onChange`. */
    poolsChanged(): void {
        this.#inPools = undefined;
    }

    /** Of all Nodes, the addresses and podCIDRs that lie in a pool. */
    inPools(): NodesAddresses {
        if (this.#inPools === undefined) {
            this.#inPools = new Map();
            for (const [name, one] of this.#all) this.#note(this.#inPools, name, one);
        }
        return joined(this.#inPools.values());
    }

    /** All addresses and podCIDRs of all Nodes, for a pool that `isInPool` does not cover. */
    all(): NodesAddresses {
        return joined(this.#all.values());
    }

    /** Removes the listener from the Node source. */
    [Symbol.dispose](): void {
        this.#listener[Symbol.dispose]();
    }

    #changed(isDeleted: boolean, name: string, node: Node): void {
        const before = this.#all.get(name);
        if (isDeleted) this.#all.delete(name);
        // Ignores the heartbeats of the kubelet.
        else if (before?.text === textOf(node)) return;
        else this.#all.set(name, parsed(node));
        if (this.#inPools === undefined) return this.#components.onChange();
        const mattered = this.#inPools.delete(name);
        const matters = this.#note(this.#inPools, name, this.#all.get(name));
        if (mattered || matters) this.#components.onChange();
    }

    /** Adds the addresses and podCIDRs of a Node that lie in a pool; false if there are none. */
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
