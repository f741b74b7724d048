import { formatIp, prefixContains, type IpAddress } from "@antrea/ip";
import { hasOwnAddress, holderText, isKnownOwner, readAddress } from "../cluster/index.ts";
import { finding, type Finding } from "./finding.ts";
import { type Snapshot } from "./snapshot.ts";

/**
 * Returns a finding for each address that is in use without an allocation, by a port in OVS or, on Nodes that were not
 * read, by the status of a running Pod, unless it is of the Node's podCIDRs; and for each allocation outside the ranges
 * of its pool, except those of gateways and of owners of a kind that this version does not know.
 */
export function orphans(snapshot: Snapshot): readonly Finding[] {
    return [
        ...allocationsWithoutPool(snapshot),
        ...recordsWithoutAllocation(snapshot),
        ...podsWithoutAllocation(snapshot),
    ];
}

function allocationsWithoutPool(snapshot: Snapshot): readonly Finding[] {
    return snapshot.allocations.flatMap((allocation) => {
        const { address, pool, pod, ip } = allocation;
        // A gateway is outside the usable ranges by design; whether it is still needed is checked in reservations.ts.
        if (!isKnownOwner(allocation.owner) || allocation.owner.kind === "Gateway") return [];
        const about = { address, pool, node: pod?.nodeName };
        const entry = snapshot.pools.get(pool);
        const holder = `claimed for ${holderText(allocation)}`;
        if (entry === undefined) {
            const text = `${holder} from IPPool ${pool}, which does not exist; it goes with its owner`;
            return [finding("orphan", "unknown-pool", about, pool, text)];
        }
        // Includes addresses that are no longer assigned, such as the edge of a subnet: their owner keeps them.
        if (entry.pool.subnetOf(ip) !== undefined) return [];
        const text = `${holder} outside the present ranges of IPPool ${pool}; it goes with its owner`;
        return [finding("orphan", "outside-pool", about, pool, text)];
    });
}

function recordsWithoutAllocation(snapshot: Snapshot): readonly Finding[] {
    return snapshot.records.flatMap((record) =>
        record.addresses.flatMap(({ ip, pool: named }) => {
            const address = formatIp(ip);
            const { node, port } = record;
            if (snapshot.allocationOf(address) !== undefined) return [];
            if (named === undefined && isOfNode(snapshot, node, ip)) return [];
            const pool = named || snapshot.pools.covering(ip)[0]?.name;
            const user = `used by port ${port} of Pod ${record.podNamespace}/${record.podName}`;
            const text =
                pool === undefined
                    ? `${user}, and lies in no podCIDR of Node ${node}: restart the Pod`
                    : `${user}, and not claimed; the agent of Node ${node} claims it again within a minute`;
            return [finding("orphan", "no-claim", { address, pool, node }, `${node} ${port}`, text)];
        }),
    );
}

/** On Nodes whose OVS was read, the OVS records cover this and more. */
function podsWithoutAllocation(snapshot: Snapshot): readonly Finding[] {
    return snapshot.pods.flatMap((pod) => {
        const node = pod.nodeName;
        if (node === undefined || !snapshot.unread.has(node)) return [];
        if (!hasOwnAddress(pod) || pod.deleting || pod.phase !== "Running") return [];
        return pod.ips.flatMap((address) => {
            const ip = readAddress(address);
            if (ip === undefined || snapshot.allocationOf(address) !== undefined || isOfNode(snapshot, node, ip))
                return [];
            const [pool] = snapshot.pools.covering(ip);
            if (pool === undefined) return [];
            const text = `Pod ${pod.namespace}/${pod.name} reports it and it is not claimed; OVS of Node ${node} was not seen`;
            return [finding("orphan", "no-claim", { address, pool: pool.name, node }, pod.uids[0] ?? "", text)];
        });
    });
}

/** Whether the address is in the Node's own subnets, which need no allocation. */
function isOfNode(snapshot: Snapshot, node: string, ip: IpAddress): boolean {
    const info = snapshot.pools.nodes.find(({ name }) => name === node);
    return info?.podCidrs.some((cidr) => prefixContains(cidr, ip)) ?? false;
}
