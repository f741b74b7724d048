import { formatIp, formatRangeSet, RangeSet, type IpAddress } from "@antrea/ip";
import { maxNodeAddresses, nodeAddressesIn, nodeAddressesOf, type NodeWithAddresses, type Pool } from "@antrea/ipam";

/** Addresses of a pool that a Node reports beyond the number that is reserved. */
export interface FurtherAddresses {
    /** Name of the Node. */
    readonly node: string;
    /** The addresses: in ranges of the pool, reported by the Node, and not excluded because of it. */
    readonly common: RangeSet;
}

/**
 * The Nodes that report so many addresses that not all of them may be reserved in pools (`maxNodeAddresses`). Does not
 * watch: its owner reports each change of a Node with `changed`.
 */
export class CrowdedNodes {
    readonly #nodes = new Map<string, readonly IpAddress[]>();

    /**
     * Updates a Node; undefined: it was deleted. True if the Node reported too many addresses before and now reports
     * others, or the same in another order: the order decides which are reserved.
     */
    changed(name: string, node: NodeWithAddresses | undefined): boolean {
        const addresses = node === undefined ? [] : nodeAddressesOf(node);
        const before = this.#nodes.get(name);
        if (addresses.length > maxNodeAddresses) this.#nodes.set(name, addresses);
        else this.#nodes.delete(name);
        return before !== undefined && before.map(formatIp).join() !== addresses.map(formatIp).join();
    }

    /** Addresses in the pool's ranges that Nodes report and that are not reserved, by Node. */
    further(pool: Pool): readonly FurtherAddresses[] {
        return [...this.#nodes]
            .map(([node, all]) => ({ node, common: RangeSet.ofAddresses(nodeAddressesIn(pool, all).further) }))
            .filter(({ common }) => !common.isEmpty)
            .sort((a, b) => (a.node < b.node ? -1 : 1));
    }
}

const shownNodes = 5;

/**
 * Describes, for events and conditions of a pool, which of its addresses Pods can get although a Node reports them as
 * its own. Names five Nodes at most. `further` must not be empty.
 */
export function furtherText(further: readonly FurtherAddresses[]): string {
    const shown = further.slice(0, shownNodes).map(({ node, common }) => `${formatRangeSet(common)} of Node ${node}`);
    const more = further.length > shownNodes ? ` and those of ${further.length - shownNodes} more Nodes` : "";
    return `Of the addresses that a Node reports, a pool keeps ${maxNodeAddresses} from Pods. Pods can get further ones that are not reserved for the Node yet: ${shown.join("; ")}${more}. Check what reports them.`;
}
