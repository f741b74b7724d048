import { nodes, type ApiClient } from "@antrea/kube";
import { type TestApiServer } from "@antrea/kube/testing";
import { inParallel } from "../in-parallel.ts";

/** Another Node of the cluster: an object without a machine. */
export interface SimulatedPeer {
    readonly name: string;
    /** One of each family. */
    readonly podCidrs: readonly [ipv4: string, ipv6: string];
    readonly addresses: readonly [ipv4: string, ipv6: string];
}

/** The agent's addresses in the networks of all Nodes. */
export const ownAddresses = ["172.20.0.1", "fd00:20::1"] as const;
/** Prefix lengths of the networks of all Nodes, IPv4 and IPv6. */
export const prefixLengths = [16, 64] as const;

const maxPeers = 10_000;

/** The peer with this index, from 0 to below 10,000; after `moves` changes of its addresses. */
export function peerAt(index: number, moves = 0): SimulatedPeer {
    const [high, low] = [index >> 8, index & 255];
    const place = 10 + high + 40 * moves;
    return {
        name: `peer-${String(index).padStart(4, "0")}`,
        podCidrs: [`10.${20 + high}.${low}.0/24`, `fd00:10:0:${(0x1000 + index).toString(16)}::/64`],
        addresses: [`172.20.${place}.${low}`, `fd00:20::${(0x1000 + index + maxPeers * moves).toString(16)}`],
    };
}

/** Creates the peers from index `first` to below `count`. */
export async function createPeers(server: TestApiServer, count: number, first = 0): Promise<void> {
    await inParallel(count - first, 32, (index) => {
        const { name, podCidrs, addresses } = peerAt(first + index);
        return server.addNode(name, { podCidrs, internalIps: addresses });
    });
}

/** Changes both addresses of a peer, as its kubelet would. */
export async function move(api: ApiClient, peer: SimulatedPeer): Promise<void> {
    const addresses = peer.addresses.map((address) => ({ type: "InternalIP", address }));
    await api.patch(
        nodes,
        { name: peer.name },
        { type: "merge", body: { status: { addresses } } },
        { subresource: "status" },
    );
}
