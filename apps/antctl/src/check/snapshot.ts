import { type AllocationPod } from "@antrea/crd";
import { formatIp } from "@antrea/ip";
import { podLookup, type NamedPodUid } from "@antrea/kube";
import {
    agentSelector,
    hasOwnAddress,
    readGate,
    type Allocation,
    type Cluster,
    type Gate,
    type NamespaceInfo,
    type PodInfo,
    type WorkloadInfo,
} from "../cluster/index.ts";
import { type NodeRead, type PortRecord, type RecordReader } from "../ovs-records/index.ts";
import { PoolSet } from "../pools/index.ts";

/** An OVS record and the Node that stores it. */
export interface RecordOnNode extends PortRecord {
    readonly node: string;
}

/**
 * The state of the cluster that one check reads, with indexes; made by `takeSnapshot`, never changed. The rules
 * (`duplicates`, `leaks`, `orphans`, `reservations`) read it.
 */
export class Snapshot {
    readonly allocations: readonly Allocation[];
    readonly pods: readonly PodInfo[];
    readonly pools: PoolSet;
    readonly statefulSets: readonly WorkloadInfo[];
    /** By name. */
    readonly namespaces: ReadonlyMap<string, NamespaceInfo>;
    /** Of all Nodes that were read. */
    readonly records: readonly RecordOnNode[];
    /** Nodes that use IPAM and whose OVS could not be read, with the reason. */
    readonly unread: ReadonlyMap<string, string>;
    /** Whether IPPools are enabled. While they are disabled, no address is released. */
    readonly gate: Gate["state"];
    readonly #podOf: (pod: NamedPodUid) => PodInfo | undefined;
    readonly #allocationsByAddress: ReadonlyMap<string, Allocation>;
    readonly #recordsByAddress: ReadonlyMap<string, readonly RecordOnNode[]>;

    constructor(seen: {
        readonly allocations: readonly Allocation[];
        readonly pods: readonly PodInfo[];
        readonly pools: PoolSet;
        readonly statefulSets: readonly WorkloadInfo[];
        readonly namespaces: readonly NamespaceInfo[];
        readonly reads: readonly NodeRead[];
        readonly gate: Gate["state"];
    }) {
        this.gate = seen.gate;
        this.allocations = seen.allocations;
        this.pods = seen.pods;
        this.pools = seen.pools;
        this.statefulSets = seen.statefulSets;
        this.namespaces = new Map(seen.namespaces.map((each) => [each.name, each]));
        this.records = seen.reads.flatMap((read) =>
            read.kind === "read" ? read.records.map((record) => ({ ...record, node: read.node })) : [],
        );
        this.unread = unreadNodes(seen.reads, seen.allocations, seen.pods);
        this.#podOf = podLookup(seen.pods);
        this.#allocationsByAddress = new Map(seen.allocations.map((allocation) => [allocation.address, allocation]));
        const withAddress = this.records.flatMap((record) =>
            record.addresses.map(({ ip }) => ({ address: formatIp(ip), record })),
        );
        const grouped = Map.groupBy(withAddress, ({ address }) => address);
        this.#recordsByAddress = new Map(
            [...grouped].map(([address, all]) => [address, all.map(({ record }) => record)]),
        );
    }

    /** The Pod as allocations and OVS records name it; undefined if it is gone. */
    podOf(pod: NamedPodUid): PodInfo | undefined {
        return this.#podOf(pod);
    }

    /** The allocation of an address in canonical text (RFC 5952). */
    allocationOf(address: string): Allocation | undefined {
        return this.#allocationsByAddress.get(address);
    }

    /** The OVS records with an address in canonical text, on all Nodes that were read. */
    recordsOf(address: string): readonly RecordOnNode[] {
        return this.#recordsByAddress.get(address) ?? [];
    }

    /**
     * Whether the record belongs to this Pod. Without a UID, which is not available everywhere, the container ID
     * decides.
     */
    isOf(record: RecordOnNode, pod: AllocationPod): boolean {
        if (record.podUid === "") return record.containerId === pod.containerID;
        return record.podUid === pod.uid;
    }

    /** Whether the cluster has a Node of this name. */
    hasNode(name: string): boolean {
        return this.pools.nodes.some((node) => node.name === name);
    }
}

/**
 * Reads the state of the cluster. Allocations are read before OVS, and OVS before Pods, in the order in which a
 * starting Pod gets them; changes during the read are eliminated by comparing two snapshots. A Node whose OVS cannot be
 * read is in `unread`. Rejects with CliError `NOT_SERVED` or KubeError.
 */
export async function takeSnapshot(
    cluster: Pick<
        Cluster,
        "allocations" | "pods" | "statefulSets" | "namespaces" | "pools" | "nodes" | "serviceCidrs" | "find"
    >,
    records: Pick<RecordReader, "read">,
): Promise<Snapshot> {
    const allocations = await cluster.allocations();
    const reads = await records.read();
    const [agent] = await cluster.pods({ labelSelector: agentSelector });
    const [gate, pods, pools, statefulSets, namespaces] = await Promise.all([
        readGate(cluster, agent?.namespace ?? "kube-system"),
        cluster.pods(),
        PoolSet.read(cluster),
        cluster.statefulSets(),
        cluster.namespaces(),
    ]);
    return new Snapshot({ allocations, reads, pods, pools, statefulSets, namespaces, gate: gate.state });
}

function unreadNodes(
    reads: readonly NodeRead[],
    allocations: readonly Allocation[],
    pods: readonly PodInfo[],
): ReadonlyMap<string, string> {
    const unread = new Map<string, string>();
    const seen = new Set(reads.map(({ node }) => node));
    const busy = [
        ...allocations.map(({ pod }) => pod?.nodeName),
        ...pods.filter((pod) => hasOwnAddress(pod) && pod.ips.length > 0).map(({ nodeName }) => nodeName),
    ];
    for (const node of busy) {
        if (node !== undefined && !seen.has(node)) unread.set(node, "no agent Pod is there");
    }
    for (const read of reads) if (read.kind === "unread") unread.set(read.node, read.reason);
    return new Map([...unread].sort(([a], [b]) => (a < b ? -1 : 1)));
}
